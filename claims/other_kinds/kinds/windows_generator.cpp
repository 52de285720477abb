// Kinds of sums over windows whose taps are a reduction, with a schedule by hand each.

#include "Halide.h"

namespace {

using namespace Halide;

// A correlation with 7 by 7 weights that are handed in.
class Correlation : public Generator<Correlation> {
public:
    Input<Buffer<float, 2>> input{"input"}, weights{"weights"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y"), xi("xi"), yi("yi");
        RDom r(0, taps, 0, taps);
        Func sum("sum");
        sum(x, y) = 0.0f;
        sum(x, y) += weights(r.x, r.y) * input(x + r.x, y + r.y);
        output(x, y) = sum(x, y);
        weights.set_estimates({{0, taps}, {0, taps}});
        input.set_estimates({{0, width + taps - 1}, {0, height + taps - 1}});
        output.set_estimates({{0, width}, {0, height}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.tile(x, y, xi, yi, 2 * vec, 4).vectorize(xi, vec).unroll(xi).unroll(yi).parallel(y, 8);
        sum.compute_at(output, x).vectorize(x, vec).unroll(x).unroll(y);
        sum.update().reorder(x, y, r.x, r.y).vectorize(x, vec).unroll(x).unroll(y).unroll(r.x);
    }

private:
    static constexpr int taps = 7, width = 1536, height = 1024;
};

// A depthwise layer of 7 by 7, as of recent convolutional networks; channels innermost.
class Depthwise7 : public Generator<Depthwise7> {
public:
    Input<Buffer<float, 3>> input{"input"}, weights{"weights"};
    Input<Buffer<float, 1>> bias{"bias"};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        Var c("c"), x("x"), y("y"), ci("ci"), xi("xi");
        RDom r(0, taps, 0, taps);
        Func sum("sum");
        sum(c, x, y) = bias(c);
        sum(c, x, y) += weights(c, r.x, r.y) * input(c, x + r.x, y + r.y);
        output(c, x, y) = sum(c, x, y);
        weights.set_estimates({{0, channels}, {0, taps}, {0, taps}});
        bias.set_estimates({{0, channels}});
        input.set_estimates({{0, channels}, {0, side + taps - 1}, {0, side + taps - 1}});
        output.set_estimates({{0, channels}, {0, side}, {0, side}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.split(x, x, xi, 8).split(c, c, ci, vec).reorder(ci, xi, c, x, y).vectorize(ci).unroll(xi).parallel(y, 2);
        sum.compute_at(output, c).vectorize(c, vec).unroll(x);
        sum.update().reorder(c, x, r.x, r.y).vectorize(c, vec).unroll(x).unroll(r.x);
    }

private:
    static constexpr int taps = 7, channels = 192, side = 56;
};

// The strongest of eight oriented filters of 7 by 7, and which it is.
class Responses : public Generator<Responses> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Input<Buffer<float, 3>> bank{"bank"}; // filter, x, y
    Output<Buffer<float, 2>> output{"output"};
    Output<Buffer<uint8_t, 2>> which{"which"};

    void generate() {
        Var x("x"), y("y"), k("k"), xi("xi");
        RDom r(0, taps, 0, taps);
        Func response("response"), best("best");
        response(x, y, k) = 0.0f;
        response(x, y, k) += bank(k, r.x, r.y) * input(x + r.x, y + r.y);
        Expr most = abs(response(x, y, 0)), at = cast<uint8_t>(0);
        for (int i = 1; i < filters; i++) {
            at = select(abs(response(x, y, i)) > most, cast<uint8_t>(i), at);
            most = max(most, abs(response(x, y, i)));
        }
        best(x, y) = {most, at};
        output(x, y) = best(x, y)[0];
        which(x, y) = best(x, y)[1];
        bank.set_estimates({{0, filters}, {0, taps}, {0, taps}});
        input.set_estimates({{0, width + taps - 1}, {0, height + taps - 1}});
        output.set_estimates({{0, width}, {0, height}});
        which.set_estimates({{0, width}, {0, height}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        best.compute_root().split(x, x, xi, vec).vectorize(xi).parallel(y, 8);
        response.compute_at(best, x).vectorize(x, vec).unroll(k);
        response.update().reorder(x, k, r.x, r.y).vectorize(x, vec).unroll(k).unroll(r.x);
        output.vectorize(x, vec).parallel(y, 8);
        which.compute_root().vectorize(x, vec).parallel(y, 8);
    }

private:
    static constexpr int filters = 8, taps = 7, width = 640, height = 480;
};

// How well a pattern of 5 by 5 fits each place of a picture, whatever the light.
class Fit : public Generator<Fit> {
public:
    Input<Buffer<uint8_t, 2>> input{"input"};
    Input<Buffer<float, 2>> pattern{"pattern"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        RDom r(0, side, 0, side);
        Func sums("sums");
        const Expr value = cast<float>(input(x + r.x, y + r.y));
        sums(x, y) = {0.0f, 0.0f, 0.0f};
        sums(x, y) = {sums(x, y)[0] + value, sums(x, y)[1] + value * value, sums(x, y)[2] + value * pattern(r.x, r.y)};
        const Expr variance = max(sums(x, y)[1] - sums(x, y)[0] * sums(x, y)[0] / (side * side), 1.0f);
        output(x, y) = sums(x, y)[2] / sqrt(variance);
        pattern.set_estimates({{0, side}, {0, side}});
        input.set_estimates({{0, width + side - 1}, {0, height + side - 1}});
        output.set_estimates({{0, width}, {0, height}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.vectorize(x, vec).parallel(y, 8);
        sums.compute_at(output, x).vectorize(x, vec);
        sums.update().vectorize(x, vec).unroll(r.x).unroll(r.y);
    }

private:
    static constexpr int side = 5, width = 1280, height = 720;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Correlation, correlation)
HALIDE_REGISTER_GENERATOR(Depthwise7, depthwise7)
HALIDE_REGISTER_GENERATOR(Responses, responses)
HALIDE_REGISTER_GENERATOR(Fit, fit)
