// Kinds of sums of products, with a schedule by hand each.

#include "Halide.h"

namespace {

using namespace Halide;

// A layer of a network over a volume: 3 by 3 by 3, sixteen channels to as many.
class Volume : public Generator<Volume> {
public:
    Input<Buffer<float, 4>> input{"input"};      // channel, x, y, z
    Input<Buffer<float, 5>> weights{"weights"};  // to, from, x, y, z
    Output<Buffer<float, 4>> output{"output"};

    void generate() {
        Var c("c"), x("x"), y("y"), z("z"), xi("xi");
        RDom r(0, channels, 0, 3, 0, 3, 0, 3);
        Func sum("sum");
        sum(c, x, y, z) += weights(c, r.x, r.y, r.z, r.w) * input(r.x, x + r.y, y + r.z, z + r.w);
        output(c, x, y, z) = max(sum(c, x, y, z), 0.f);
        output.dim(0).set_bounds(0, channels);
        input.set_estimates({{0, channels}, {0, 50}, {0, 50}, {0, 34}});
        weights.set_estimates({{0, channels}, {0, channels}, {0, 3}, {0, 3}, {0, 3}});
        output.set_estimates({{0, channels}, {0, 48}, {0, 48}, {0, 32}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.bound(c, 0, channels)
            .split(x, x, xi, vec >= channels ? 12 : 4)
            .reorder(c, xi, x, y, z)
            .vectorize(c, vec)
            .unroll(c)
            .unroll(xi)
            .parallel(z);
        sum.compute_at(output, x).vectorize(c, vec).unroll(c).unroll(x);
        sum.update().reorder(c, x, r.x, r.y, r.z, r.w, y, z).vectorize(c, vec).unroll(c).unroll(x).unroll(r.x, 2);
    }

private:
    static constexpr int channels = 16;
};

// A sparse matrix of as many values in every row, times a dense one of 32 columns.
class SparseColumns : public Generator<SparseColumns> {
public:
    Input<Buffer<int32_t, 2>> places{"places"};  // which, row
    Input<Buffer<float, 2>> values{"values"};    // which, row
    Input<Buffer<float, 2>> dense{"dense"};      // column, place
    Output<Buffer<float, 2>> output{"output"};   // column, row

    void generate() {
        Var n("n"), row("row"), ri("ri");
        RDom k(0, filled);
        Func sum("sum");
        sum(n, row) += values(k, row) * dense(n, clamp(places(k, row), 0, 4095));
        output(n, row) = sum(n, row);
        output.dim(0).set_bounds(0, columns);
        places.set_estimates({{0, filled}, {0, 8192}});
        values.set_estimates({{0, filled}, {0, 8192}});
        dense.set_estimates({{0, columns}, {0, 4096}});
        output.set_estimates({{0, columns}, {0, 8192}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.bound(n, 0, columns).split(row, row, ri, 256).parallel(row).vectorize(n, vec).unroll(n);
        sum.compute_at(output, ri).vectorize(n, vec).unroll(n);
        sum.update().reorder(n, k, row).vectorize(n, vec).unroll(n);
    }

private:
    static constexpr int filled = 24, columns = 32;
};

// A 3 by 3 layer of 64 channels by Winograd's F(2x2, 3x3): A. Lavin and S. Gray, "Fast
// algorithms for convolutional neural networks", CVPR 2016. The weights are transformed.
class Winograd : public Generator<Winograd> {
public:
    Input<Buffer<float, 3>> input{"input"};      // channel, x, y
    Input<Buffer<float, 4>> weights{"weights"};  // to, from, 4 by 4
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        Var c("c"), x("x"), y("y"), i("i"), j("j"), k("k"), xi("xi"), ki("ki"), yi("yi");
        Func in = BoundaryConditions::constant_exterior(input, 0.f, {{Expr(), Expr()}, {0, size}, {0, size}});
        Func rows("rows"), tile("tile"), product("product"), half("half");
        auto along = [](const Expr &index, auto at) { return mux(index, {at(0) - at(2), at(1) + at(2), at(2) - at(1), at(1) - at(3)}); };
        rows(c, x, y, i) = along(i, [&](int q) { return in(c, 2 * x + q - 1, y); });
        tile(c, x, y, i, j) = along(j, [&](int q) { return rows(c, x, 2 * y + q - 1, i); });
        RDom r(0, channels);
        product(k, x, y, i, j) += weights(k, r, i, j) * tile(r, x, y, i, j);
        auto back = [](const Expr &index, auto at) { return mux(index, {at(0) + at(1) + at(2), at(1) - at(2) - at(3)}); };
        half(k, x, y, i, j) = back(i, [&](int q) { return product(k, x, y, q, j); });
        output(k, x, y) = max(back(y % 2, [&](int q) { return half(k, x / 2, y / 2, x % 2, q); }), 0.f);
        output.dim(0).set_bounds(0, channels);
        input.set_estimates({{0, channels}, {0, size}, {0, size}});
        weights.set_estimates({{0, channels}, {0, channels}, {0, 4}, {0, 4}});
        output.set_estimates({{0, channels}, {0, size}, {0, size}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.bound(k, 0, channels)
            .align_bounds(x, 2)
            .align_bounds(y, 2)
            .split(y, y, yi, 2)
            .reorder(k, x, yi, y)
            .unroll(yi)
            .unroll(x, 2)
            .vectorize(k, vec)
            .parallel(y);
        product.compute_at(output, y).vectorize(k, vec);
        product.update()
            .split(k, k, ki, 2 * vec)
            .split(x, x, xi, 4, TailStrategy::GuardWithIf)
            .reorder(ki, xi, r, x, k, y, i, j)
            .vectorize(ki, vec)
            .unroll(ki)
            .unroll(xi);
        tile.compute_at(output, y).bound(i, 0, 4).bound(j, 0, 4).reorder(j, i, c, x, y).unroll(i).unroll(j).vectorize(c, vec);
        rows.compute_at(tile, x).bound(i, 0, 4).reorder(i, c, x, y).unroll(i).vectorize(c, vec);
        half.compute_at(output, x).vectorize(k, vec);
    }

private:
    static constexpr int channels = 64, size = 56;
};

// One step of a decoder: what one query of each of eight heads looks up of 2,048 keys.
class DecodeStep : public Generator<DecodeStep> {
public:
    Input<Buffer<float, 2>> query{"query"};                  // value, head
    Input<Buffer<float, 3>> keys{"keys"}, values{"values"};  // value, time, head
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var d("d"), t("t"), h("h"), u("u");
        RDom rd(0, width), rt(0, times);
        Func score("score"), top("top"), weight("weight"), sum("sum"), mean("mean");
        score(t, h) += query(rd, h) * keys(rd, t, h);
        top(h) = -1e30f;
        top(h) = max(top(h), score(rt, h));
        weight(t, h) = fast_exp((score(t, h) - top(h)) * 0.125f);
        sum(h) += weight(rt, h);
        mean(d, h) += weight(rt, h) * values(d, rt, h);
        output(d, h) = mean(d, h) / sum(h);
        output.dim(0).set_bounds(0, width);
        query.set_estimates({{0, width}, {0, heads}});
        keys.set_estimates({{0, width}, {0, times}, {0, heads}});
        values.set_estimates({{0, width}, {0, times}, {0, heads}});
        output.set_estimates({{0, width}, {0, heads}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        RVar ro("ro"), ri("ri");
        output.parallel(h).vectorize(d, vec);
        score.compute_at(output, h).update().split(rd, ro, ri, vec);
        Func part = score.update().rfactor(ri, u);
        part.compute_at(score, t).vectorize(u).update().vectorize(u).unroll(ro);
        score.update().atomic().vectorize(ri);
        top.compute_at(output, h).update().atomic().vectorize(rt, vec);
        weight.compute_at(output, h).vectorize(t, vec);
        sum.compute_at(output, h).update().atomic().vectorize(rt, vec);
        mean.compute_at(output, h).bound(d, 0, width).vectorize(d, vec).unroll(d);
        mean.update().reorder(d, rt, h).vectorize(d, vec).unroll(d);
    }

private:
    static constexpr int width = 64, times = 2048, heads = 8;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Volume, volume)
HALIDE_REGISTER_GENERATOR(SparseColumns, sparse_columns)
HALIDE_REGISTER_GENERATOR(Winograd, winograd)
HALIDE_REGISTER_GENERATOR(DecodeStep, decode_step)
