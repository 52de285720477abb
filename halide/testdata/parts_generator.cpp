// Loops that are equal but for names, and one that differs from them in the last digits of
// a constant.
#include "Halide.h"

namespace {

using namespace Halide;

class Parts : public Generator<Parts> {
public:
    Input<Buffer<double, 2>> input{"input"};
    Output<Buffer<double, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        Func one("one"), once("once"), other("other");
        one(x, y) = input(x, y) * Expr(7.853981633973e-6);
        once(x, y) = input(x, y) * Expr(7.853981633973e-6);
        other(x, y) = input(x, y) * Expr(7.853981633974e-6);
        output(x, y) = one(x, y) + Expr(2.0) * once(x, y) - Expr(3.0) * other(x, y);
        input.set_estimates({{0, 64}, {0, 64}});
        output.set_estimates({{0, 64}, {0, 64}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Parts, parts)
