// Resizes an image by any factor, linear between the four nearest pixels. See R. C.
// Gonzalez and R. E. Woods, "Digital Image Processing", section on interpolation.

#include "Halide.h"

namespace {

using namespace Halide;

class BilinearResize : public Generator<BilinearResize> {
public:
    Input<Buffer<uint8_t, 3>> input{"input"};
    // Pixels of the output for each pixel of the input.
    Input<float> scale{"scale"};
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        // Where a pixel's centre lies between the input's. Clamping changes nothing, as
        // the edge is repeated, but says how much of the input is read.
        auto place = [&](const Var &v) { return (v + 0.5f) / scale - 0.5f; };
        auto part = [&](const Var &v) { return place(v) - floor(place(v)); };
        auto whole = [&](const Var &v, int dimension) {
            return clamp(cast<int>(floor(place(v))), -1, input.dim(dimension).extent() - 1);
        };

        // Rows are mixed before columns: that needs no gathers.
        Func edge = BoundaryConditions::repeat_edge(input);
        auto pixel = [&](const Expr &row) { return cast<float>(edge(x, row, c)); };
        mixed(x, y, c) = lerp(pixel(whole(y, 1)), pixel(whole(y, 1) + 1), part(y));
        Expr value = lerp(mixed(whole(x, 0), y, c), mixed(whole(x, 0) + 1, y, c), part(x));
        output(x, y, c) = saturating_cast<uint8_t>(round(value));

        const int width = 768, height = 1280, channels = 3, enlarged = 2;
        input.set_estimates({{0, width}, {0, height}, {0, channels}});
        scale.set_estimate((float)enlarged);
        output.set_estimates({{0, enlarged * width}, {0, enlarged * height}, {0, channels}});

        if (!using_autoscheduler()) {
            schedule_by_hand();
        }
    }

private:
    Var x{"x"}, y{"y"}, c{"c"};
    Func mixed{"mixed"};

    void schedule_by_hand() {
        // A row's mixture is made for it alone, so that gathering finds it in the
        // nearest cache.
        const int vec = natural_vector_size<float>();
        Var strip("strip");
        output.split(y, strip, y, 32)
            .vectorize(x, vec)
            .parallel(strip)
            .parallel(c);
        mixed.compute_at(output, y)
            .vectorize(x, vec);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(BilinearResize, bilinear_resize)
