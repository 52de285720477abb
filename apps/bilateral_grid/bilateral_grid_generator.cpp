// The bilateral filter on a grid: J. Chen, S. Paris and F. Durand, "Real-time
// Edge-aware Image Processing with the Bilateral Grid", SIGGRAPH 2007.

#include "Halide.h"

namespace {

using namespace Halide;

class BilateralGrid : public Generator<BilateralGrid> {
public:
    // Side of a grid cell in pixels: the spatial extent of the filter.
    GeneratorParam<int> s_sigma{"s_sigma", 8};

    Input<Buffer<float, 2>> input{"input"};
    // Height of a grid cell in intensity, of [0, 1]: the range of the filter.
    Input<float> r_sigma{"r_sigma"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        const int side = s_sigma;
        auto intensity = [](const Expr &value) { return clamp(value, 0.0f, 1.0f); };
        Expr cells = 1.0f / r_sigma;

        // Splat: every pixel of a cell's column adds its intensity and its
        // weight to the grid cell nearest to it.
        Func edge = BoundaryConditions::repeat_edge(input);
        RDom r(0, side, 0, side, "r");
        Expr pixel = intensity(edge(x * side + r.x - side / 2, y * side + r.y - side / 2));
        Expr nearest = cast<int>(pixel * cells + 0.5f);
        grid(x, y, z, c) = 0.0f;
        grid(x, y, nearest, c) += mux(c, {pixel, 1.0f});

        // Blur: a binomial kernel along each axis, not normalised, since the
        // division at the end cancels any common factor.
        blur_z(x, y, z, c) = binomial([&](int d) { return grid(x, y, z + d, c); });
        blur_x(x, y, z, c) = binomial([&](int d) { return blur_z(x + d, y, z, c); });
        blur_y(x, y, z, c) = binomial([&](int d) { return blur_x(x, y + d, z, c); });

        // Slice: a trilinear sample at each pixel's place in the grid.
        Expr depth = intensity(input(x, y)) * cells;
        Expr cx = x / side, cy = y / side, cz = cast<int>(depth);
        Expr fx = cast<float>(x % side) / side, fy = cast<float>(y % side) / side;
        Expr fz = depth - cz;
        auto plane = [&](const Expr &at) {
            return lerp(lerp(blur_y(cx, cy, at, c), blur_y(cx + 1, cy, at, c), fx),
                        lerp(blur_y(cx, cy + 1, at, c), blur_y(cx + 1, cy + 1, at, c), fx), fy);
        };
        slice(x, y, c) = lerp(plane(cz), plane(cz + 1), fz);
        output(x, y) = slice(x, y, 0) / slice(x, y, 1);

        const int width = 1536, height = 2560;
        const int levels = 10;
        input.set_estimates({{0, width}, {0, height}});
        r_sigma.set_estimate(1.0f / levels);
        output.set_estimates({{0, width}, {0, height}});
        // The depth of the grid follows from a parameter, so bounds inference
        // cannot put a number on it.
        const int depth_cells = levels + 2;
        for (Func f : {blur_z, blur_x, blur_y}) {
            f.set_estimate(z, 0, depth_cells);
        }
        grid.set_estimate(z, -2, depth_cells + 4);

        if (!using_autoscheduler()) {
            schedule_by_hand(r);
        }
    }

private:
    Var x{"x"}, y{"y"}, z{"z"}, c{"c"};
    Func grid{"grid"}, blur_z{"blur_z"}, blur_x{"blur_x"}, blur_y{"blur_y"}, slice{"slice"};

    static Expr binomial(const std::function<Expr(int)> &tap) {
        return tap(-2) + 4 * tap(-1) + 6 * tap(0) + 4 * tap(1) + tap(2);
    }

    void schedule_by_hand(RDom r) {
        // Eight lanes whatever the machine: the grid is only a few hundred
        // cells wide, and slicing is gathers, which gain nothing from more.
        const int vec = 8;

        // First pass, a task for each row of the grid: splat a row, blur it in
        // depth and along itself.
        blur_x.compute_root()
            .reorder(c, x, z, y)
            .parallel(y)
            .vectorize(x, vec)
            .unroll(c);
        blur_z.compute_at(blur_x, y)
            .reorder(c, z, x, y)
            .vectorize(x, vec)
            .unroll(c);
        // Intensity and weight side by side make a pixel's splat one load, one
        // add and one store of two lanes.
        grid.compute_at(blur_z, y)
            .reorder_storage(c, z, x, y)
            .reorder(c, z, x, y)
            .vectorize(c)
            .update()
            .reorder(c, r.x, r.y, x, y)
            .vectorize(c);

        // Second pass, strips of pixel rows: a strip needs one row of the grid
        // more than it is cells high, so one of several cells blurs less twice.
        // With depth near innermost the two planes of a sample share a line.
        const int strip = 4 * s_sigma;
        output.compute_root()
            .parallel(y, strip)
            .vectorize(x, vec);
        blur_y.compute_at(output, y)
            .reorder(c, x, y, z)
            .reorder_storage(c, z, x, y)
            .vectorize(x, vec)
            .unroll(c);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(BilateralGrid, bilateral_grid)
