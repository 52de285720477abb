// A pipeline on which every directive can be said: a chain of stencils, two Funcs
// over the same loops, and a reduction that is associative. With SCHEDULES it can
// also apply .schedule.h files that protuner wrote.

#include "Halide.h"

#ifdef SCHEDULES
#include SCHEDULES
#endif

namespace {

using namespace Halide;

class Directives : public Generator<Directives> {
public:
    GeneratorParam<int> which{"which", -1};
    Input<Buffer<uint8_t, 2>> input{"input"};
    Output<Buffer<int32_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y"), i("i");
        RDom r(0, 256, 0, 96, "r");
        Func a("a"), b("b"), c("c"), d("d"), hist("hist");
        a(x, y) = cast<int32_t>(input(x, y)) * 3 + 1;
        b(x, y) = a(x, y) + 2 * a(x + 1, y) + a(x, y + 1);
        c(x, y) = b(x, y) - b(x, y + 2);
        d(x, y) = a(x, y) * a(x, y);
        hist(i) = 0;
        hist(cast<int32_t>(input(r.x, r.y)) / 8) += 1;
        output(x, y) = c(x, y) + d(x, y) + hist(x % 32);
        output(x, y) += y;
        // More than is needed, so that loops may be rounded up.
        input.set_estimates({{-16, 320}, {-8, 128}});
        output.set_estimates({{0, 256}, {0, 96}});
    }

    void schedule() {
#ifdef SCHEDULES
        if (!using_autoscheduler()) apply_schedules(which, get_pipeline(), get_target());
#endif
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Directives, directives)
