// Pipelines so small that all their schedules can be tried.

#include "Halide.h"

namespace {

using namespace Halide;

// A stencil over rows, without a boundary condition, of a Func that reads the input.
class Rows : public Generator<Rows> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        Func twice("twice");
        twice(x, y) = 2.0f * input(x, y);
        output(x, y) = twice(x, y) + twice(x, y + 1) + twice(x, y + 2);
        input.set_estimates({{0, 8}, {0, 10}});
        output.set_estimates({{0, 8}, {0, 8}});
    }
};

// A chain of three Funcs in one dimension, with a boundary condition at its end.
class Chain : public Generator<Chain> {
public:
    Input<Buffer<float, 1>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var x("x");
        Func bounded = BoundaryConditions::repeat_edge(input);
        Func difference("difference"), square("square");
        difference(x) = bounded(x + 1) - bounded(x - 1);
        square(x) = difference(x) * difference(x);
        output(x) = square(x) + square(x + 1);
        input.set_estimates({{0, 24}});
        output.set_estimates({{0, 24}});
    }
};

// A chain of three Funcs in one dimension without a boundary condition.
class Open : public Generator<Open> {
public:
    Input<Buffer<float, 1>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var x("x");
        Func near("near"), far("far");
        near(x) = input(x) + input(x + 1);
        far(x) = near(x) * near(x + 2);
        output(x) = far(x) + far(x + 1);
        input.set_estimates({{0, 26}});
        output.set_estimates({{0, 22}});
    }
};

// A reduction over rows, read twice.
class Sums : public Generator<Sums> {
public:
    Input<Buffer<int32_t, 2>> input{"input"};
    Output<Buffer<int32_t, 1>> output{"output"};

    void generate() {
        Var x("x");
        RDom r(0, 6, "r");
        Func sum("sum");
        sum(x) = 0;
        sum(x) += input(x, r);
        output(x) = sum(x) + sum(x + 1);
        input.set_estimates({{0, 65}, {0, 6}});
        output.set_estimates({{0, 64}});
    }
};

// Channels that have nothing to do with each other.
class Channels : public Generator<Channels> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), c("c");
        Func near("near"), sum("sum");
        near(x, c) = input(x, c) + input(x + 1, c);
        sum(x, c) = near(x, c) * near(x + 2, c);
        output(x, c) = sum(x, c) * sum(x + 1, c);
        input.set_estimates({{0, 16}, {0, 3}});
        output.set_estimates({{0, 12}, {0, 3}});
    }
};

// Three taps, which nearly fill a vector of four.
class Taps : public Generator<Taps> {
public:
    Input<Buffer<float, 1>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var x("x"), t("t");
        Func near = BoundaryConditions::repeat_edge(input), taps("taps");
        taps(x, t) = near(x + t) * (t + 2);
        output(x) = taps(x, 0) + taps(x, 1) * taps(x, 2);
        input.set_estimates({{0, 16}});
        output.set_estimates({{0, 16}});
    }
};

// Histograms of what lies near, which scatter.
class Bins : public Generator<Bins> {
public:
    Input<Buffer<uint8_t, 1>> input{"input"};
    Output<Buffer<int32_t, 1>> output{"output"};

    void generate() {
        Var x("x"), b("b");
        RDom r(0, 3, "r");
        Func counts("counts");
        counts(x, b) = 0;
        counts(x, cast<int>(input(x + r) % 4)) += r + 1;
        output(x) = counts(x, 0) * counts(x, 1) + counts(x, 2) * counts(x, 3);
        input.set_estimates({{0, 18}});
        output.set_estimates({{0, 16}});
    }
};

// Sums of windows by a reduction, which slide.
class Windows : public Generator<Windows> {
public:
    Input<Buffer<int32_t, 2>> input{"input"};
    Output<Buffer<int32_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        RDom r(0, 3, "r");
        Func sum("sum");
        sum(x, y) = 0;
        sum(x, y) += (r + 1) * input(x + r, y);
        output(x, y) = sum(x, y) + 2 * sum(x, y + 1);
        input.set_estimates({{0, 10}, {0, 7}});
        output.set_estimates({{0, 8}, {0, 6}});
    }
};

// What lies around a point against the point itself: of what is read one end stays where it is
// while a reduction moves the other.
class Around : public Generator<Around> {
public:
    Input<Buffer<uint8_t, 1>> input{"input"};
    Output<Buffer<int32_t, 1>> output{"output"};

    void generate() {
        Var x("x");
        RDom r(-1, 3, "r");
        Func square("square"), apart("apart");
        square(x) = cast<int32_t>(input(x)) * input(x);
        apart(x) = 0;
        apart(x) += (r + 2) * (square(x) - square(x + r));
        output(x) = apart(x);
        input.set_estimates({{-1, 26}});
        output.set_estimates({{0, 24}});
    }
};

// Histograms of windows, which slide by rows.
class Cells : public Generator<Cells> {
public:
    Input<Buffer<uint8_t, 2>> input{"input"};
    Output<Buffer<int32_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y"), b("b");
        RDom r(0, 2, "r");
        Func counts("counts");
        counts(b, x, y) = 0;
        counts(cast<int>(input(x, y + r) % 4), x, y) += r + 1;
        Expr here = counts(0, x, y) * counts(1, x, y) + counts(2, x, y);
        output(x, y) = here - counts(3, x, y + 1);
        input.set_estimates({{0, 4}, {0, 8}});
        output.set_estimates({{0, 4}, {0, 6}});
    }
};

// Sums of products of bytes, of which short vectors add up several at once.
class Dots : public Generator<Dots> {
public:
    Input<Buffer<uint8_t, 2>> input{"input"};
    Input<Buffer<int8_t, 2>> weights{"weights"};
    Output<Buffer<int32_t, 1>> output{"output"};

    void generate() {
        Var x("x");
        RDom r(0, 8, "r");
        Func sums("sums");
        sums(x) = 3;
        sums(x) += cast<int32_t>(input(r, x)) * cast<int32_t>(weights(x, r));
        output(x) = sums(x) / 2;
        input.set_estimates({{0, 8}, {0, 64}});
        weights.set_estimates({{0, 64}, {0, 8}});
        output.set_estimates({{0, 64}});
    }
};

// Rows that are added up, of something that is computed first.
class Totals : public Generator<Totals> {
public:
    Input<Buffer<int32_t, 2>> input{"input"};
    Output<Buffer<int32_t, 1>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        RDom r(0, 8, "r");
        Func squares("squares"), totals("totals");
        squares(x, y) = input(x, y) * input(x, y);
        totals(y) = 1;
        totals(y) += squares(r, y);
        output(y) = totals(y) + input(0, y);
        input.set_estimates({{0, 8}, {0, 18}});
        output.set_estimates({{0, 18}});
    }
};

// Two outputs that share a Func, of which one is a reduction and reads another Func of
// its own.
class Pair : public Generator<Pair> {
public:
    Input<Buffer<int32_t, 2>> input{"input"};
    Output<Buffer<int32_t, 1>> sums{"sums"};
    Output<Buffer<int32_t, 1>> steps{"steps"};

    void generate() {
        Var x("x"), y("y");
        RDom r(0, 3, "r");
        Func shared("shared"), own("own");
        shared(x) = input(x, 0) - input(x + 1, 0);
        own(x, y) = input(x, y) * input(x + 2, y);
        sums(x) = shared(x);
        sums(x) += own(x, r);
        steps(x) = shared(x) + shared(x + 1);
        input.set_estimates({{0, 18}, {0, 3}});
        sums.set_estimates({{0, 16}});
        steps.set_estimates({{0, 16}});
    }
};

// Dimensions called what Halide calls parts of loops and their bounds.
class Named : public Generator<Named> {
public:
    Input<Buffer<float, 1>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var s("s"), max("max");
        RDom r(0, 3);
        Func total("total");
        total(s) = 0.0f;
        total(s) += input(s + r);
        output(s, max) = total(s) + cast<float>(max);
        input.set_estimates({{0, 18}});
        output.set_estimates({{0, 16}, {0, 6}});
    }
};

// Rows each made of the one before, whose points are independent; and the inside of a row,
// in any order.
class Steps : public Generator<Steps> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        RDom t(0, 8, 1, 2, "t"), i(1, 6, "i");
        Func state("state"), inside("inside");
        state(x, y) = input(x, y);
        state(t.x, t.y) = input(t.x, t.y) + max(state(t.x, t.y - 1), state(max(t.x - 1, 0), t.y - 1));
        inside(x) = input(x, 0);
        inside(i) += input(i - 1, 0) + input(i + 1, 0);
        output(x, y) = state(x, y) + inside(x);
        input.set_estimates({{0, 8}, {0, 3}});
        output.set_estimates({{0, 8}, {0, 3}});
    }
};

// Steps that go through the states they come from first, and need something of each.
class Before : public Generator<Before> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        RDom t(0, 4, 0, 8, 1, 2, "t");
        Func weight("weight"), state("state");
        weight(x, y) = input(x, y) * 0.5f;
        state(x, y) = input(x, y);
        state(t.y, t.z) = max(state(t.y, t.z), state(t.x, t.z - 1) + weight(t.x, t.y));
        output(x, y) = state(x, y);
        input.set_estimates({{0, 8}, {0, 8}});
        output.set_estimates({{0, 8}, {0, 3}});
    }
};

// Sums as long as the data have them.
class Ragged : public Generator<Ragged> {
public:
    Input<Buffer<uint8_t, 1>> lengths{"lengths"};
    Input<Buffer<float, 1>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var x("x");
        Func end("end"), sums("sums");
        end(x) = lengths(x) % 5;
        RDom r(0, 4, "r");
        r.where(r < end(x));
        sums(x) += input(x + r);
        output(x) = sums(x) * end(x);
        lengths.set_estimates({{0, 16}});
        input.set_estimates({{0, 19}});
        output.set_estimates({{0, 16}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Rows, rows)
HALIDE_REGISTER_GENERATOR(Chain, chain)
HALIDE_REGISTER_GENERATOR(Open, open)
HALIDE_REGISTER_GENERATOR(Sums, sums)
HALIDE_REGISTER_GENERATOR(Channels, channels)
HALIDE_REGISTER_GENERATOR(Taps, taps)
HALIDE_REGISTER_GENERATOR(Bins, bins)
HALIDE_REGISTER_GENERATOR(Dots, dots)
HALIDE_REGISTER_GENERATOR(Totals, totals)
HALIDE_REGISTER_GENERATOR(Pair, pair)
HALIDE_REGISTER_GENERATOR(Named, named)
HALIDE_REGISTER_GENERATOR(Steps, steps)
HALIDE_REGISTER_GENERATOR(Before, before)
HALIDE_REGISTER_GENERATOR(Ragged, ragged)
HALIDE_REGISTER_GENERATOR(Windows, windows)
HALIDE_REGISTER_GENERATOR(Around, around)
HALIDE_REGISTER_GENERATOR(Cells, cells)
