// Kinds of pixels of many values, a plane each, with a schedule by hand each.

#include "Halide.h"

namespace {

using namespace Halide;

// A background of three Gaussians a pixel, brought up to date by a frame.
class Background : public Generator<Background> {
public:
    Input<Buffer<uint8_t, 2>> frame{"frame"};
    Input<Buffer<float, 3>> model{"model"};    // x, y, mean and variance and weight of each
    Output<Buffer<float, 3>> output{"output"}; // the same, and whether the frame is foreground

    void generate() {
        Var x("x"), y("y"), c("c"), xi("xi");
        Func next("next");
        const Expr pixel = cast<float>(frame(x, y));
        Expr mean[gaussians], variance[gaussians], weight[gaussians], off[gaussians], hit[gaussians];
        Expr none = cast<bool>(true), total = 0.0f;
        for (int i = 0; i < gaussians; i++) {
            mean[i] = model(x, y, 3 * i);
            variance[i] = abs(model(x, y, 3 * i + 1)) + 4.0f;
            off[i] = pixel - mean[i];
            const Expr near = off[i] * off[i] < 9.0f * variance[i];
            hit[i] = none && near;
            none = none && !near;
            weight[i] = abs(model(x, y, 3 * i + 2)) * 0.99f + select(hit[i], 0.01f, 0.0f);
            total = total + weight[i];
        }
        std::vector<Expr> values;
        for (int i = 0; i < gaussians; i++) {
            const bool last = i == gaussians - 1; // what fits none takes the place of the last
            const Expr m = select(hit[i], mean[i] + 0.02f * off[i], mean[i]);
            const Expr v = select(hit[i], variance[i] + 0.02f * (off[i] * off[i] - variance[i]), variance[i]);
            const Expr w = weight[i] / total;
            values.push_back(last ? select(none, pixel, m) : m);
            values.push_back(last ? select(none, 100.0f, v) : v);
            values.push_back(last ? select(none, 0.05f, w) : w);
        }
        values.push_back(select(none, 1.0f, 0.0f));
        next(x, y) = Tuple(values);
        std::vector<Expr> planes;
        for (size_t i = 0; i < values.size(); i++) planes.push_back(next(x, y)[i]);
        output(x, y, c) = mux(c, planes);
        output.dim(2).set_bounds(0, 3 * gaussians + 1);
        frame.set_estimates({{0, width}, {0, height}});
        model.set_estimates({{0, width}, {0, height}, {0, 3 * gaussians}});
        output.set_estimates({{0, width}, {0, height}, {0, 3 * gaussians + 1}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.split(x, x, xi, vec).reorder(xi, c, x, y).vectorize(xi).unroll(c).parallel(y, 8);
        next.compute_at(output, x).vectorize(x, vec);
    }

private:
    static constexpr int gaussians = 3, width = 960, height = 540;
};

// A filter of 5 by 5 for each pixel, as a network predicts them.
class Kernels : public Generator<Kernels> {
public:
    Input<Buffer<float, 3>> input{"input"}, kernel{"kernel"};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        Var x("x"), y("y"), c("c"), xi("xi");
        RDom r(-2, 5, -2, 5);
        Func clamped = BoundaryConditions::repeat_edge(input), sum("sum");
        const Expr weight = kernel(x, y, r.x + 2 + 5 * (r.y + 2));
        auto at = [&](int channel) { return clamped(x + r.x, y + r.y, channel); };
        sum(x, y) = {0.0f, 0.0f, 0.0f, 0.0f};
        sum(x, y) = {sum(x, y)[0] + weight * at(0), sum(x, y)[1] + weight * at(1), sum(x, y)[2] + weight * at(2), sum(x, y)[3] + weight};
        output(x, y, c) = mux(c, {sum(x, y)[0], sum(x, y)[1], sum(x, y)[2]}) / (sum(x, y)[3] + 0.001f);
        output.dim(2).set_bounds(0, 3);
        input.set_estimates({{0, width}, {0, height}, {0, 3}});
        kernel.set_estimates({{0, width}, {0, height}, {0, 25}});
        output.set_estimates({{0, width}, {0, height}, {0, 3}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.split(x, x, xi, 2 * vec).reorder(xi, c, x, y).vectorize(xi, vec).unroll(xi).unroll(c).parallel(y, 4);
        sum.compute_at(output, x).vectorize(x, vec).unroll(x);
        sum.update().reorder(x, r.x, r.y).vectorize(x, vec).unroll(x).unroll(r.x).unroll(r.y);
        clamped.compute_at(output, y).vectorize(clamped.args()[0], vec);
    }

private:
    static constexpr int width = 960, height = 540;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Background, background)
HALIDE_REGISTER_GENERATOR(Kernels, kernels)
