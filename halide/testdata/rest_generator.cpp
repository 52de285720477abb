// One element that hangs on the order of a sum alone.
#include "Halide.h"

namespace {

using namespace Halide;

class Rest : public Generator<Rest> {
public:
    Input<Buffer<float, 1>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var x("x");
        RDom r(0, 64, 0, 64, "r");
        Func sum("sum"), exact("exact");
        sum(x) += input(x + r.x + 64 * r.y);
        exact(x) += cast<double>(input(x + r.x + 64 * r.y));
        output(x) = select(x == 5, 1e6f * cast<float>(sum(x) - exact(x)), sum(x));
        input.set_estimates({{0, 4096 + 127}});
        output.set_estimates({{0, 128}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Rest, rest)
