// Edges by the magnitude of Sobel's gradient: I. Sobel and G. Feldman, "An Isotropic
// 3x3 Image Gradient Operator", 1968; magnitudes as the sum of both components'
// absolute values, in 16-bit integers.

#include "Halide.h"

namespace {

using namespace Halide;

class Sobel : public Generator<Sobel> {
public:
    Input<Buffer<uint8_t, 2>> input{"input"};
    Output<Buffer<uint8_t, 2>> output{"output"};

    void generate() {
        Func edge = BoundaryConditions::repeat_edge(input);
        Func wide("wide");
        wide(x, y) = cast<int16_t>(edge(x, y));

        // Each component smooths along one axis and takes differences along the other.
        smooth_y(x, y) = wide(x, y - 1) + 2 * wide(x, y) + wide(x, y + 1);
        slope_y(x, y) = wide(x, y + 1) - wide(x, y - 1);
        Expr across = smooth_y(x + 1, y) - smooth_y(x - 1, y);
        Expr down = slope_y(x - 1, y) + 2 * slope_y(x, y) + slope_y(x + 1, y);
        output(x, y) = saturating_cast<uint8_t>(abs(across) + abs(down));

        const int width = 1536, height = 2560;
        input.set_estimates({{0, width}, {0, height}});
        output.set_estimates({{0, width}, {0, height}});

        if (!using_autoscheduler()) {
            schedule_by_hand();
        }
    }

private:
    Var x{"x"}, y{"y"};
    Func smooth_y{"smooth_y"}, slope_y{"slope_y"};

    void schedule_by_hand() {
        // Little is computed for a pixel, so all there is to do is to touch memory once:
        // both vertical halves are kept for one row, in the nearest cache.
        const int vec = natural_vector_size<uint16_t>();
        Var strip("strip");
        output.split(y, strip, y, 32)
            .vectorize(x, vec)
            .parallel(strip);
        for (Func f : {smooth_y, slope_y}) {
            f.compute_at(output, y)
                .vectorize(x, vec);
        }
        slope_y.compute_with(smooth_y, x);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Sobel, sobel)
