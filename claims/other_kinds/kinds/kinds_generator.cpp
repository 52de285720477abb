// Kinds of pipelines that the suite has none of, each with a schedule by hand.
#include "Halide.h"

using namespace Halide;

namespace {

constexpr int kTasks = 16;  // rows of a task, where nothing else is said

// A fully connected layer of a network of bytes: both factors are dense along the sum.
class ByteLayer : public Generator<ByteLayer> {
public:
    Input<Buffer<uint8_t, 2>> values{"values"};
    Input<Buffer<uint8_t, 2>> weights{"weights"};
    Input<Buffer<int32_t, 1>> bias{"bias"};
    Output<Buffer<uint8_t, 2>> output{"output"};

    void generate() {
        Var c("c"), b("b");
        RDom k(0, 1024);
        Func sum("sum");
        sum(c, b) = bias(c);
        sum(c, b) += (cast<int32_t>(values(k, b)) - 128) * (cast<int32_t>(weights(k, c)) - 120);
        output(c, b) = cast<uint8_t>(clamp((sum(c, b) >> 12) + 100, 0, 255));
        values.set_estimates({{0, 1024}, {0, 64}});
        weights.set_estimates({{0, 1024}, {0, 1024}});
        bias.set_estimates({{0, 1024}});
        output.set_estimates({{0, 1024}, {0, 64}});
        if (using_autoscheduler()) return;
        Var ci("ci"), bi("bi");
        RVar ko("ko"), ki("ki");
        output.tile(c, b, ci, bi, 4, 4).parallel(c);
        sum.compute_at(output, c).unroll(c).unroll(b);
        sum.update().split(k, ko, ki, natural_vector_size<uint8_t>()).reorder(ki, c, b, ko).unroll(c).unroll(b).atomic().vectorize(ki);
    }
};

// A product of two matrices of bytes.
class ByteProduct : public Generator<ByteProduct> {
public:
    Input<Buffer<uint8_t, 2>> a{"a"};
    Input<Buffer<int8_t, 2>> b{"b"};
    Output<Buffer<int32_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        RDom k(0, 512);
        Func sum("sum");
        sum(x, y) += cast<int32_t>(a(k, y)) * cast<int32_t>(b(x, k));
        output(x, y) = sum(x, y);
        a.set_estimates({{0, 512}, {0, 512}});
        b.set_estimates({{0, 512}, {0, 512}});
        output.set_estimates({{0, 512}, {0, 512}});
        if (using_autoscheduler()) return;
        Var xi("xi"), yi("yi");
        const int vec = natural_vector_size<int32_t>();
        output.tile(x, y, xi, yi, 4 * vec, 4).vectorize(xi, vec).unroll(xi).unroll(yi).parallel(y);
        sum.compute_at(output, x).vectorize(x, vec).unroll(x).unroll(y);
        sum.update().reorder(x, y, k).vectorize(x, vec).unroll(x).unroll(y);
    }
};

// A separable filter of 16 bits, whose taps are given when it runs.
class ShortFilter : public Generator<ShortFilter> {
public:
    Input<Buffer<int16_t, 2>> input{"input"};
    Input<Buffer<int16_t, 1>> taps{"taps"};
    Output<Buffer<int16_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        RDom r(0, 16), q(0, 16);
        Func near = BoundaryConditions::repeat_edge(input);
        Func across("across"), rows("rows"), down("down");
        across(x, y) += cast<int32_t>(near(x + r - 8, y)) * cast<int32_t>(taps(r));
        rows(x, y) = saturating_cast<int16_t>(across(x, y) >> 14);
        down(x, y) += cast<int32_t>(rows(x, y + q - 8)) * cast<int32_t>(taps(q));
        output(x, y) = saturating_cast<int16_t>(down(x, y) >> 14);
        input.set_estimates({{0, 1920}, {0, 1080}});
        taps.set_estimates({{0, 16}});
        output.set_estimates({{0, 1920}, {0, 1080}});
        if (using_autoscheduler()) return;
        Var xi("xi"), yi("yi");
        const int vec = natural_vector_size<int32_t>();
        output.split(y, y, yi, 2 * kTasks).parallel(y).vectorize(x, 2 * vec);
        down.compute_at(output, x).vectorize(x, vec).unroll(x).update().reorder(x, q).vectorize(x, vec).unroll(x).unroll(q);
        rows.store_at(output, y).compute_at(output, yi).split(x, x, xi, 2 * vec).vectorize(xi);
        across.compute_at(rows, x).vectorize(x, vec).unroll(x).update().reorder(x, r).vectorize(x, vec).unroll(x).unroll(r);
    }
};

// What is between two pixels of an image lies a channel apart.
void interleave(OutputImageParam p, int channels) {
    p.dim(0).set_stride(channels);
    p.dim(2).set_stride(1).set_bounds(0, channels);
}

// Blurred and tinted colours.
class InterleavedBlur : public Generator<InterleavedBlur> {
public:
    Input<Buffer<uint8_t, 3>> input{"input"};
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        Var x("x"), y("y"), c("c");
        Func near = BoundaryConditions::repeat_edge(input, {{0, input.width()}, {0, input.height()}});
        Func across("across"), blurred("blurred"), gray("gray");
        across(x, y, c) = cast<uint16_t>(near(x - 1, y, c)) + 2 * cast<uint16_t>(near(x, y, c)) + near(x + 1, y, c);
        blurred(x, y, c) = (across(x, y - 1, c) + 2 * across(x, y, c) + across(x, y + 1, c)) / 16;
        gray(x, y) = 0.299f * blurred(x, y, 0) + 0.587f * blurred(x, y, 1) + 0.114f * blurred(x, y, 2);
        const Expr tint = select(c == 0, 1.07f, c == 1, 0.74f, 0.43f);
        output(x, y, c) = saturating_cast<uint8_t>(0.5f * blurred(x, y, c) + 0.5f * gray(x, y) * tint);
        interleave(input, 3);
        interleave(output, 3);
        input.set_estimates({{0, 1920}, {0, 1080}, {0, 3}});
        output.set_estimates({{0, 1920}, {0, 1080}, {0, 3}});
        if (using_autoscheduler()) return;
        Var yi("yi");
        const int vec = natural_vector_size<float>();
        output.reorder(c, x, y).unroll(c).split(y, y, yi, 2 * kTasks).parallel(y).vectorize(x, vec);
        blurred.compute_at(output, x).reorder(c, x, y).unroll(c).vectorize(x, vec);
        across.store_at(output, y).compute_at(output, yi).reorder(c, x, y).unroll(c).vectorize(x, natural_vector_size<uint16_t>());
    }
};

// One image over another, alpha multiplied in.
class InterleavedOver : public Generator<InterleavedOver> {
public:
    Input<Buffer<uint8_t, 3>> above{"above"};
    Input<Buffer<uint8_t, 3>> below{"below"};
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        Var x("x"), y("y"), c("c");
        const Expr through = cast<uint16_t>(below(x, y, c)) * cast<uint16_t>(255 - above(x, y, 3)) + 128;
        output(x, y, c) = above(x, y, c) + cast<uint8_t>((through + (through >> 8)) >> 8);
        interleave(above, 4);
        interleave(below, 4);
        interleave(output, 4);
        above.set_estimates({{0, 3840}, {0, 2160}, {0, 4}});
        below.set_estimates({{0, 3840}, {0, 2160}, {0, 4}});
        output.set_estimates({{0, 3840}, {0, 2160}, {0, 4}});
        if (using_autoscheduler()) return;
        output.reorder(c, x, y).unroll(c).vectorize(x, natural_vector_size<uint8_t>()).parallel(y, kTasks);
    }
};

// Brightness, and both colours of two by two pixels side by side, made interleaved RGB.
class Nv12 : public Generator<Nv12> {
public:
    Input<Buffer<uint8_t, 2>> brightness{"brightness"};
    Input<Buffer<uint8_t, 3>> colours{"colours"};
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        Var x("x"), y("y"), c("c");
        const Expr u = cast<int32_t>(colours(x / 2, y / 2, 0)) - 128, v = cast<int32_t>(colours(x / 2, y / 2, 1)) - 128;
        const Expr base = (cast<int32_t>(brightness(x, y)) - 16) * 298 + 128;
        output(x, y, c) = saturating_cast<uint8_t>(mux(c, {base + 409 * v, base - 100 * u - 208 * v, base + 516 * u}) >> 8);
        interleave(colours, 2);
        interleave(output, 3);
        brightness.set_estimates({{0, 1920}, {0, 1080}});
        colours.set_estimates({{0, 960}, {0, 540}, {0, 2}});
        output.set_estimates({{0, 1920}, {0, 1080}, {0, 3}});
        if (using_autoscheduler()) return;
        output.reorder(c, x, y).unroll(c).align_bounds(x, 2).align_bounds(y, 2).vectorize(x, natural_vector_size<int16_t>()).parallel(y, kTasks);
    }
};

// An image looked up, between its pixels, where a map says.
class Remap : public Generator<Remap> {
public:
    Input<Buffer<uint8_t, 3>> input{"input"};
    Input<Buffer<float, 3>> where{"where"};
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        Var x("x"), y("y"), c("c");
        const Expr right = input.dim(0).extent() - 2, bottom = input.dim(1).extent() - 2;
        Func left("left"), top("top"), along("along"), down("down");
        const Expr wx = clamp(where(x, y, 0), 0.f, cast<float>(right)), wy = clamp(where(x, y, 1), 0.f, cast<float>(bottom));
        left(x, y) = cast<int32_t>(wx);
        top(x, y) = cast<int32_t>(wy);
        along(x, y) = wx - floor(wx);
        down(x, y) = wy - floor(wy);
        const Expr i = clamp(left(x, y), 0, right), j = clamp(top(x, y), 0, bottom);
        const auto at = [&](const Expr &i, const Expr &j) { return cast<float>(input(i, j, c)); };
        const Expr above = lerp(at(i, j), at(i + 1, j), along(x, y)), below = lerp(at(i, j + 1), at(i + 1, j + 1), along(x, y));
        output(x, y, c) = cast<uint8_t>(lerp(above, below, down(x, y)) + 0.5f);
        interleave(input, 3);
        interleave(output, 3);
        input.set_estimates({{0, 1920}, {0, 1080}, {0, 3}});
        where.set_estimates({{0, 1280}, {0, 720}, {0, 2}});
        output.set_estimates({{0, 1280}, {0, 720}, {0, 3}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.reorder(c, x, y).unroll(c).vectorize(x, vec).parallel(y, kTasks);
        for (Func f : {left, top, along, down}) f.compute_at(output, x).vectorize(x, vec);
    }
};

// Rows made to have the mean 0 and the deviation 1, then scaled and shifted.
class RowNorm : public Generator<RowNorm> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Input<Buffer<float, 1>> scale{"scale"};
    Input<Buffer<float, 1>> shift{"shift"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        RDom k(0, input.width());
        Func mean("mean"), variance("variance"), inverse("inverse");
        const Expr n = cast<float>(input.width());
        mean(y) += input(k, y) / n;
        const Expr off = input(k, y) - mean(y);
        variance(y) += off * off / n;
        inverse(y) = 1.f / sqrt(variance(y) + 1e-5f);
        output(x, y) = (input(x, y) - mean(y)) * inverse(y) * scale(x) + shift(x);
        input.set_estimates({{0, 1024}, {0, 2048}});
        scale.set_estimates({{0, 1024}});
        shift.set_estimates({{0, 1024}});
        output.set_estimates({{0, 1024}, {0, 2048}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.vectorize(x, vec).parallel(y, 2 * kTasks);
        mean.compute_at(output, y).update().atomic().vectorize(k, vec);
        variance.compute_at(output, y).update().atomic().vectorize(k, vec);
        inverse.compute_at(output, y);
    }
};

// Two steps of the heat equation in three dimensions.
class Heat : public Generator<Heat> {
public:
    Input<Buffer<float, 3>> input{"input"};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        Var x("x"), y("y"), z("z");
        const auto step = [&](const Func &f) {
            return 0.4f * f(x, y, z) + 0.1f * (f(x - 1, y, z) + f(x + 1, y, z) + f(x, y - 1, z) + f(x, y + 1, z) + f(x, y, z - 1) + f(x, y, z + 1));
        };
        Func once("once");
        once(x, y, z) = step(BoundaryConditions::repeat_edge(input));
        output(x, y, z) = step(once);
        input.set_estimates({{0, 256}, {0, 256}, {0, 128}});
        output.set_estimates({{0, 256}, {0, 256}, {0, 128}});
        if (using_autoscheduler()) return;
        Var yi("yi"), zi("zi"), yo("yo"), zo("zo");
        const int vec = natural_vector_size<float>();
        output.tile(y, z, yo, zo, yi, zi, 64, kTasks).parallel(zo).vectorize(x, vec);
        once.store_at(output, yo).compute_at(output, zi).vectorize(x, vec);
    }
};

// One step of an LSTM for a batch: four gates, each of two matrix products.
class Lstm : public Generator<Lstm> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Input<Buffer<float, 2>> hidden{"hidden"};
    Input<Buffer<float, 2>> cell{"cell"};
    Input<Buffer<float, 3>> of_input{"of_input"};
    Input<Buffer<float, 3>> of_hidden{"of_hidden"};
    Input<Buffer<float, 2>> bias{"bias"};
    Output<Buffer<float, 2>> next_hidden{"next_hidden"};
    Output<Buffer<float, 2>> next_cell{"next_cell"};

    void generate() {
        Var j("j"), b("b"), g("g");
        RDom k(0, 256), m(0, 256);
        Func gates("gates"), kept("kept");
        gates(j, b, g) = bias(j, g);
        gates(j, b, g) += of_input(j, k, g) * input(k, b);
        gates(j, b, g) += of_hidden(j, m, g) * hidden(m, b);
        const auto open = [&](int gate) { return 1.f / (1.f + exp(-gates(j, b, gate))); };
        kept(j, b) = open(1) * cell(j, b) + open(0) * tanh(gates(j, b, 2));
        next_cell(j, b) = kept(j, b);
        next_hidden(j, b) = open(3) * tanh(kept(j, b));
        for (auto *p : {&input, &hidden, &cell}) p->set_estimates({{0, 256}, {0, 32}});
        for (auto *p : {&of_input, &of_hidden}) p->set_estimates({{0, 256}, {0, 256}, {0, 4}});
        bias.set_estimates({{0, 256}, {0, 4}});
        for (auto *p : {&next_hidden, &next_cell}) p->set_estimates({{0, 256}, {0, 32}});
        if (using_autoscheduler()) return;
        Var ji("ji"), bi("bi");
        const int vec = natural_vector_size<float>();
        next_cell.vectorize(j, vec);
        next_hidden.vectorize(j, vec);
        kept.compute_root().vectorize(j, vec).parallel(b, 8);
        gates.compute_root().parallel(g).vectorize(j, vec);
        gates.update(0).tile(j, b, ji, bi, 4 * vec, 4).reorder(ji, bi, k, j, b, g).vectorize(ji, vec).unroll(ji).unroll(bi).parallel(g);
        gates.update(1).tile(j, b, ji, bi, 4 * vec, 4).reorder(ji, bi, m, j, b, g).vectorize(ji, vec).unroll(ji).unroll(bi).parallel(g);
    }
};

// An image as bright as the mean of its logarithm says, which is a sum of two million floats.
class ToneMap : public Generator<ToneMap> {
public:
    Input<Buffer<float, 3>> input{"input"};
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        Var x("x"), y("y"), c("c"), row("row");
        RDom r(0, input.width(), 0, input.height());
        Func luma("luma"), total("total"), key("key");
        luma(x, y) = 0.2126f * input(x, y, 0) + 0.7152f * input(x, y, 1) + 0.0722f * input(x, y, 2);
        total() += fast_log(luma(r.x, r.y) + 1e-4f);
        key() = 0.18f / fast_exp(total() / cast<float>(input.width() * input.height()));
        output(x, y, c) = saturating_cast<uint8_t>(255.f * input(x, y, c) * key() / (1.f + luma(x, y) * key()));
        input.set_estimates({{0, 1920}, {0, 1080}, {0, 3}});
        output.set_estimates({{0, 1920}, {0, 1080}, {0, 3}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.reorder(c, x, y).bound(c, 0, 3).unroll(c).vectorize(x, vec).parallel(y, kTasks);
        total.compute_root();
        key.compute_root();
        Func rows = total.update().rfactor(r.y, row);
        rows.compute_root().parallel(row, kTasks).update().parallel(row, kTasks).atomic().vectorize(r.x, vec);
    }
};

// Rows that become columns.
class Transpose : public Generator<Transpose> {
public:
    Input<Buffer<uint16_t, 2>> input{"input"};
    Output<Buffer<uint16_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y"), xi("xi"), yi("yi");
        output(x, y) = input(y, x);
        input.set_estimates({{0, 2048}, {0, 2048}});
        output.set_estimates({{0, 2048}, {0, 2048}});
        if (using_autoscheduler()) return;
        const int tile = 16;
        output.tile(x, y, xi, yi, tile, tile).vectorize(xi).unroll(yi).parallel(y, 4);
        input.in(output).compute_at(output, x).vectorize(_0, tile).unroll(_1);
    }
};

// The products of all rows of a wide matrix with each other.
class Gram : public Generator<Gram> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var i("i"), j("j"), ii("ii"), ji("ji");
        RDom n(0, 8192);
        Func sum("sum");
        sum(i, j) += input(n, i) * input(n, j);
        output(i, j) = sum(i, j) / 8192.f;
        input.set_estimates({{0, 8192}, {0, 64}});
        output.set_estimates({{0, 64}, {0, 64}});
        if (using_autoscheduler()) return;
        RVar no("no"), ni("ni");
        output.tile(i, j, ii, ji, 4, 4).parallel(j);
        sum.compute_at(output, i).unroll(i).unroll(j);
        sum.update().split(n, no, ni, natural_vector_size<float>()).reorder(ni, i, j, no).unroll(i).unroll(j).atomic().vectorize(ni);
    }
};

// The nearest of 512 descriptors of 128 bytes.
class Match : public Generator<Match> {
public:
    Input<Buffer<uint8_t, 2>> a{"a"};
    Input<Buffer<uint8_t, 2>> b{"b"};
    Output<Buffer<int32_t, 1>> output{"output"};

    void generate() {
        Var i("i"), j("j"), ii("ii"), jo("jo"), ji("ji");
        RDom k(0, 128), n(0, 512);
        Func distance("distance"), best("best");
        const Expr off = cast<int16_t>(a(k, i)) - cast<int16_t>(b(k, j));
        distance(j, i) += cast<int32_t>(off) * cast<int32_t>(off);
        best(i) = Tuple(0x7fffffff, 0);
        const Expr d = distance(n, i), nearer = d < best(i)[0];
        best(i) = Tuple(select(nearer, d, best(i)[0]), select(nearer, n, best(i)[1]));
        output(i) = best(i)[1];
        a.set_estimates({{0, 128}, {0, 512}});
        b.set_estimates({{0, 128}, {0, 512}});
        output.set_estimates({{0, 512}});
        if (using_autoscheduler()) return;
        RVar ko("ko"), ki("ki");
        output.split(i, i, ii, 8).parallel(i);
        best.compute_at(output, i);
        distance.compute_at(output, i).vectorize(j, natural_vector_size<int32_t>());
        distance.update().split(k, ko, ki, natural_vector_size<int16_t>()).split(j, jo, ji, 4).reorder(ki, ko, ji, jo, i).unroll(ji).atomic().vectorize(ki);
    }
};

// Colours given to the nearest of 16, and the mean of each one's.
class KMeans : public Generator<KMeans> {
public:
    Input<Buffer<uint8_t, 3>> input{"input"};
    Input<Buffer<float, 2>> centres{"centres"};
    Output<Buffer<uint8_t, 2>> label{"label"};
    Output<Buffer<float, 2>> mean{"mean"};

    void generate() {
        Var x("x"), y("y"), c("c"), k("k"), row("row"), xi("xi");
        RDom q(0, 16), r(0, input.width(), 0, input.height());
        Func distance("distance"), best("best"), sums("sums");
        const auto apart = [&](int channel) {
            const Expr d = cast<float>(input(x, y, channel)) - centres(channel, k);
            return d * d;
        };
        distance(x, y, k) = apart(0) + apart(1) + apart(2);
        best(x, y) = Tuple(1e30f, cast<uint8_t>(0));
        const Expr d = distance(x, y, q), nearer = d < best(x, y)[0];
        best(x, y) = Tuple(select(nearer, d, best(x, y)[0]), select(nearer, cast<uint8_t>(q), best(x, y)[1]));
        label(x, y) = best(x, y)[1];
        sums(c, k) = cast<uint32_t>(0);
        sums(c, clamp(cast<int>(label(r.x, r.y)), 0, 15)) += select(c == 3, cast<uint32_t>(1), cast<uint32_t>(input(r.x, r.y, clamp(c, 0, 2))));
        mean(c, k) = cast<float>(sums(c, k)) / cast<float>(max(sums(3, k), 1));
        input.set_estimates({{0, 1280}, {0, 720}, {0, 3}});
        centres.set_estimates({{0, 3}, {0, 16}});
        label.set_estimates({{0, 1280}, {0, 720}});
        mean.set_estimates({{0, 3}, {0, 16}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        label.compute_root().split(x, x, xi, 4 * vec).vectorize(xi).parallel(y, kTasks);
        best.compute_at(label, x).vectorize(x, vec).unroll(x).update().reorder(x, q).vectorize(x, vec).unroll(x);
        sums.compute_root().bound(c, 0, 4).update().reorder(c, r.x, r.y).unroll(c);
        Func rows = sums.update().rfactor(r.y, row);
        rows.compute_root().parallel(row, kTasks).update().reorder(c, r.x, row).unroll(c).parallel(row, kTasks);
        mean.compute_root();
    }
};

// How many steps an orbit takes to leave.
class Mandelbrot : public Generator<Mandelbrot> {
public:
    Input<float> left{"left"};
    Output<Buffer<uint8_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y"), xi("xi");
        RDom t(0, 64);
        Func z("z");
        const Expr re = left + cast<float>(x) * (3.f / 1280), im = cast<float>(y) * (2.f / 720) - 1.f;
        z(x, y) = Tuple(0.f, 0.f, cast<uint8_t>(0));
        const Expr a = z(x, y)[0], b = z(x, y)[1], in = a * a + b * b < 4.f;
        z(x, y) = Tuple(select(in, a * a - b * b + re, a), select(in, 2.f * a * b + im, b), select(in, cast<uint8_t>(t + 1), z(x, y)[2]));
        output(x, y) = z(x, y)[2];
        left.set_estimate(-2.f);
        output.set_estimates({{0, 1280}, {0, 720}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.split(x, x, xi, 4 * vec).vectorize(xi).parallel(y, kTasks);
        z.compute_at(output, x).vectorize(x, vec).unroll(x).update().reorder(x, t).vectorize(x, vec).unroll(x);
    }
};

// A step of a lattice Boltzmann method: nine densities a point, each with a formula of its own.
class Lattice : public Generator<Lattice> {
public:
    Input<Buffer<float, 3>> input{"input"};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        Var x("x"), y("y"), q("q"), xo("xo"), xi("xi");
        const int along[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, down[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
        Func near = BoundaryConditions::repeat_edge(input, {{0, input.width()}, {0, input.height()}});
        Func streamed("streamed"), density("density"), right("right"), bottom("bottom");
        std::vector<Expr> moved, settled;
        for (int i = 0; i < 9; i++) moved.push_back(near(x - along[i], y - down[i], i));
        streamed(x, y, q) = mux(q, moved);
        Expr all = 0.f, x_sum = 0.f, y_sum = 0.f;
        for (int i = 0; i < 9; i++) {
            all += streamed(x, y, i);
            x_sum += (float)along[i] * streamed(x, y, i);
            y_sum += (float)down[i] * streamed(x, y, i);
        }
        density(x, y) = all;
        right(x, y) = x_sum / density(x, y);
        bottom(x, y) = y_sum / density(x, y);
        const Expr u = right(x, y), v = bottom(x, y);
        for (int i = 0; i < 9; i++) {
            const float weight = i == 0 ? 4.f / 9 : i < 5 ? 1.f / 9 : 1.f / 36;
            const Expr towards = 3.f * ((float)along[i] * u + (float)down[i] * v);
            const Expr rest = weight * density(x, y) * (1.f + towards + 0.5f * towards * towards - 1.5f * (u * u + v * v));
            settled.push_back(streamed(x, y, i) + 0.6f * (rest - streamed(x, y, i)));
        }
        output(x, y, q) = mux(q, settled);
        input.set_estimates({{0, 512}, {0, 512}, {0, 9}});
        output.set_estimates({{0, 512}, {0, 512}, {0, 9}});
        if (using_autoscheduler()) return;
        output.bound(q, 0, 9).split(x, xo, xi, natural_vector_size<float>()).reorder(xi, q, xo, y).unroll(q).vectorize(xi).parallel(y, kTasks);
        for (Func f : {density, right, bottom}) f.compute_at(output, xo).vectorize(x);
    }
};

// Normalised rows of a transformer, then pairs of channels turned by an angle of the position.
class Rope : public Generator<Rope> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Input<Buffer<float, 1>> gain{"gain"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var c("c"), t("t"), k("k");
        RDom r(0, 1024);
        Func sq("sq"), norm("norm"), cs("cs"), sn("sn"), freq("freq");
        sq(t) += input(r, t) * input(r, t);
        norm(c, t) = input(c, t) * gain(c) / sqrt(sq(t) / 1024.f + 1e-5f);
        freq(k) = pow(10000.f, -cast<float>(k) / 32.f);
        cs(k, t) = cos(t * freq(k));
        sn(k, t) = sin(t * freq(k));
        Expr pair = (c / 2) % 32;
        output(c, t) = norm(c, t) * cs(pair, t) + select(c % 2 == 0, -norm(c + 1, t), norm(c - 1, t)) * sn(pair, t);
        input.set_estimates({{0, 1024}, {0, 512}});
        gain.set_estimates({{0, 1024}});
        output.set_estimates({{0, 1024}, {0, 512}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        Var ro("ro"), u("u");
        RVar rro("rro"), rri("rri");
        output.vectorize(c, vec).parallel(t, 8);
        freq.compute_root();
        cs.compute_at(output, t).vectorize(k, vec);
        sn.compute_at(output, t).vectorize(k, vec);
        norm.compute_at(output, t).vectorize(c, vec);
        sq.compute_at(output, t);
        Func part = sq.update().split(r, rro, rri, vec).rfactor(rri, u);
        part.compute_at(output, t).vectorize(u).update().reorder(u, rro, t).vectorize(u);
    }
};

// A row of four-bit weights with one scale to every 32, against one vector.
class NibbleGemv : public Generator<NibbleGemv> {
public:
    Input<Buffer<uint8_t, 2>> packed{"packed"};
    Input<Buffer<float, 2>> scale{"scale"};
    Input<Buffer<float, 1>> x{"x"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var n("n"), g("g");
        RDom k(0, 16), gs(0, 64);
        Func block("block"), sum("sum");
        Expr byte = packed(g * 16 + k, n);
        block(g, n) = 0.f;
        block(g, n) += (cast<float>(byte & 15) - 8.f) * x(g * 32 + k) + (cast<float>(byte >> 4) - 8.f) * x(g * 32 + 16 + k);
        sum(n) = 0.f;
        sum(n) += block(gs, n) * scale(gs, n);
        output(n) = sum(n);
        packed.set_estimates({{0, 1024}, {0, 2048}});
        scale.set_estimates({{0, 64}, {0, 2048}});
        x.set_estimates({{0, 2048}});
        output.set_estimates({{0, 2048}});
        if (using_autoscheduler()) return;
        Var ni("ni");
        output.split(n, n, ni, 8).parallel(n);
        sum.compute_at(output, ni);
        block.compute_at(output, ni).update().atomic().vectorize(k);
    }
};

// One level of the reversible 5/3 wavelet by lifting, along rows and then columns.
class Lifting : public Generator<Lifting> {
public:
    Input<Buffer<int16_t, 2>> input{"input"};
    Output<Buffer<int16_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        Func in = BoundaryConditions::mirror_interior(input);
        Func hx("hx"), lx("lx"), row("row"), hy("hy"), ly("ly");
        hx(x, y) = in(2 * x + 1, y) - ((in(2 * x, y) + in(2 * x + 2, y)) >> 1);
        lx(x, y) = in(2 * x, y) + ((hx(x - 1, y) + hx(x, y) + 2) >> 2);
        row(x, y) = select(x < 960, lx(x, y), hx(x - 960, y));
        hy(x, y) = row(x, 2 * y + 1) - ((row(x, 2 * y) + row(x, 2 * y + 2)) >> 1);
        ly(x, y) = row(x, 2 * y) + ((hy(x, y - 1) + hy(x, y) + 2) >> 2);
        output(x, y) = select(y < 540, ly(x, y), hy(x, y - 540));
        input.set_estimates({{0, 1920}, {0, 1080}});
        output.set_estimates({{0, 1920}, {0, 1080}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<int16_t>();
        hx.compute_root().vectorize(x, vec).parallel(y, kTasks);
        lx.compute_root().vectorize(x, vec).parallel(y, kTasks);
        row.compute_root().vectorize(x, vec).parallel(y, kTasks);
        hy.compute_root().vectorize(x, vec).parallel(y, kTasks);
        ly.compute_root().vectorize(x, vec).parallel(y, kTasks);
        output.vectorize(x, vec).parallel(y, kTasks);
    }
};

// Where each block of 16 x 16 has come from, by the least sum of absolute differences within 8 pixels.
class MotionSad : public Generator<MotionSad> {
public:
    Input<Buffer<uint8_t, 2>> now{"now"};
    Input<Buffer<uint8_t, 2>> before{"before"};
    Output<Buffer<int8_t, 3>> output{"output"};

    void generate() {
        Var bx("bx"), by("by"), dx("dx"), dy("dy"), c("c");
        Func prev = BoundaryConditions::repeat_edge(before);
        Func sad("sad"), best("best");
        RDom p(0, 16, 0, 16), s(-8, 17, -8, 17);
        sad(dx, dy, bx, by) = cast<uint16_t>(0);
        sad(dx, dy, bx, by) += cast<uint16_t>(absd(now(bx * 16 + p.x, by * 16 + p.y), prev(bx * 16 + p.x + dx, by * 16 + p.y + dy)));
        best(bx, by) = Tuple(cast<uint16_t>(65535), cast<int8_t>(0), cast<int8_t>(0));
        Expr cand = sad(s.x, s.y, bx, by), better = cand < best(bx, by)[0];
        best(bx, by) = Tuple(select(better, cand, best(bx, by)[0]), select(better, cast<int8_t>(s.x), best(bx, by)[1]), select(better, cast<int8_t>(s.y), best(bx, by)[2]));
        output(bx, by, c) = select(c == 0, best(bx, by)[1], best(bx, by)[2]);
        now.set_estimates({{0, 640}, {0, 352}});
        before.set_estimates({{0, 640}, {0, 352}});
        output.set_estimates({{0, 40}, {0, 22}, {0, 2}});
        if (using_autoscheduler()) return;
        output.bound(c, 0, 2).reorder(c, bx, by).unroll(c).parallel(by);
        best.compute_at(output, bx);
        prev.compute_at(output, bx).vectorize(_0, 16);
        sad.compute_at(output, bx).vectorize(dx, 16, TailStrategy::RoundUp).update().reorder(dx, p.x, p.y, dy, bx, by).vectorize(dx, 16, TailStrategy::RoundUp);
    }
};

// What a quantised network adds: two tensors of bytes with scales of their own.
class QAdd : public Generator<QAdd> {
public:
    Input<Buffer<uint8_t, 3>> a{"a"};
    Input<Buffer<uint8_t, 3>> b{"b"};
    Input<uint8_t> za{"za"};
    Input<uint8_t> zb{"zb"};
    Input<int16_t> ma{"ma"};
    Input<int16_t> mb{"mb"};
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        Var c("c"), x("x"), y("y");
        Expr va = (cast<int16_t>(a(c, x, y)) - cast<int16_t>(za)) << 6, vb = (cast<int16_t>(b(c, x, y)) - cast<int16_t>(zb)) << 6;
        Expr s = cast<int32_t>(va) * ma + cast<int32_t>(vb) * mb;
        output(c, x, y) = cast<uint8_t>(clamp((s + (1 << 14)) >> 15, 0, 255));
        a.set_estimates({{0, 64}, {0, 112}, {0, 112}});
        b.set_estimates({{0, 64}, {0, 112}, {0, 112}});
        za.set_estimate(128); zb.set_estimate(120); ma.set_estimate(600); mb.set_estimate(500);
        output.set_estimates({{0, 64}, {0, 112}, {0, 112}});
        if (using_autoscheduler()) return;
        Var t("t");
        output.fuse(x, y, t).vectorize(c, natural_vector_size<uint8_t>()).parallel(t, 256);
    }
};

// Six pixels of ten bits in four words, to planes of sixteen bits.
class TenBits : public Generator<TenBits> {
public:
    Input<Buffer<uint32_t, 2>> input{"input"};
    Output<Buffer<uint16_t, 2>> luma{"luma"};
    Output<Buffer<uint16_t, 3>> chroma{"chroma"};

    void generate() {
        Var x("x"), y("y"), c("c");
        // The k-th of a group's twelve values: Cb Y Cr Y ... three to a word.
        Func value("value");
        value(x, y) = cast<uint16_t>((input(x / 3, y) >> cast<uint32_t>(10 * (x % 3))) & 1023);
        luma(x, y) = value(2 * x + 1, y) << 6;
        chroma(x, y, c) = value(4 * x + 2 * c, y) << 6;
        input.set_estimates({{0, 1280}, {0, 1080}});
        luma.set_estimates({{0, 1920}, {0, 1080}});
        chroma.set_estimates({{0, 960}, {0, 1080}, {0, 2}});
        if (using_autoscheduler()) return;
        Var xo("xo"), xi("xi");
        luma.split(x, xo, xi, 48).vectorize(xi).parallel(y, 16);
        chroma.bound(c, 0, 2).reorder(x, c, y).split(x, xo, xi, 48).vectorize(xi).parallel(y, 16);
    }
};

// A sparse matrix of blocks of 4 x 4, eight to a row of blocks, times a vector.
class BlockRows : public Generator<BlockRows> {
public:
    Input<Buffer<float, 4>> blocks{"blocks"};
    Input<Buffer<int32_t, 2>> column{"column"};
    Input<Buffer<float, 2>> v{"v"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var i("i"), b("b");
        RDom r(0, 4, 0, 8);
        Func sum("sum");
        sum(i, b) = 0.f;
        sum(i, b) += blocks(i, r.x, r.y, b) * v(r.x, clamp(column(r.y, b), 0, 16383));
        output(i, b) = sum(i, b);
        blocks.set_estimates({{0, 4}, {0, 4}, {0, 8}, {0, 16384}});
        column.set_estimates({{0, 8}, {0, 16384}});
        v.set_estimates({{0, 4}, {0, 16384}});
        output.set_estimates({{0, 4}, {0, 16384}});
        if (using_autoscheduler()) return;
        output.bound(i, 0, 4).vectorize(i, 4).parallel(b, 512);
        sum.compute_at(output, b).vectorize(i, 4).update().reorder(i, r.x, r.y).vectorize(i, 4).unroll(r.x);
    }
};

// Pictures of four floats a pixel, smoothed by rows and columns.
class RgbaBlur : public Generator<RgbaBlur> {
public:
    Input<Buffer<float, 3>> input{"input"};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        Var c("c"), x("x"), y("y");
        Func in = BoundaryConditions::repeat_edge(input, {{Expr(), Expr()}, {0, input.dim(1).extent()}, {0, input.dim(2).extent()}});
        Func h("h");
        h(c, x, y) = (in(c, x - 2, y) + 4.f * in(c, x - 1, y) + 6.f * in(c, x, y) + 4.f * in(c, x + 1, y) + in(c, x + 2, y)) / 16.f;
        output(c, x, y) = (h(c, x, y - 2) + 4.f * h(c, x, y - 1) + 6.f * h(c, x, y) + 4.f * h(c, x, y + 1) + h(c, x, y + 2)) / 16.f;
        input.set_estimates({{0, 4}, {0, 1280}, {0, 720}});
        output.set_estimates({{0, 4}, {0, 1280}, {0, 720}});
        if (using_autoscheduler()) return;
        Var yo("yo"), yi("yi");
        output.bound(c, 0, 4).split(y, yo, yi, 32).parallel(yo).vectorize(c, 4).unroll(x, 4);
        h.store_at(output, yo).compute_at(output, yi).vectorize(c, 4).unroll(x, 4);
    }
};

// Complex matrices of 3 x 3 times vectors of three, at each point of a lattice, summed over
// four ways.
class Links : public Generator<Links> {
public:
    Input<Buffer<float, 5>> links{"links"};
    Input<Buffer<float, 3>> field{"field"};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        Var s("s"), a("a"), c("c");
        RDom r(0, 3, 0, 4);
        Func sum("sum");
        Expr at = s + select(r.y == 0, 1, r.y == 1, 8, r.y == 2, 64, 512);
        Expr lr = links(s, 0, a, r.x, r.y), li = links(s, 1, a, r.x, r.y);
        Expr fr = field(at, 0, r.x), fi = field(at, 1, r.x);
        sum(s, a) = Tuple(0.f, 0.f);
        sum(s, a) = Tuple(sum(s, a)[0] + lr * fr - li * fi, sum(s, a)[1] + lr * fi + li * fr);
        output(s, c, a) = select(c == 0, sum(s, a)[0], sum(s, a)[1]);
        links.set_estimates({{0, 32768}, {0, 2}, {0, 3}, {0, 3}, {0, 4}});
        field.set_estimates({{0, 33280}, {0, 2}, {0, 3}});
        output.set_estimates({{0, 32768}, {0, 2}, {0, 3}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        Var so("so"), si("si");
        output.bound(c, 0, 2).bound(a, 0, 3).split(s, so, si, vec).reorder(si, c, a, so).vectorize(si).unroll(c).unroll(a).parallel(so, 64);
        sum.compute_at(output, so).vectorize(s, vec).unroll(a).update().reorder(s, a, r.x, r.y).vectorize(s, vec).unroll(a).unroll(r.x).unroll(r.y);
    }
};

// A gated layer for one word: brought to length one, then two matrices, one the other's gate.
class Gated : public Generator<Gated> {
public:
    Input<Buffer<float, 1>> input{"input"};
    Input<Buffer<float, 1>> gain{"gain"};
    Input<Buffer<float, 2>> gate{"gate"};
    Input<Buffer<float, 2>> up{"up"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        const int n = 768, m = 2048;
        Var i("i");
        RDom k(0, n, "k"), kg(0, n, "kg"), ku(0, n, "ku");
        Func square("square"), norm("norm"), gated("gated"), wide("wide");
        square() += input(k) * input(k);
        norm(i) = input(i) * gain(i) / sqrt(square() / n + 1e-5f);
        gated(i) += gate(kg, i) * norm(kg);
        wide(i) += up(ku, i) * norm(ku);
        output(i) = gated(i) / (1.0f + fast_exp(-gated(i))) * wide(i);
        input.set_estimates({{0, n}});
        gain.set_estimates({{0, n}});
        for (auto *matrix : {&gate, &up}) matrix->set_estimates({{0, n}, {0, m}});
        output.set_estimates({{0, m}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        Var io("io"), lane("lane");
        norm.compute_root().vectorize(i, vec);
        square.compute_root();
        output.split(i, io, i, 64).parallel(io).vectorize(i, vec);
        for (auto rows : {std::make_pair(gated, kg), std::make_pair(wide, ku)}) {
            RVar ko("ko"), ki("ki");
            rows.first.compute_at(output, io).vectorize(i, vec);
            Func lanes = rows.first.update().split(rows.second, ko, ki, 2 * vec).rfactor(ki, lane);
            lanes.compute_at(rows.first, i).vectorize(lane).update().vectorize(lane);
        }
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Gated, gated)
HALIDE_REGISTER_GENERATOR(TenBits, ten_bits)
HALIDE_REGISTER_GENERATOR(BlockRows, block_rows)
HALIDE_REGISTER_GENERATOR(RgbaBlur, rgba_blur)
HALIDE_REGISTER_GENERATOR(Links, links)
HALIDE_REGISTER_GENERATOR(QAdd, q_add)
HALIDE_REGISTER_GENERATOR(Rope, rope)
HALIDE_REGISTER_GENERATOR(NibbleGemv, nibble_gemv)
HALIDE_REGISTER_GENERATOR(Lifting, lifting)
HALIDE_REGISTER_GENERATOR(MotionSad, motion_sad)
HALIDE_REGISTER_GENERATOR(ToneMap, tone_map)
HALIDE_REGISTER_GENERATOR(Transpose, transpose)
HALIDE_REGISTER_GENERATOR(Gram, gram)
HALIDE_REGISTER_GENERATOR(Match, match)
HALIDE_REGISTER_GENERATOR(KMeans, kmeans)
HALIDE_REGISTER_GENERATOR(Mandelbrot, mandelbrot)
HALIDE_REGISTER_GENERATOR(Lattice, lattice)
HALIDE_REGISTER_GENERATOR(ByteLayer, byte_layer)
HALIDE_REGISTER_GENERATOR(ByteProduct, byte_product)
HALIDE_REGISTER_GENERATOR(ShortFilter, short_filter)
HALIDE_REGISTER_GENERATOR(InterleavedBlur, interleaved_blur)
HALIDE_REGISTER_GENERATOR(InterleavedOver, interleaved_over)
HALIDE_REGISTER_GENERATOR(Nv12, nv12)
HALIDE_REGISTER_GENERATOR(Remap, remap)
HALIDE_REGISTER_GENERATOR(RowNorm, row_norm)
HALIDE_REGISTER_GENERATOR(Heat, heat)
HALIDE_REGISTER_GENERATOR(Lstm, lstm)
