// What writes beside the memory of a Func: by a promise that does not hold, and by a schedule.
#include "Halide.h"

namespace {

using namespace Halide;

// A table that is updated at up to thirty-one places beyond its end: Halide makes no room
// for these, on the heap, as how many others there are is not known when it compiles.
class Overrun : public Generator<Overrun> {
public:
    Input<Buffer<uint8_t, 1>> input{"input"};
    Output<Buffer<int32_t, 1>> output{"output"};

    void generate() {
        Var x("x"), i("i");
        Func table("table");
        RDom r(0, 1024, "r");
        table(i) = i;
        table(unsafe_promise_clamped(r + cast<int>(input(r) % 32), 0, 1023)) += 1;
        output(x) = min(table(x), 0) + x;
        input.set_estimates({{0, 1024}});
        output.set_estimates({{0, 1024}});
    }
};

// Sums that two outputs read in several places each. Where a loop over them is split twice
// Halide 19 and 21 leave out the condition that the last tile is not full.
class Gates : public Generator<Gates> {
public:
    Input<Buffer<float, 2>> weights{"weights"};
    Input<Buffer<float, 1>> state{"state"};
    Output<Buffer<float, 1>> cell{"cell"};
    Output<Buffer<float, 1>> next{"next"};

    void generate() {
        Var i("i");
        Func gates("gates");
        RDom k(0, 64, "k");
        gates(i) += weights(k, i) * state(k);
        cell(i) = gates(i) + gates(i + 512) + gates(i + 1024);
        next(i) = cell(i) + gates(i + 1536);
        weights.set_estimates({{0, 64}, {0, 2048}});
        state.set_estimates({{0, 64}});
        cell.set_estimates({{0, 480}});
        next.set_estimates({{0, 480}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Overrun, overrun)
HALIDE_REGISTER_GENERATOR(Gates, gates)
