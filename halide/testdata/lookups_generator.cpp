// Places that are read and written where values say, which are bounded there or are not.
#include "Halide.h"

namespace {

using namespace Halide;

class Lookups : public Generator<Lookups> {
public:
    Input<Buffer<int32_t, 2>> input{"input"};
    Output<Buffer<int32_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y"), b("b");
        const int n = 64;
        Func table("table"), clamped("clamped"), raw("raw"), bytes("bytes");
        table(x) = x * x;
        Func near = BoundaryConditions::repeat_edge(input);
        clamped(x, y) = clamp(near(x, y) + near(x + 1, y), 0, 255);
        raw(x, y) = near(x, y) + near(x, y + 1);
        bytes(x, y) = cast<uint8_t>(near(x, y));

        // As it was stored, and so it is anywhere where it was not.
        Func stored("stored"), promised("promised"), counts("counts");
        stored(x, y) = table(clamped(x, y));
        promised(x, y) = table(unsafe_promise_clamped(clamped(x, y) / 2, 0, 127));
        RDom r(0, 8, "r");
        counts(b, x, y) = 0;
        counts(clamped(x + r, y) / 16, x, y) += 1;

        // Bounded where it is used, or by its type.
        Func used("used"), typed("typed");
        used(x, y) = table(clamp(raw(x, y), 0, 255));
        typed(x, y) = table(cast<int>(bytes(x, y)));

        output(x, y) = stored(x, y) + promised(x, y) + used(x, y) + typed(x, y) + counts(3, x, y);

        input.set_estimates({{0, n}, {0, n}});
        output.set_estimates({{0, n}, {0, n}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Lookups, lookups)
