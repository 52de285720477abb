// Kinds of pipelines that update their own points, with a schedule by hand each: a state is
// made of the one before, or a part of a picture of what it was.

#include "Halide.h"

namespace {

using namespace Halide;

constexpr int kTasks = 32;

// Heat that spreads over a plate, all its steps in one Func.
class Plate : public Generator<Plate> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        const int n = 512, steps = 20;
        Var x("x"), y("y"), t("t");
        Func u("u");
        RDom r(1, n - 2, 1, n - 2, 1, steps, "r");
        auto before = [&](int dx, int dy) { return u(r.x + dx, r.y + dy, r.z - 1); };
        u(x, y, t) = input(x, y);
        u(r.x, r.y, r.z) = before(0, 0) + 0.2f * (before(-1, 0) + before(1, 0) + before(0, -1) + before(0, 1) - 4.0f * before(0, 0));
        output(x, y) = u(x, y, steps);
        input.set_estimates({{0, n}, {0, n}});
        output.set_estimates({{0, n}, {0, n}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.vectorize(x, vec).parallel(y, kTasks);
        u.compute_root().vectorize(x, vec).parallel(t);
        u.update().allow_race_conditions().vectorize(r.x, vec).parallel(r.y, 2 * kTasks);
    }
};

// A picture whose inside is sharpened; its border stays as it is.
class Inside : public Generator<Inside> {
public:
    Input<Buffer<uint8_t, 2>> input{"input"};
    Output<Buffer<uint8_t, 2>> output{"output"};

    void generate() {
        const int width = 1920, height = 1080;
        Var x("x"), y("y");
        RDom r(1, width - 2, 1, height - 2, "r");
        auto at = [&](int dx, int dy) { return cast<int16_t>(input(r.x + dx, r.y + dy)); };
        output(x, y) = input(x, y);
        output(r.x, r.y) = cast<uint8_t>(clamp(2 * at(0, 0) - (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)) / 4, 0, 255));
        input.set_estimates({{0, width}, {0, height}});
        output.set_estimates({{0, width}, {0, height}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<uint8_t>();
        output.vectorize(x, vec).parallel(y, kTasks);
        output.update().vectorize(r.x, vec / 2).parallel(r.y, kTasks);
    }
};

// Stereo: along each row the cost of each disparity is that of the pixel and half of the least
// of its neighbours' before; the disparity of the least.
class Disparity : public Generator<Disparity> {
public:
    Input<Buffer<uint8_t, 2>> left{"left"};
    Input<Buffer<uint8_t, 2>> right{"right"};
    Output<Buffer<uint8_t, 2>> output{"output"};

    void generate() {
        const int width = 640, height = 480, disparities = 32;
        Var d("d"), x("x"), y("y");
        Func bounded = BoundaryConditions::repeat_edge(right);
        Func cost("cost"), path("path"), best("best");
        cost(d, x, y) = cast<int16_t>(absd(left(x, y), bounded(x - d, y)));
        RDom r(0, disparities, 1, width - 1, "r"), k(0, disparities, "k");
        path(d, x, y) = cast<int16_t>(0);
        path(d, 0, y) = cost(d, 0, y);
        Expr more = path(min(r.x + 1, disparities - 1), r.y - 1, y), fewer = path(max(r.x - 1, 0), r.y - 1, y);
        Expr least = min(path(r.x, r.y - 1, y), min(more, fewer) + cast<int16_t>(8));
        path(r.x, r.y, y) = cost(r.x, r.y, y) + least / cast<int16_t>(2);
        best(x, y) = Tuple(cast<int16_t>(32767), cast<uint8_t>(0));
        Expr nearer = path(k, x, y) < best(x, y)[0];
        best(x, y) = Tuple(min(best(x, y)[0], path(k, x, y)), select(nearer, cast<uint8_t>(k), best(x, y)[1]));
        output(x, y) = best(x, y)[1];
        for (auto *image : {&left, &right}) image->set_estimates({{0, width}, {0, height}});
        output.set_estimates({{0, width}, {0, height}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<int16_t>();
        output.parallel(y).vectorize(x, vec);
        path.compute_at(output, y).vectorize(d, vec);
        path.update(0).vectorize(d, vec);
        path.update(1).allow_race_conditions().vectorize(r.x, vec);
        best.compute_at(output, x).vectorize(x);
        best.update().reorder(x, k).vectorize(x);
    }
};

// The likeliest way through 64 states: how likely each is at each time.
class Likeliest : public Generator<Likeliest> {
public:
    Input<Buffer<float, 2>> step{"step"};
    Input<Buffer<float, 2>> seen{"seen"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        const int states = 64, times = 256;
        Var s("state"), t("time");
        Func score("score");
        RDom r(0, states, 0, states, 1, times - 1, "r");
        score(s, t) = select(t == 0, seen(s, 0), -1e30f);
        score(r.x, r.z) = max(score(r.x, r.z), score(r.y, r.z - 1) + step(r.x, r.y) + seen(r.x, r.z));
        output(s, t) = score(s, t);
        step.set_estimates({{0, states}, {0, states}});
        seen.set_estimates({{0, states}, {0, times}});
        output.set_estimates({{0, states}, {0, times}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.vectorize(s, vec);
        score.compute_root().vectorize(s, vec);
        score.update().allow_race_conditions().vectorize(r.x, vec);
    }
};

// How likely each of 64 hidden states is by what was seen until then, in several sequences.
class Forward : public Generator<Forward> {
public:
    Input<Buffer<float, 2>> step{"step"};
    Input<Buffer<float, 3>> seen{"seen"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        const int states = 64, times = 200, sequences = 16;
        Var s("state"), t("time"), n("sequence");
        Func chance("chance");
        RDom r(0, states, 0, states, 1, times - 1, "r");
        chance(s, t, n) = select(t == 0, seen(s, 0, n), 0.f);
        chance(r.y, r.z, n) += chance(r.x, r.z - 1, n) * step(r.x, r.y) * seen(r.y, r.z, n) * 2.f;
        output(s, n) = chance(s, times - 1, n);
        step.set_estimates({{0, states}, {0, states}});
        seen.set_estimates({{0, states}, {0, times}, {0, sequences}});
        output.set_estimates({{0, states}, {0, sequences}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        Func turned = step.in();
        turned.compute_root().reorder_storage(turned.args()[1], turned.args()[0]);
        output.parallel(n).vectorize(s, vec);
        chance.compute_at(output, n).vectorize(s, vec);
        chance.update().allow_race_conditions().vectorize(r.y, vec);
    }
};

// A layer of 256 channels, each with a state of 16 numbers that every step decays and feeds.
class StateSpace : public Generator<StateSpace> {
public:
    Input<Buffer<float, 2>> x{"x"};
    Input<Buffer<float, 2>> step{"step"};
    Input<Buffer<float, 2>> rate{"rate"};
    Input<Buffer<float, 2>> enter{"enter"};
    Input<Buffer<float, 2>> leave{"leave"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        const int channels = 256, states = 16, steps = 128;
        Var d("d"), n("n"), t("t");
        RDom r(1, steps - 1), k(0, states);
        Func decay("decay"), fed("fed"), state("state"), sum("sum");
        decay(d, n, t) = fast_exp(step(d, t) * rate(d, n));
        fed(d, n, t) = step(d, t) * enter(n, t) * x(d, t);
        state(d, n, t) = fed(d, n, t);
        state(d, n, r) += decay(d, n, r) * state(d, n, r - 1);
        sum(d, t) += state(d, k, t) * leave(k, t);
        output(d, t) = sum(d, t);
        x.set_estimates({{0, channels}, {0, steps}});
        step.set_estimates({{0, channels}, {0, steps}});
        rate.set_estimates({{0, channels}, {0, states}});
        enter.set_estimates({{0, states}, {0, steps}});
        leave.set_estimates({{0, states}, {0, steps}});
        output.set_estimates({{0, channels}, {0, steps}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        Var strip("strip");
        output.split(d, strip, d, vec).reorder(d, t, strip).parallel(strip).vectorize(d);
        state.compute_at(output, strip).reorder(d, n, t).vectorize(d, vec);
        state.update().reorder(d, n, r).vectorize(d, vec);
        sum.compute_at(output, t).vectorize(d, vec).update().reorder(d, k).vectorize(d, vec);
    }
};

// Poisson's equation, one V of multigrid: two sweeps on each of three grids, each half as fine as
// the one before, and two more on the way back. Outside everything is zero.
class Multigrid : public Generator<Multigrid> {
public:
    Input<Buffer<float, 2>> guess{"guess"};
    Input<Buffer<float, 2>> source{"source"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        const int finest = 512, grids = 3;
        Func u("u"), f("f");
        u(x, y) = guess(x, y);
        f(x, y) = source(x, y);
        std::vector<Func> swept, sources;
        for (int grid = 0; grid < grids; grid++) {
            const int n = finest >> grid;
            u = sweep(sweep(u, f, n), f, n);
            swept.push_back(u);
            sources.push_back(f);
            if (grid + 1 == grids) break;
            Func left("left"), coarse("coarse"), zero("zero");
            left(x, y) = f(x, y) - neighbours(within(u, n)) + 4.f * u(x, y);
            coarse(x, y) = left(2 * x, 2 * y) + left(2 * x + 1, 2 * y) + left(2 * x, 2 * y + 1) + left(2 * x + 1, 2 * y + 1);
            zero(x, y) = 0.f;
            stages.push_back(coarse);
            f = coarse;
            u = zero;
        }
        for (int grid = grids - 2; grid >= 0; grid--) {
            const int n = finest >> grid;
            Func corrected("corrected");
            corrected(x, y) = swept[grid](x, y) + u(x / 2, y / 2);
            stages.push_back(corrected);
            u = sweep(sweep(corrected, sources[grid], n), sources[grid], n);
        }
        output(x, y) = u(x, y);
        guess.set_estimates({{0, finest}, {0, finest}});
        source.set_estimates({{0, finest}, {0, finest}});
        output.set_estimates({{0, finest}, {0, finest}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        for (Func g : stages) g.compute_root().parallel(y, 16).vectorize(x, vec);
        output.parallel(y, 16).vectorize(x, vec);
    }

private:
    Var x{"x"}, y{"y"};
    std::vector<Func> stages;

    // What is zero outside n by n points.
    Func within(Func f, int n) {
        Func inside("inside");
        inside(x, y) = select(x < 0 || y < 0 || x >= n || y >= n, 0.f, f(clamp(x, 0, n - 1), clamp(y, 0, n - 1)));
        return inside;
    }

    Expr neighbours(Func f) { return f(x - 1, y) + f(x + 1, y) + f(x, y - 1) + f(x, y + 1); }

    // A damped Jacobi sweep.
    Func sweep(Func u, Func f, int n) {
        Func inside = within(u, n), next("next");
        next(x, y) = 0.2f * inside(x, y) + 0.2f * (neighbours(inside) - f(x, y));
        stages.push_back(next);
        return next;
    }
};

// An echo in a room: three combs, each of which hears itself again after a while, added up,
// and their sum smeared by an all-pass of the same kind.
class Echo : public Generator<Echo> {
public:
    Input<Buffer<float, 2>> input{"input"};  // sample, track
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        const int samples = 16384, tracks = 32, delays[] = {1422, 1491, 1557}, smear = 341;
        Var t("t"), c("c");
        std::vector<Func> combs;
        std::vector<RDom> rows;
        Expr sum = 0.0f;
        for (int delay : delays) {
            Func comb("comb" + std::to_string(delay));
            RDom r(delay, samples - delay, "r" + std::to_string(delay));
            comb(t, c) = input(t, c);
            comb(r, c) += 0.8f * comb(r - delay, c);
            sum += comb(t, c);
            combs.push_back(comb);
            rows.push_back(r);
        }
        Func all("all"), wet("wet");
        RDom s(smear, samples - smear, "s");
        all(t, c) = sum / 3.0f;
        wet(t, c) = -0.6f * all(t, c);
        wet(s, c) += all(s - smear, c) + 0.6f * wet(s - smear, c);
        output(t, c) = 0.75f * input(t, c) + 0.25f * wet(t, c);
        input.set_estimates({{0, samples}, {0, tracks}});
        output.set_estimates({{0, samples}, {0, tracks}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.vectorize(t, vec).parallel(c);
        for (size_t i = 0; i < combs.size(); i++) {
            combs[i].compute_at(output, c).vectorize(t, vec).update().allow_race_conditions().vectorize(rows[i].x, vec);
        }
        all.compute_at(output, c).vectorize(t, vec);
        wet.compute_at(output, c).vectorize(t, vec).update().allow_race_conditions().vectorize(s.x, vec);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Plate, plate)
HALIDE_REGISTER_GENERATOR(Inside, inside)
HALIDE_REGISTER_GENERATOR(Disparity, disparity)
HALIDE_REGISTER_GENERATOR(Likeliest, likeliest)
HALIDE_REGISTER_GENERATOR(Forward, forward)
HALIDE_REGISTER_GENERATOR(StateSpace, state_space)
HALIDE_REGISTER_GENERATOR(Multigrid, multigrid)
HALIDE_REGISTER_GENERATOR(Echo, echo)
