// The maximum over a disc around every pixel: grey-scale dilation, see J. Serra,
// "Image Analysis and Mathematical Morphology". A disc is a row of columns of
// different heights, and the maximum over a column of any height is that of two
// overlapping columns whose height is a power of two (M. van Herk, "A fast
// algorithm for local minimum and maximum filters", 1992, has the better known
// alternative).

#include "Halide.h"

namespace {

using namespace Halide;

class MaxFilter : public Generator<MaxFilter> {
public:
    GeneratorParam<int> radius{"radius", 26};

    Input<Buffer<float, 3>> input{"input"};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        const int reach = radius;
        const int levels = (int)std::ceil(std::log2((float)reach)) + 1;
        Func edge = BoundaryConditions::repeat_edge(
            input, {{input.dim(0).min(), input.width()}, {input.dim(1).min(), input.height()}});

        // tall(x, y, c, l) is the maximum of the 2^l pixels from (x, y) downwards.
        RDom r({{-reach, input.height() + reach}, {1, levels - 1}}, "r");
        tall(x, y, c, l) = edge(x, y, c);
        Expr below = r.x + clamp(1 << (r.y - 1), 0, 2 * reach);
        tall(x, r.x, c, r.y) = max(tall(x, r.x, c, r.y - 1), tall(x, below, c, r.y - 1));

        // column(x, y, c, h) is that of the 2h + 1 pixels around (x, y), from the
        // greatest power of two that is no higher than them.
        level_for(h) = cast<int>(floor(log(2 * h + 1) / std::log(2.0f)));
        Expr level = clamp(level_for(h), 0, levels);
        Expr height = clamp(1 << level, 0, 2 * reach);
        column(x, y, c, h) = max(tall(x, y - h, c, level), tall(x, y + h + 1 - height, c, level));

        // How far the disc reaches up and down at each distance from its centre.
        RDom up(0, reach + 1, "up");
        Expr inside = (reach + 0.25f) * (reach + 0.25f);
        half_height(x) += select(x * x + up * up < inside, 1, 0);

        RDom across(-reach, 2 * reach + 1, "across");
        disc(x, y, c) = input.type().min();
        disc(x, y, c) = max(disc(x, y, c), column(x + across, y, c, clamp(half_height(across), 0, reach + 1)));
        output(x, y, c) = disc(x, y, c);

        const int width = 1536, rows = 2560, channels = 3;
        input.set_estimates({{0, width}, {0, rows}, {0, channels}});
        output.set_estimates({{0, width}, {0, rows}, {0, channels}});

        if (!using_autoscheduler()) {
            schedule_by_hand(r, across);
        }
    }

private:
    Var x{"x"}, y{"y"}, c{"c"}, l{"l"}, h{"h"};
    Func tall{"tall"}, level_for{"level_for"}, column{"column"}, half_height{"half_height"}, disc{"disc"};

    void schedule_by_hand(RDom r, RDom across) {
        const int vec = natural_vector_size<float>();

        // Tables of a few dozen entries.
        level_for.compute_root();
        half_height.compute_root();

        // The columns of powers of two are made for the whole height of the image
        // at once, so that tasks can only be stripes of it: as wide as the caches
        // bear, since every stripe also needs the disc's reach on both sides.
        const int stripe = 256;
        Var from("from"), task("task"), tile("tile");
        output.compute_root()
            .split(x, from, x, stripe)
            .split(x, tile, x, vec * accumulators)
            .reorder(x, tile, y, c, from)
            .fuse(c, from, task)
            .parallel(task)
            .vectorize(x, vec)
            .unroll(x);
        tall.compute_at(output, task)
            .vectorize(x, vec)
            .update()
            .reorder(x, r.x, r.y, c)
            .vectorize(x, vec);
        // Every distance from the centre reads one of a row's columns.
        column.compute_at(output, y)
            .vectorize(x, vec);
        // Several maxima in registers, so that finding the column that a distance
        // needs is paid for once.
        disc.compute_at(output, tile)
            .vectorize(x, vec)
            .unroll(x)
            .update()
            .reorder(x, across)
            .vectorize(x, vec)
            .unroll(x);
    }

    static constexpr int accumulators = 4;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(MaxFilter, max_filter)
