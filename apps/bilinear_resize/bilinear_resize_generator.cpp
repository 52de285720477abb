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
        // Where a pixel's centre lies between the input's.
        place(x) = (x + 0.5f) / scale - 0.5f;
        auto whole = [&](const Var &v) { return cast<int>(floor(place(v))); };
        auto part = [&](const Var &v) { return place(v) - floor(place(v)); };

        // Rows are mixed before columns: that needs no gathers.
        Func edge = BoundaryConditions::repeat_edge(input);
        auto pixel = [&](const Expr &row) { return cast<float>(edge(x, row, c)); };
        mixed(x, y, c) = lerp(pixel(whole(y)), pixel(whole(y) + 1), part(y));
        Expr value = lerp(mixed(whole(x), y, c), mixed(whole(x) + 1, y, c), part(x));
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
    Func place{"place"}, mixed{"mixed"};

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
