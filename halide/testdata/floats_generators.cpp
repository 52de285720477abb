// Scalars of which some are no ordinary numbers, or of few bits; and a sum that is infinite
// in one order and not in another.

#include "Halide.h"

namespace {

using namespace Halide;

class Scalars : public Generator<Scalars> {
public:
    Input<Buffer<float, 1>> input{"input"};
    Input<Expr> half{"half"}, brain{"brain"};  // half.type=float16 brain.type=bfloat16
    Input<float> limit{"limit"};
    Input<double> missing{"missing"};
    Input<int64_t> wide{"wide"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var x("x");
        Expr rest = select(is_nan(missing), 3.0f, 5.0f) + cast<float>(wide & 255);
        output(x) = mux(x % 4, {cast<float>(Expr(half)), cast<float>(Expr(brain)), Expr(limit), rest}) + 0.0f * input(x);
        half.set_estimate(Expr(float16_t(1.5f)));
        brain.set_estimate(Expr(bfloat16_t(-2.5f)));
        limit.set_estimate(std::numeric_limits<float>::infinity());
        missing.set_estimate(std::numeric_limits<double>::quiet_NaN());
        wide.set_estimate(((int64_t)1 << 62) + 7);
        input.set_estimates({{0, 64}});
        output.set_estimates({{0, 64}});
    }
};

class Overflow : public Generator<Overflow> {
public:
    Input<Buffer<float, 1>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var x("x");
        RDom r(0, 2, 0, 2, "r");
        Func sum("sum");
        sum(x) += select(r.y == 0, 3e38f, -3e38f) + input(x);
        output(x) = sum(x);
        input.set_estimates({{0, 64}});
        output.set_estimates({{0, 64}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Scalars, scalars)
HALIDE_REGISTER_GENERATOR(Overflow, overflow)
