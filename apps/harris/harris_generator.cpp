// Corner response of C. Harris and M. Stephens, "A Combined Corner and Edge
// Detector", Alvey Vision Conference, 1988.

#include "Halide.h"

namespace {

using namespace Halide;

class Harris : public Generator<Harris> {
public:
    Input<Buffer<float, 3>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        luma(x, y) = 0.299f * input(x, y, 0) +
                     0.587f * input(x, y, 1) +
                     0.114f * input(x, y, 2);

        // Sobel's derivatives, scaled by 1/12.
        auto slope = [&](Expr before, Expr after, float weight) {
            return (after - before) * (weight / 12.0f);
        };
        grad_x(x, y) = slope(luma(x - 1, y - 1), luma(x + 1, y - 1), 1) +
                       slope(luma(x - 1, y), luma(x + 1, y), 2) +
                       slope(luma(x - 1, y + 1), luma(x + 1, y + 1), 1);
        grad_y(x, y) = slope(luma(x - 1, y - 1), luma(x - 1, y + 1), 1) +
                       slope(luma(x, y - 1), luma(x, y + 1), 2) +
                       slope(luma(x + 1, y - 1), luma(x + 1, y + 1), 1);

        // The structure tensor, summed over each pixel's 3x3 neighbourhood.
        Func xx = window_sum("xx", grad_x, grad_x);
        Func xy = window_sum("xy", grad_x, grad_y);
        Func yy = window_sum("yy", grad_y, grad_y);

        const float k = 0.04f;
        Expr det = xx(x, y) * yy(x, y) - xy(x, y) * xy(x, y);
        Expr trace = xx(x, y) + yy(x, y);
        output(x, y) = det - k * trace * trace;

        // There is no boundary condition: the response is asked for only where
        // its whole window lies inside the image.
        const int width = 1536, height = 2560, margin = 3;
        input.set_estimates({{0, width}, {0, height}, {0, 3}});
        output.set_estimates({{margin, width - 2 * margin}, {margin, height - 2 * margin}});

        if (!using_autoscheduler()) {
            schedule_by_hand();
        }
    }

private:
    Var x{"x"}, y{"y"};
    Func luma{"luma"}, grad_x{"grad_x"}, grad_y{"grad_y"};

    Func window_sum(const std::string &name, Func a, Func b) {
        Func product(name + "_product"), sum(name + "_sum");
        product(x, y) = a(x, y) * b(x, y);
        Expr total = 0.0f;
        for (int dy = -1; dy <= 1; dy++) {
            for (int dx = -1; dx <= 1; dx++) {
                total += product(x + dx, y + dy);
            }
        }
        sum(x, y) = total;
        return sum;
    }

    void schedule_by_hand() {
        // Each strip of rows is one task. Inside it the three stencil inputs
        // slide down with the output, so that a row of them is computed once
        // and the few live rows stay in the first-level cache. A taller strip
        // recomputes less at its top edge but leaves fewer tasks to balance.
        const int strip = 32;
        // Two vectors a step: the second one's loads of its left neighbours
        // overlap the first one's loads of its right ones.
        const int span = 2 * natural_vector_size<float>();
        Var row("row");

        output.split(y, y, row, strip)
            .parallel(y)
            .vectorize(x, span);
        for (Func f : {luma, grad_x, grad_y}) {
            f.store_at(output, y)
                .compute_at(output, row)
                .vectorize(x, span);
        }
        // Both gradients read the same eight neighbours.
        grad_x.compute_with(grad_y, x);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Harris, harris)
