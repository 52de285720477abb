// Loops that are equal but for names, and one that differs from them in the last digits of
// a constant.
#include "Halide.h"

namespace {

using namespace Halide;

class Parts : public Generator<Parts> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        Func one("one"), once("once"), other("other");
        one(x, y) = input(x, y) * 0.7853981f;
        once(x, y) = input(x, y) * 0.7853981f;
        other(x, y) = input(x, y) * 0.7853982f;
        output(x, y) = one(x, y) + 2.0f * once(x, y) - 3.0f * other(x, y);
        input.set_estimates({{0, 64}, {0, 64}});
        output.set_estimates({{0, 64}, {0, 64}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Parts, parts)
