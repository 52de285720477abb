// How far each pixel moved between two frames: B. D. Lucas and T. Kanade, "An Iterative
// Image Registration Technique with an Application to Stereo Vision", IJCAI 1981, one
// step. The five products of derivatives are summed over 5x5 pixels, and a system of two
// equations is solved for every one.

#include "Halide.h"

namespace {

using namespace Halide;

class OpticalFlow : public Generator<OpticalFlow> {
public:
    Input<Buffer<float, 2>> before{"before"};
    Input<Buffer<float, 2>> after{"after"};
    Output<Buffer<float, 3>> output{"output"};  // channels: along x, along y

    void generate() {
        Func first = BoundaryConditions::repeat_edge(before);
        Func second = BoundaryConditions::repeat_edge(after);
        Func slope_x("slope_x"), slope_y("slope_y"), change("change"), sums("sums");
        slope_x(x, y) = 0.5f * (first(x + 1, y) - first(x - 1, y));
        slope_y(x, y) = 0.5f * (first(x, y + 1) - first(x, y - 1));
        change(x, y) = second(x, y) - first(x, y);

        Expr dx = slope_x(x, y), dy = slope_y(x, y), dt = change(x, y);
        products(x, y, c) = mux(c, {dx * dx, dx * dy, dy * dy, dx * dt, dy * dt});
        columns(x, y, c) = five([&](int d) { return products(x, y + d, c); });
        sums(x, y, c) = five([&](int d) { return columns(x + d, y, c); });

        // [xx xy; xy yy] times the motion is -[xt; yt]. A flat patch says nothing of it:
        // the small number makes that no motion.
        Expr xx = sums(x, y, 0), xy = sums(x, y, 1), yy = sums(x, y, 2);
        Expr xt = sums(x, y, 3), yt = sums(x, y, 4);
        Expr determinant = xx * yy - xy * xy + 1e-3f;
        output(x, y, c) = mux(c, {xy * yt - yy * xt, xy * xt - xx * yt}) / determinant;

        const int width = 1920, height = 1080;
        before.set_estimates({{0, width}, {0, height}});
        after.set_estimates({{0, width}, {0, height}});
        output.set_estimates({{0, width}, {0, height}, {0, 2}});

        if (!using_autoscheduler()) {
            schedule_by_hand();
        }
    }

private:
    Var x{"x"}, y{"y"}, c{"c"};
    Func products{"products"}, columns{"columns"};

    static Expr five(const std::function<Expr(int)> &tap) {
        return tap(-2) + tap(-1) + tap(0) + tap(1) + tap(2);
    }

    void schedule_by_hand() {
        // The products slide down parallel strips, their sums over columns are kept for
        // one row; all five are computed together, from one load of each derivative.
        const int vec = natural_vector_size<float>();
        Var strip("strip");
        output.bound(c, 0, 2)
            .split(y, strip, y, 32)
            .reorder(c, x, y, strip)
            .unroll(c)
            .parallel(strip)
            .vectorize(x, vec);
        for (Func f : {products, columns}) {
            f.store_at(output, strip)
                .compute_at(output, y)
                .bound(c, 0, 5)
                .reorder(c, x, y)
                .unroll(c)
                .vectorize(x, vec);
        }
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(OpticalFlow, optical_flow)
