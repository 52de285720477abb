// What checking and timing must bear: outputs that are not written, memory that outlives an
// execution, buffers that are to begin at round addresses, and pipelines that print or say much.

#include "Halide.h"

namespace {

using namespace Halide;

// Without an autoscheduler half of the output is never written.
class Unwritten : public Generator<Unwritten> {
public:
    Input<Buffer<uint8_t, 1>> input{"input"};
    Output<Buffer<void, 1>> output{"output"};  // output.type=int8

    void generate() {
        Var x("x");
        if (using_autoscheduler()) {
            output(x) = cast(output.type(), input(x));
        } else {
            RDom r(0, 32, "r");
            Expr at = r;
            output(x) = undef(output.type());
            output(at) = cast(output.type(), input(at));
        }
        input.set_estimates({{0, 64}});
        output.set_estimates({{0, 64}});
    }
};

// Without an autoscheduler a table is kept from one execution to the next.
class Memoized : public Generator<Memoized> {
public:
    Input<Buffer<uint8_t, 1>> input{"input"};
    Output<Buffer<uint8_t, 1>> output{"output"};

    void generate() {
        Var x("x");
        Func table("table");
        table(x) = cast<uint8_t>(x * x);
        output(x) = input(x) + table(x);
        input.set_estimates({{0, 64}});
        output.set_estimates({{0, 64}});
        if (!using_autoscheduler()) table.compute_root().memoize();
    }
};

class Aligned : public Generator<Aligned> {
public:
    Input<Buffer<uint8_t, 1>> input{"input"};
    Output<Buffer<uint8_t, 1>> output{"output"};

    void generate() {
        Var x("x");
        output(x) = input(x) + 1;
        input.set_host_alignment(4096);
        output.set_host_alignment(8192);
        input.set_estimates({{0, 64}});
        output.set_estimates({{0, 64}});
    }
};

// Writes to standard output.
class Printer : public Generator<Printer> {
public:
    Input<Buffer<uint8_t, 1>> input{"input"};
    Output<Buffer<uint8_t, 1>> output{"output"};

    void generate() {
        Var x("x");
        output(x) = print(input(x), "was read");
        input.set_estimates({{0, 64}});
        output.set_estimates({{0, 64}});
    }
};

HalideExtern_2(int, ftruncate, int, int64_t);
HalideExtern_1(int, raise, int);

// Makes what is said where it runs (descriptor 2) so long, as a hole in a file, and then ends
// where there is a signal.
class Talker : public Generator<Talker> {
public:
    GeneratorParam<int> megabytes{"megabytes", 0};
    GeneratorParam<int> signal{"signal", 0};
    Input<Buffer<uint8_t, 1>> input{"input"};
    Output<Buffer<uint8_t, 1>> output{"output"};

    void generate() {
        Var x("x");
        const int length = megabytes, last = signal;
        Expr none = ftruncate(Expr(2), Expr((int64_t)length << 20));
        output(x) = input(x) + cast<uint8_t>(raise(none + last));
        input.set_estimates({{0, 64}});
        output.set_estimates({{0, 64}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Unwritten, unwritten)
HALIDE_REGISTER_GENERATOR(Memoized, memoized)
HALIDE_REGISTER_GENERATOR(Aligned, aligned)
HALIDE_REGISTER_GENERATOR(Printer, printer)
HALIDE_REGISTER_GENERATOR(Talker, talker)
