// A photograph with shallow depth of field from a stereo pair: depth by matching, and
// every pixel blurred by its distance to the depth in focus. The matching costs are
// smoothed over the image by their confidence, with pyramids in the manner of S. J.
// Gortler et al., "The Lumigraph", SIGGRAPH 1996 (pull-push); the rendering gathers
// random samples of the aperture, after M. Potmesil and I. Chakravarty, "A Lens and
// Aperture Camera Model for Synthetic Image Generation", SIGGRAPH 1981.

#include "Halide.h"

namespace {

using namespace Halide;

class LensBlur : public Generator<LensBlur> {
public:
    Input<Buffer<uint8_t, 3>> left{"left"};
    Input<Buffer<uint8_t, 3>> right{"right"};
    // How many displacements between the images are tried.
    Input<int> slices{"slices", 32, 1, 64};
    // The displacement that is in focus.
    Input<int> focus_depth{"focus_depth", 13, 1, 32};
    // Pixels of blur for each step out of focus.
    Input<float> blur_radius_scale{"blur_radius_scale", 0.5f, 0.0f, 1.0f};
    Input<int> aperture_samples{"aperture_samples", 32, 1, 64};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        Func l = BoundaryConditions::repeat_edge(left), r = BoundaryConditions::repeat_edge(right);

        // How badly a pixel matches the one displaced by two pixels a slice; of two
        // neighbours the better one counts.
        Func difference("difference");
        difference(x, y, z, c) = min(absd(l(x, y, c), r(x + 2 * z, y, c)),
                                     absd(l(x, y, c), r(x + 2 * z + 1, y, c)));
        auto square = [](const Expr &e) { return pow(e, 2); };
        cost(x, y, z) = square(cast<float>(difference(x, y, z, 0))) +
                        square(cast<float>(difference(x, y, z, 1))) +
                        square(cast<float>(difference(x, y, z, 2)));

        // Costs that vary a lot over the slices tell more: confidence is their variance.
        RDom all(0, slices, "all");
        Func mean("mean");
        mean(x, y) = sum(cost(x, y, all) / slices);
        confidence(x, y) = sum(square(cost(x, y, all))) / slices - square(mean(x, y));

        // Down a pyramid go costs weighted by confidence (channel 0) and confidences
        // (channel 1); on the way up each level is mixed with the coarser ones.
        pulled.resize(levels);
        pushed.resize(levels);
        kept.resize(levels);
        pulled[0] = Func("pulled_0");
        pulled[0](x, y, z, c) = mux(c, {cost(x, y, z) * confidence(x, y), confidence(x, y)});
        kept[0] = pulled[0];
        Expr w = left.dim(0).extent(), h = left.dim(1).extent();
        for (int i = 1; i < levels; i++) {
            const std::string suffix = "_" + std::to_string(i);
            pulled[i] = Func("pulled" + suffix);
            pulled[i](x, y, z, c) = halved(kept[i - 1], suffix)(x, y, z, c);
            w /= 2;
            h /= 2;
            kept[i] = BoundaryConditions::repeat_edge(pulled[i], {{0, w}, {0, h}});
        }
        for (int i = levels - 1; i >= 0; i--) {
            const std::string suffix = "_" + std::to_string(i);
            pushed[i] = Func("pushed" + suffix);
            if (i == levels - 1) {
                pushed[i](x, y, z, c) = kept[i](x, y, z, c);
            } else {
                pushed[i](x, y, z, c) = lerp(doubled(pushed[i + 1], suffix)(x, y, z, c), kept[i](x, y, z, c), 0.5f);
            }
        }

        // The slice that matches best, and the blur it calls for.
        Func smooth("smooth");
        smooth(x, y, z) = pushed[0](x, y, z, 0) / pushed[0](x, y, z, 1);
        depth(x, y) = argmin(smooth(x, y, all))[0];
        Func radius("radius"), radius_squared("radius_squared");
        radius(x, y) = abs(depth(x, y) - focus_depth) * blur_radius_scale;
        radius_squared(x, y) = square(radius(x, y));

        // The largest blur around: no sample from farther away matters.
        Expr reach = cast<int>(max(slices - focus_depth, focus_depth) * blur_radius_scale);
        RDom near(-reach, 2 * reach + 1, "near");
        widest_y(x, y) = maximum(radius(x, y + near));
        widest(x, y) = maximum(widest_y(x + near, y));

        Func opaque("opaque");
        opaque(x, y, c) = mux(c, {cast<float>(l(x, y, 0)), cast<float>(l(x, y, 1)), cast<float>(l(x, y, 2)), 255.0f});
        colors = opaque;

        // Where sample number z of a pixel is taken: at random in that range.
        auto anywhere = [&]() {
            Expr offset = (random_float() - 0.5f) * 2 * widest(x, y);
            return clamp(cast<int>(offset), -reach, reach);
        };
        Expr across = anywhere(), down = anywhere();
        offset(x, y, z) = {across, down};

        // A sample counts where its own blur reaches this pixel and it is not hidden:
        // either it lies in front, or this pixel is as blurred. (A crude view of what
        // covers what.)
        Expr dx = offset(x, y, z)[0], dy = offset(x, y, z)[1];
        Expr distance_squared = dx * dx + dy * dy;
        Expr blurred_here = distance_squared < radius_squared(x, y);
        Expr reaches_here = distance_squared < radius_squared(x + dx, y + dy);
        Expr in_front = depth(x + dx, y + dy) < depth(x, y);
        counts(x, y, z) = select((blurred_here || in_front) && reaches_here, 1.0f, 0.0f);

        RDom s(0, aperture_samples, "s");
        gathered(x, y, c) = colors(x, y, c);
        gathered(x, y, c) += counts(x, y, s) * colors(x + offset(x, y, s)[0], y + offset(x, y, s)[1], c);
        output(x, y, c) = gathered(x, y, c) / gathered(x, y, 3);

        const int width = 192, height = 320, channels = 3;
        left.set_estimates({{0, width}, {0, height}, {0, channels}});
        right.set_estimates({{0, width}, {0, height}, {0, channels}});
        slices.set_estimate(32);
        focus_depth.set_estimate(13);
        blur_radius_scale.set_estimate(0.5f);
        aperture_samples.set_estimate(32);
        output.set_estimates({{0, width}, {0, height}, {0, channels}});

        if (!using_autoscheduler()) {
            schedule_by_hand(s);
        }
    }

private:
    static constexpr int levels = 8;

    Var x{"x"}, y{"y"}, z{"z"}, c{"c"};
    Func cost{"cost"}, confidence{"confidence"}, depth{"depth"};
    // Levels of the pyramid on the way down, the same with their edges repeated, and
    // on the way up.
    std::vector<Func> pulled, kept, pushed;
    Func widest_y{"widest_y"}, widest{"widest"}, colors;
    Func offset{"offset"}, counts{"counts"}, gathered{"gathered"};

    // Half as large, with the kernel 1 3 3 1 along the rows and down the columns.
    Func halved(Func f, const std::string &suffix) {
        Func across("halved_x" + suffix), both("halved" + suffix);
        auto kernel = [](const Expr &a, const Expr &b, const Expr &c, const Expr &d) {
            return (a + 3.0f * (b + c) + d) / 8.0f;
        };
        across(x, y, _) = kernel(f(2 * x - 1, y, _), f(2 * x, y, _), f(2 * x + 1, y, _), f(2 * x + 2, y, _));
        both(x, y, _) = kernel(across(x, 2 * y - 1, _), across(x, 2 * y, _),
                               across(x, 2 * y + 1, _), across(x, 2 * y + 2, _));
        return both;
    }

    // Twice as large, linear between the pixels' centres.
    Func doubled(Func f, const std::string &suffix) {
        Func across("doubled_x" + suffix), both("doubled" + suffix);
        auto other = [](const Var &v) { return v / 2 - 1 + 2 * (v % 2); };
        across(x, y, _) = 0.25f * f(other(x), y, _) + 0.75f * f(x / 2, y, _);
        both(x, y, _) = 0.25f * across(x, other(y), _) + 0.75f * across(x, y / 2, _);
        return both;
    }

    void schedule_by_hand(RDom s) {
        // Images are small and made of gathers, so vectors stay short whatever the
        // machine.
        const int vec = 8;
        Var xi("xi"), yi("yi"), task("task");

        // A row of pixels through all slices: cost, confidence and their product.
        pulled[0]
            .compute_root()
            .reorder(c, z, x, y)
            .bound(c, 0, 2)
            .unroll(c)
            .vectorize(x, 2 * vec)
            .parallel(y, 4);
        cost.compute_at(pulled[0], x)
            .vectorize(x);
        confidence.compute_at(pulled[0], x)
            .vectorize(x);

        // Slices do not mix in the pyramid: a task takes one all the way down and up.
        pushed[1]
            .compute_root()
            .fuse(z, c, task)
            .parallel(task)
            .tile(x, y, xi, yi, vec, 2)
            .vectorize(xi)
            .unroll(yi);
        for (int i = 1; i < levels; i++) {
            pulled[i].compute_at(pushed[1], task).vectorize(x, vec);
            if (i > 1) {
                pushed[i]
                    .compute_at(pushed[1], task)
                    .tile(x, y, xi, yi, vec, 2)
                    .vectorize(xi)
                    .unroll(yi);
            }
        }

        depth.compute_root()
            .tile(x, y, xi, yi, vec, 2)
            .vectorize(xi)
            .unroll(yi)
            .parallel(y, 8);
        colors.compute_root()
            .reorder(c, x, y)
            .unroll(c)
            .vectorize(x, vec)
            .parallel(y, 8);

        output.compute_root()
            .reorder(c, x, y)
            .bound(c, 0, 3)
            .unroll(c)
            .vectorize(x, vec)
            .parallel(y, 8);
        widest_y.compute_at(output, y)
            .vectorize(x, vec);
        widest.compute_at(output, y)
            .vectorize(x, vec);
        gathered.compute_at(output, x)
            .vectorize(x)
            .update()
            .reorder(c, x, s)
            .vectorize(x)
            .unroll(c);
        counts.compute_at(gathered, x)
            .unroll(x);
        offset.compute_at(gathered, x)
            .vectorize(x);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(LensBlur, lens_blur)
