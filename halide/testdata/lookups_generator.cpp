// Places that are read and written where values say, which are bounded there or are not.
#include "Halide.h"

namespace {

using namespace Halide;

class Lookups : public Generator<Lookups> {
public:
    Input<Buffer<int32_t, 2>> input{"input"};
    Input<Buffer<uint8_t, 1>> letters{"letters"};
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

        // Bytes that are only looked up, that are read in rows too, and computed with.
        Func read("read"), rows("rows"), sums("sums");
        Expr letter = letters(clamped(x, y));
        read(x, y) = cast<int>(letter) * 3;
        rows(x, y) = cast<int>(letter) * letters(x);
        sums(x, y) = cast<int>(letter + cast<uint8_t>(1)) * 3;

        // Bytes, of which most of what they are made of is looked up.
        Func mixed("mixed");
        Expr place = clamped(x, y);
        mixed(x, y) = cast<uint8_t>(table(place) + table(place + 1) + table(place + 2) + letters(x));

        // Rows from where a reduction looks up, and where each point does.
        Func shifted("shifted"), scattered("scattered");
        RDom k(0, 32, "k");
        shifted(x, y) = 0;
        shifted(x, y) += input(clamp(x + table(k), 0, n - 1), y);
        scattered(x, y) = 0;
        scattered(x, y) += input(clamp(clamped(x, y) + table(k), 0, n - 1), y);

        output(x, y) = stored(x, y) + promised(x, y) + used(x, y) + typed(x, y) + counts(3, x, y) + read(x, y) +
                       rows(x, y) + sums(x, y) + mixed(x, y) + shifted(x, y) + scattered(x, y);

        input.set_estimates({{0, n}, {0, n}});
        letters.set_estimates({{0, 256}});
        output.set_estimates({{0, n}, {0, n}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Lookups, lookups)
