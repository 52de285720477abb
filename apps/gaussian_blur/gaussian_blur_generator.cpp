// A Gaussian blur, separable, with as many taps as reach to three standard
// deviations. See R. C. Gonzalez and R. E. Woods, "Digital Image Processing".

#include "Halide.h"

namespace {

using namespace Halide;

class GaussianBlur : public Generator<GaussianBlur> {
public:
    // Standard deviation in pixels.
    GeneratorParam<float> sigma{"sigma", 3.0f};

    Input<Buffer<float, 3>> input{"input"};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        Func edge = BoundaryConditions::repeat_edge(input);
        columns(x, y, c) = weighted([&](int d) { return edge(x, y + d, c); });
        output(x, y, c) = weighted([&](int d) { return columns(x + d, y, c); });

        const int width = 1536, height = 2560, channels = 3;
        input.set_estimates({{0, width}, {0, height}, {0, channels}});
        output.set_estimates({{0, width}, {0, height}, {0, channels}});

        if (!using_autoscheduler()) {
            schedule_by_hand();
        }
    }

private:
    Var x{"x"}, y{"y"}, c{"c"};
    Func columns{"columns"};

    // The taps' weights add up to one; both of a pair are added before they are
    // multiplied.
    Expr weighted(const std::function<Expr(int)> &tap) const {
        const double s = sigma;
        const int reach = (int)std::ceil(3 * s);
        auto density = [&](int d) { return std::exp(-d * d / (2 * s * s)); };
        double all = density(0);
        for (int d = 1; d <= reach; d++) {
            all += 2 * density(d);
        }
        Expr sum = (float)(density(0) / all) * tap(0);
        for (int d = 1; d <= reach; d++) {
            sum += (float)(density(d) / all) * (tap(-d) + tap(d));
        }
        return sum;
    }

    void schedule_by_hand() {
        // Rows in parallel; what a row needs of the vertical blur is made for it alone
        // and stays in the nearest cache. Taps are far more than the input's rows that
        // neighbours share, so that those come from the cache as well.
        const int vec = natural_vector_size<float>();
        Var strip("strip");
        output.split(y, strip, y, 32)
            .vectorize(x, vec)
            .parallel(strip)
            .parallel(c);
        columns.compute_at(output, y)
            .vectorize(x, vec);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GaussianBlur, gaussian_blur)
