// Updates whose reduction loops are independent of each other, or are not.
#include "Halide.h"

namespace {

using namespace Halide;

class Recurrences : public Generator<Recurrences> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        const int n = 64;

        // Each row is made of the one before: neighbours in a row are independent.
        Func path("path");
        RDom p(0, n, 1, n - 1, "p");
        path(x, y) = input(x, y);
        path(p.x, p.y) = input(p.x, p.y) + min(path(p.x, p.y - 1), path(max(p.x - 1, 0), p.y - 1));

        // The same from all states before, of which the order counts.
        Func best("best");
        RDom b(0, n, 0, n, 1, n - 1, "b");
        best(x, y) = input(x, y);
        best(b.x, b.z) = max(best(b.x, b.z) * 0.5f, best(b.y, b.z - 1) + input(b.x, b.y));

        // As before, but through the states that a step comes from first.
        Func next("next");
        RDom c(0, n, 0, n, 1, n - 1, "c");
        next(x, y) = input(x, y);
        next(c.y, c.z) = max(next(c.y, c.z) * 0.5f, next(c.x, c.z - 1) + input(c.x, c.y));

        // Each row is summed up by itself: rows are independent, whatever columns do.
        Func running("running");
        RDom s(1, n - 1, 0, n, "s");
        running(x, y) = input(x, y);
        running(s.x, s.y) += running(s.x - 1, s.y);

        // All of the inside, in any order.
        Func inside("inside");
        RDom i(1, n - 2, 1, n - 2, "i");
        inside(x, y) = input(x, y);
        inside(i.x, i.y) = (input(i.x - 1, i.y) + input(i.x + 1, i.y) + input(i.x, i.y - 1) + input(i.x, i.y + 1)) * 0.25f;

        // Every other one, which lie apart; and a place that the data say.
        Func others("others");
        RDom e(0, n / 2, 0, n / 2, "e");
        others(x, y) = input(x, y);
        others(2 * e.x, 2 * e.y + 1) = 0.f;
        others(clamp(cast<int>(input(e.x, e.y)), 0, n - 1), e.y) += 1.f;

        // A place that the data say and the one beside it: those of different data may be one.
        Func spread("spread");
        RDom d(0, n, 0, 2, "d");
        spread(x, y) = input(x, y);
        spread(clamp(cast<int>(input(d.x, 0)), 0, n - 2) + d.y, 0) += 1.f;

        // Points of two colours in turns, each made of its neighbours, which have the other; and
        // columns in turns, each made of the one before of its own.
        Func turns("turns"), stripes("stripes");
        RDom m(1, n - 2, 1, n - 2, 0, 2, "m");
        m.where((m.x + m.y) % 2 == m.z);
        turns(x, y) = input(x, y);
        turns(m.x, m.y) = 0.5f * turns(m.x, m.y) + 0.125f * (turns(m.x - 1, m.y) + turns(m.x + 1, m.y) + turns(m.x, m.y - 1) + turns(m.x, m.y + 1));
        RDom w(2, n - 2, 1, n - 1, 0, 2, "w");
        w.where(w.x % 2 == w.z);
        stripes(x, y) = input(x, y);
        stripes(w.x, w.y) += stripes(w.x, w.y - 1) + stripes(w.x - 2, w.y);

        // Echoes: of what was there twenty points before, which is longer than a vector, and five.
        Func echo("echo"), flutter("flutter");
        RDom g(20, n - 20, "g"), h(0, n - 5, "h");
        echo(x, y) = input(x, y);
        echo(g, y) += 0.5f * echo(g - 20, y);
        flutter(x, y) = input(x, y);
        flutter(h + 5, y) += 0.5f * flutter(h, y);

        // Steps in time, of which each is worth having several cores at it.
        Func steps("steps");
        Var t("t");
        RDom k(1, 254, 1, 254, 1, 3, "k");
        steps(x, y, t) = cast<float>(x + y);
        steps(k.x, k.y, k.z) = 0.5f * steps(k.x, k.y, k.z - 1) + 0.25f * (steps(k.x - 1, k.y, k.z - 1) + steps(k.x, k.y + 1, k.z - 1));

        output(x, y) = path(x, y) + best(x, y) + next(x, y) + running(x, y) + inside(x, y) + others(x, y) +
                       spread(x, y) + turns(x, y) + stripes(x, y) + echo(x, y) + flutter(x, y) + steps(x, y, 3);

        input.set_estimates({{0, n}, {0, n}});
        output.set_estimates({{0, n}, {0, n}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Recurrences, recurrences)
