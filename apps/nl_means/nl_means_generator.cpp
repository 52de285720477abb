// Denoising by non-local means: every pixel becomes the mean of the pixels of a
// search window, weighted by how alike the patches around them are. A. Buades,
// B. Coll and J.-M. Morel, "A non-local algorithm for image denoising", CVPR 2005.

#include "Halide.h"

namespace {

using namespace Halide;

class NonLocalMeans : public Generator<NonLocalMeans> {
public:
    Input<Buffer<float, 3>> input{"input"};
    // Sides of the patches that are compared and of the window, in pixels.
    Input<int> patch_size{"patch_size"};
    Input<int> search_area{"search_area"};
    // Standard deviation of a pixel's difference at which patches count as alike.
    Input<float> sigma{"sigma"};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        Func edge = BoundaryConditions::repeat_edge(input);

        // How a pixel differs from the one at offset (dx, dy), over all colours, then
        // over a column of a patch, then over the patch.
        RDom color(0, 3, "color");
        Func squared("squared");
        squared(x, y, dx, dy, c) = pow(edge(x, y, c) - edge(x + dx, y + dy, c), 2);
        difference(x, y, dx, dy) = sum(squared(x, y, dx, dy, color));
        RDom p(-(patch_size / 2), patch_size, "p");
        column_total(x, y, dx, dy) += difference(x, y + p, dx, dy);
        column(x, y, dx, dy) = column_total(x, y, dx, dy);
        patch_total(x, y, dx, dy) += column(x + p, y, dx, dy);
        patch(x, y, dx, dy) = patch_total(x, y, dx, dy);

        Expr scale = -1.0f / (sigma * sigma * patch_size * patch_size);
        weight(x, y, dx, dy) = fast_exp(patch(x, y, dx, dy) * scale);

        // A fourth channel of ones adds up the weights.
        Func with_one("with_one");
        with_one(x, y, c) = mux(c, {edge(x, y, 0), edge(x, y, 1), edge(x, y, 2), 1.0f});
        RDom s(-(search_area / 2), search_area, -(search_area / 2), search_area, "s");
        total(x, y, c) += weight(x, y, s.x, s.y) * with_one(x + s.x, y + s.y, c);
        output(x, y, c) = clamp(total(x, y, c) / total(x, y, 3), 0.0f, 1.0f);

        const int width = 1536, height = 2560, channels = 3;
        input.set_estimates({{0, width}, {0, height}, {0, channels}});
        patch_size.set_estimate(7);
        search_area.set_estimate(7);
        sigma.set_estimate(0.12f);
        output.dim(2).set_bounds(0, channels);
        output.set_estimates({{0, width}, {0, height}, {0, channels}});

        if (!using_autoscheduler()) {
            schedule_by_hand(p, s);
        }
    }

private:
    Var x{"x"}, y{"y"}, c{"c"}, dx{"dx"}, dy{"dy"};
    Func difference{"difference"}, column{"column"}, column_total{"column_total"};
    Func patch{"patch"}, patch_total{"patch_total"}, weight{"weight"}, total{"total"};

    void schedule_by_hand(RDom p, RDom s) {
        const int vec = natural_vector_size<float>();
        // Tiles whose sums stay in the cache while all offsets are gone through. What
        // an offset needs is computed for the whole tile: the smaller a tile is, the
        // more of it is the margin that patches reach over its border.
        const int width = 128, height = 32;
        Var tx("tx"), ty("ty"), xv("xv"), block("block");
        output.compute_root()
            .tile(x, y, tx, ty, x, y, width, height)
            .reorder(c, x, y, tx, ty)
            .vectorize(x, vec)
            .unroll(c)
            .parallel(ty);
        total.compute_at(output, tx)
            .bound(c, 0, 4)
            .vectorize(x, vec)
            .update()
            .split(x, x, xv, vec)
            .reorder(xv, c, x, y, s.x, s.y)
            .vectorize(xv)
            .unroll(c);
        weight.compute_at(total, x)
            .vectorize(x);
        difference.compute_at(total, s.x)
            .vectorize(x, vec);
        // Several sums at a time, in registers: a sum alone waits for each addition.
        const int sums = 4;
        for (auto [whole, part] : {std::pair{column, column_total}, std::pair{patch, patch_total}}) {
            whole.compute_at(total, s.x)
                .split(x, block, x, vec * sums)
                .vectorize(x, vec)
                .unroll(x);
            part.compute_at(whole, block)
                .vectorize(x, vec)
                .unroll(x)
                .update()
                .reorder(x, p)
                .vectorize(x, vec)
                .unroll(x);
        }
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(NonLocalMeans, nl_means)
