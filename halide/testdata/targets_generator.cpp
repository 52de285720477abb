// As large as its input, which only a requirement reads besides.
#include "Halide.h"

namespace {

using namespace Halide;

class Sized : public Generator<Sized> {
public:
    Input<Buffer<uint16_t, 2>> input{"input"};
    Input<int64_t> least{"least", 1};
    Output<Buffer<uint16_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        Func rows("rows"), padded = BoundaryConditions::repeat_edge(input);
        rows(x, y) = padded(x - 1, y) / 4 + padded(x, y) / 2 + padded(x + 1, y) / 4;
        output(x, y) = rows(x, y - 1) / 4 + rows(x, y) / 2 + rows(x, y + 1) / 4;
        add_requirement(Expr(least) == Expr((int64_t(1) << 53) + 1), "least was rounded");

        output.bound(x, 0, input.width()).bound(y, 0, input.height());
        input.set_estimates({{0, 2048}, {0, 1024}});
        least.set_estimate((int64_t(1) << 53) + 1);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Sized, sized)
