// Loops that are equal but for names, one that differs from them in the last digits of a
// constant, and two that differ in nothing but the type of their numbers.
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

class Twins : public Generator<Twins> {
public:
    Input<Buffer<uint8_t, 2>> bytes{"bytes"};
    Input<Buffer<int8_t, 2>> numbers{"numbers"};
    Output<Buffer<int32_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        Func one("one"), other("other");
        one(x, y) = max(bytes(x, y), bytes(x + 1, y));
        other(x, y) = max(numbers(x, y), numbers(x + 1, y));
        output(x, y) = cast<int32_t>(one(x, y)) + 1000 * cast<int32_t>(other(x, y));
        bytes.set_estimates({{0, 65}, {0, 64}});
        numbers.set_estimates({{0, 65}, {0, 64}});
        output.set_estimates({{0, 64}, {0, 64}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Parts, parts)
HALIDE_REGISTER_GENERATOR(Twins, twins)
