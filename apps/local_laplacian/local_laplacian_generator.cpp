// Local contrast enhancement with Laplacian pyramids: S. Paris, S. W. Hasinoff and
// J. Kautz, "Local Laplacian Filters", SIGGRAPH 2011, in the fast form of M. Aubry et
// al., "Fast Local Laplacian Filters", ACM Transactions on Graphics 2014: the image
// is remapped around a few intensities, and each pixel of the result's pyramid is
// interpolated between the pyramids of the two nearest ones.

#include "Halide.h"

namespace {

using namespace Halide;

class LocalLaplacian : public Generator<LocalLaplacian> {
public:
    GeneratorParam<int> pyramid_levels{"pyramid_levels", 8, 1, 20};

    Input<Buffer<uint16_t, 3>> input{"input"};
    // How many intensities the image is remapped around.
    Input<int> levels{"levels"};
    // How much detail is added, and how much of large differences is kept.
    Input<float> alpha{"alpha"};
    Input<float> beta{"beta"};
    Output<Buffer<uint16_t, 3>> output{"output"};

    void generate() {
        // Detail by the distance to an intensity, in steps of 1/256 of the distance
        // between two intensities.
        Expr distance = cast<float>(x) / 256.0f;
        detail(x) = alpha * distance * exp(-distance * distance / 2.0f);

        Func edge = BoundaryConditions::repeat_edge(input);
        auto unit = [&](int channel) { return edge(x, y, channel) / 65535.0f; };
        luma(x, y) = 0.299f * unit(0) + 0.587f * unit(1) + 0.114f * unit(2);

        Expr intensity = k * (1.0f / (levels - 1));
        Expr step = cast<int>(luma(x, y) * cast<float>(levels - 1) * 256.0f);
        step = clamp(step, 0, (levels - 1) * 256);
        Expr remapped = beta * (luma(x, y) - intensity) + intensity + detail(step - 256 * k);

        const int coarsest = pyramid_levels - 1;
        for (int j = 0; j <= coarsest; j++) {
            const std::string suffix = "_" + std::to_string(j);
            processed.emplace_back("processed" + suffix);
            processed_y.emplace_back("processed_y" + suffix);
            guide.emplace_back("guide" + suffix);
            result.emplace_back("result" + suffix);
            if (j == 0) {
                processed[0](x, y, k) = remapped;
                guide[0](x, y) = luma(x, y);
            } else {
                halve(processed[j], processed_y[j], processed[j - 1]);
                halve(guide[j], Func("guide_y" + suffix), guide[j - 1]);
            }
        }

        for (int j = coarsest; j >= 0; j--) {
            const std::string suffix = "_" + std::to_string(j);
            Func band("band" + suffix), chosen("chosen" + suffix);
            if (j == coarsest) {
                band(x, y, k) = processed[j](x, y, k);
            } else {
                band(x, y, k) = processed[j](x, y, k) - doubled(processed[j + 1], "coarse" + suffix)(x, y, k);
            }
            // Between the two nearest intensities.
            Expr place = guide[j](x, y) * cast<float>(levels - 1);
            Expr below = clamp(cast<int>(place), 0, levels - 2);
            Expr above = place - cast<float>(below);
            chosen(x, y) = (1.0f - above) * band(x, y, below) + above * band(x, y, below + 1);
            if (j == coarsest) {
                result[j](x, y) = chosen(x, y);
            } else {
                result[j](x, y) = doubled(result[j + 1], "enlarged" + suffix)(x, y) + chosen(x, y);
            }
        }

        // Colours keep their ratio to the luminance; a little is added to both so that
        // noise in the dark is not scaled up.
        const float noise = 0.01f;
        Expr color = input(x, y, c) * (result[0](x, y) + noise) / (luma(x, y) + noise);
        output(x, y, c) = cast<uint16_t>(clamp(color, 0.0f, 65535.0f));

        const int width = 1536, height = 2560, channels = 3;
        input.set_estimates({{0, width}, {0, height}, {0, channels}});
        levels.set_estimate(8);
        alpha.set_estimate(1);
        beta.set_estimate(1);
        output.set_estimates({{0, width}, {0, height}, {0, channels}});

        if (!using_autoscheduler()) {
            schedule_by_hand();
        }
    }

private:
    Var x{"x"}, y{"y"}, c{"c"}, k{"k"};
    Func detail{"detail"}, luma{"luma"};
    // Pyramids, the finest level first: of the remapped images (and their columns
    // halved, rows not yet), of the luminance, of the result.
    std::vector<Func> processed, processed_y, guide, result;

    // Half as large, with the kernel 1 3 3 1 down the columns and along the rows.
    void halve(Func half, Func columns, Func f) {
        auto kernel = [](const Expr &a, const Expr &b, const Expr &c, const Expr &d) {
            return (a + 3.0f * (b + c) + d) / 8.0f;
        };
        columns(x, y, _) = kernel(f(x, 2 * y - 1, _), f(x, 2 * y, _), f(x, 2 * y + 1, _), f(x, 2 * y + 2, _));
        half(x, y, _) = kernel(columns(2 * x - 1, y, _), columns(2 * x, y, _),
                               columns(2 * x + 1, y, _), columns(2 * x + 2, y, _));
    }

    // Twice as large, linear between the pixels.
    Func doubled(Func f, const std::string &name) {
        Func across(name + "_x"), both(name);
        auto weight = [](const Var &v) { return ((v % 2) * 2 + 1) / 4.0f; };
        across(x, y, _) = lerp(f((x + 1) / 2, y, _), f((x - 1) / 2, y, _), weight(x));
        both(x, y, _) = lerp(across(x, (y + 1) / 2, _), across(x, (y - 1) / 2, _), weight(y));
        return both;
    }

    void schedule_by_hand() {
        const int vec = natural_vector_size<float>();
        // Levels from here on are too small to share out.
        const int small = std::min<int>(5, pyramid_levels);
        Var strip("strip"), row("row");

        detail.compute_root();
        luma.compute_root()
            .parallel(y, 32)
            .vectorize(x, vec);

        // Down: all levels are kept. Looking up details is most of the work, so a
        // remapped pixel is made once for all coarser pixels that read it, a few rows
        // for every intensity at a time; the output looks up the two it needs itself.
        for (int j = 1; j < small; j++) {
            guide[j]
                .compute_root()
                .parallel(y, 32)
                .vectorize(x, vec);
            Var level = processed[j].args()[2];
            processed[j]
                .compute_root()
                .reorder_storage(x, level, y)
                .reorder(x, level, y)
                .split(y, strip, row, 8)
                .parallel(strip)
                .vectorize(x, vec);
            processed_y[j]
                .compute_at(processed[j], level)
                .vectorize(x, vec);
        }
        if (small > 1) {
            processed[0]
                .clone_in(processed_y[1])
                .store_at(processed[1], strip)
                .compute_at(processed[1], row)
                .reorder_storage(x, k, y)
                .reorder(x, k, y)
                .vectorize(x, vec);
        }
        for (int j = small; j < pyramid_levels; j++) {
            guide[j].compute_root();
            processed[j].compute_root().parallel(processed[j].args()[2]);
            result[j].compute_root();
        }

        // Up: strips of rows, down which the finer levels of the result slide.
        output.reorder(x, c, y)
            .split(y, strip, row, 64)
            .parallel(strip)
            .vectorize(x, vec);
        for (int j = 0; j < small; j++) {
            result[j]
                .store_at(output, strip)
                .compute_at(output, row)
                .vectorize(x, vec);
        }
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(LocalLaplacian, local_laplacian)
