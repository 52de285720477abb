// Unsharp masking: the image minus a blurred copy of its luminance is the
// detail, which is added back as one gain for all channels. See R. C. Gonzalez
// and R. E. Woods, "Digital Image Processing", section on unsharp masking.

#include "Halide.h"

namespace {

using namespace Halide;

class Unsharp : public Generator<Unsharp> {
public:
    // Standard deviation of the blur, in pixels; the kernel has seven taps.
    GeneratorParam<float> sigma{"sigma", 1.5f};

    Input<Buffer<float, 3>> input{"input"};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        Func edge = BoundaryConditions::repeat_edge(input);
        luma(x, y) = 0.299f * edge(x, y, 0) +
                     0.587f * edge(x, y, 1) +
                     0.114f * edge(x, y, 2);

        // The Gaussian is separable, and down the columns first: a row of the
        // result then needs only rows, which suits row-wise storage.
        blur_y(x, y) = gaussian([&](int d) { return luma(x, y + d); });
        Func blurred("blurred");
        blurred(x, y) = gaussian([&](int d) { return blur_y(x + d, y); });

        // luma + (luma - blurred), relative to luma.
        gain(x, y) = (2.0f * luma(x, y) - blurred(x, y)) / luma(x, y);
        output(x, y, c) = gain(x, y) * input(x, y, c);

        const int width = 1536, height = 2560, channels = 3;
        input.set_estimates({{0, width}, {0, height}, {0, channels}});
        output.set_estimates({{0, width}, {0, height}, {0, channels}});

        if (!using_autoscheduler()) {
            schedule_by_hand();
        }
    }

private:
    Var x{"x"}, y{"y"}, c{"c"};
    Func luma{"luma"}, blur_y{"blur_y"}, gain{"gain"};

    // Seven taps of the Gaussian density over the values around a centre. The
    // weights are constants: sigma is known when the pipeline is generated.
    Expr gaussian(const std::function<Expr(int)> &tap) const {
        const double s = sigma;
        auto weight = [&](int d) {
            return (float)(std::exp(-d * d / (2 * s * s)) / (std::sqrt(2 * M_PI) * s));
        };
        Expr sum = weight(0) * tap(0);
        for (int d = 1; d <= 3; d++) {
            sum += weight(d) * (tap(-d) + tap(d));
        }
        return sum;
    }

    void schedule_by_hand() {
        // Strips of rows in parallel. Luminance and the vertical blur slide
        // down each strip, so the seven live rows are reused from the cache.
        // The gain is kept for one row, since every channel asks for it.
        const int strip = 32;
        const int vec = natural_vector_size<float>();
        Var row("row");

        output.split(y, y, row, strip)
            .reorder(x, c, row, y)
            .parallel(y)
            .vectorize(x, vec);
        for (Func f : {luma, blur_y, gain}) {
            f.store_at(output, y)
                .compute_at(output, row)
                .vectorize(x, vec);
        }
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Unsharp, unsharp)
