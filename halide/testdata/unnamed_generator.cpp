// Nothing has a name, so that everything is called otherwise in every build; two sums are
// taken apart, one by the outer and one by the inner part of a loop.

#include "Halide.h"

namespace {

using namespace Halide;

class Unnamed : public Generator<Unnamed> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        strips(x) += input(x, down.x);
        lanes(x) += input(down.x, x);
        output(x) = 0.0f;
        output(x) += strips(x + few.x) * lanes(x);
        input.set_estimates({{0, 320}, {0, 320}});
        output.set_estimates({{0, 256}});
    }

    void schedule() {
        if (using_autoscheduler()) return;
        Var u, v;
        RVar ro, ri, so, si;
        output.split(x, u, v, 64).parallel(u);
        output.update().reorder(few.x, x).unroll(few.x);
        strips.compute_root().update().split(down.x, ro, ri, 8).reorder(x, ri, ro);
        strips.update().rfactor(ro, u).compute_root().vectorize(x, 8).update().parallel(u).vectorize(x, 8);
        lanes.compute_root().update().split(down.x, so, si, 8);
        lanes.update().rfactor(si, v).compute_at(lanes, x).vectorize(v).update().vectorize(v);
    }

private:
    Var x;
    RDom down{0, 256}, few{0, 4};
    Func strips, lanes;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Unnamed, unnamed)
