// Small Generators, each with one thing that describe has to get right or has to
// refuse. internal/pipeline/testdata holds their descriptions.

#include "Halide.h"

namespace {

using namespace Halide;

// Two values a point, the second stage of both at once, over a reduction.
class TupleUpdate : public Generator<TupleUpdate> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Func> output{"output", {Float(32), Int(32)}, 1};

    void generate() {
        Var y("y");
        RDom r(1, 63, "r");
        Func best("best");
        best(y) = Tuple(input(0, y), 0);
        Expr better = input(r, y) > best(y)[0];
        best(y) = Tuple(select(better, input(r, y), best(y)[0]), select(better, r, best(y)[1]));
        output(y) = Tuple(best(y)[0], best(y)[1]);
        input.set_estimates({{0, 64}, {0, 128}});
        output.set_estimates({{0, 128}});
    }
};

// Two outputs, one of which the other reads.
class MultiOutput : public Generator<MultiOutput> {
public:
    Input<Buffer<uint8_t, 2>> input{"input"};
    Output<Buffer<uint8_t, 2>> blurred{"blurred"};
    Output<Buffer<int16_t, 2>> detail{"detail"};

    void generate() {
        Var x("x"), y("y");
        Func rows("rows");
        rows(x, y) = cast<uint16_t>(input(x, y)) + 2 * cast<uint16_t>(input(x + 1, y)) + input(x + 2, y);
        blurred(x, y) = cast<uint8_t>((rows(x, y) + 2 * rows(x, y + 1) + rows(x, y + 2)) / 16);
        detail(x, y) = cast<int16_t>(input(x, y)) - blurred(x, y);
        input.set_estimates({{0, 258}, {0, 130}});
        blurred.set_estimates({{0, 256}, {0, 128}});
        detail.set_estimates({{0, 256}, {0, 128}});
    }
};

// A Func that a C function computes, between two that Halide does.
class ExternStage : public Generator<ExternStage> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        Func before("before"), outside("outside");
        before(x, y) = input(x, y) * 2.0f;
        outside.define_extern("protuner_test_extern", {before}, Float(32), {x, y});
        output(x, y) = outside(x, y) + 1.0f;
        input.set_estimates({{0, 64}, {0, 64}});
        output.set_estimates({{0, 64}, {0, 64}});
    }
};

// A triangular reduction, and one over a domain that a scalar input sizes.
class Predicate : public Generator<Predicate> {
public:
    Input<Buffer<int32_t, 1>> input{"input"};
    Input<int32_t> count{"count"};
    Output<Buffer<int32_t, 1>> output{"output"};

    void generate() {
        Var x("x");
        RDom triangle(0, 32, 0, 32, "triangle");
        triangle.where(triangle.x < triangle.y);
        RDom sized(0, count, "sized");
        Func pairs("pairs");
        pairs(x) = 0;
        pairs(x) += input(x + triangle.x) * input(x + triangle.y);
        pairs(x) += input(x + sized);
        output(x) = pairs(x);
        count.set_estimate(16);
        input.set_estimates({{0, 1056}});
        output.set_estimates({{0, 1024}});
    }
};

// Sums as long as the data of their point have them, of terms that are there or not, of
// as many for all points.
class Ragged : public Generator<Ragged> {
public:
    Input<Buffer<int32_t, 1>> input{"input"};
    Output<Buffer<int32_t, 1>> output{"output"};

    void generate() {
        Var x("x");
        RDom run(0, 8, "run"), above(0, 8, "above"), even(0, 8, "even");
        run.where(run < input(x) % 8 && input(x + run) > 0);
        above.where(above < 4 && input(x + above) > input(x));
        even.where(even < x % 4);
        Func sums("sums");
        sums(x) = 0;
        sums(x) += input(x + run);
        sums(x) += input(x + above);
        sums(x) += input(x + even);
        output(x) = sums(x);
        input.set_estimates({{0, 1032}});
        output.set_estimates({{0, 1024}});
    }
};

// Bounds that a scalar input decides: constants as estimated, unknown when compiled.
class Parametric : public Generator<Parametric> {
public:
    Input<Buffer<float, 1>> input{"input"};
    Input<int32_t> levels{"levels"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var x("x"), k("k");
        Func power("power"), level("level");
        power(x, k) = pow(input(x), k);
        level(x, k) = power(x, k) + power(x + 1, k);
        Expr below = clamp(cast<int>(input(x)), 0, levels - 2);
        output(x) = level(x, below) + level(x, below + 1);
        levels.set_estimate(4);
        input.set_estimates({{0, 1025}});
        output.set_estimates({{0, 1024}});
    }
};

// Types that are neither bytes, words nor floats, and scalar inputs of several.
class Types : public Generator<Types> {
public:
    Input<Buffer<float16_t, 1>> half{"half"};
    Input<Buffer<int64_t, 1>> wide{"wide"};
    Input<float> gain{"gain", 1.5f};
    Input<uint8_t> threshold{"threshold"};
    Input<bool> flip{"flip", false};
    Output<Buffer<double, 1>> output{"output"};

    void generate() {
        Var x("x");
        Func scaled("scaled"), mask("mask");
        scaled(x) = half(x) * cast<float16_t>(gain);
        mask(x) = wide(x) > cast<int64_t>(threshold);
        output(x) = select(mask(x) != flip, cast<double>(scaled(x)), cast<double>(wide(x) >> 3));
        half.set_estimates({{0, 512}});
        wide.set_estimates({{0, 512}});
        threshold.set_estimate(17);
        output.set_estimates({{0, 512}});
    }
};

// Halide's own boundary condition, a hand-made wrapper, and bounds that clamp.
class Boundary : public Generator<Boundary> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        Func padded = BoundaryConditions::repeat_edge(input);
        Func copy("copy"), halved("halved");
        copy(x, y) = padded(x, y);
        halved(x, y) = copy(clamp(2 * x, 0, input.width() - 1), 2 * y) + copy(2 * x + 1, 2 * y + 1);
        output(x, y) = halved(x / 2, y / 2) + halved(x / 2, y / 2 + 1) + halved(x % 7, 3);
        input.set_estimates({{0, 200}, {0, 100}});
        output.set_estimates({{0, 200}, {0, 100}});
    }
};

// Coordinates that data decide: one clamped, one bounded by its type, one scaled
// in floating point.
class Gather : public Generator<Gather> {
public:
    Input<Buffer<float, 1>> input{"input"};
    Input<Buffer<int32_t, 1>> where{"where"};
    Input<Buffer<uint8_t, 1>> byte{"byte"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var x("x");
        Func table("table"), squares("squares"), stretched("stretched");
        table(x) = sqrt(input(x));
        squares(x) = input(x) * input(x);
        Expr at = x * 0.37f;
        Expr left = cast<int32_t>(floor(at));
        stretched(x) = lerp(squares(left), squares(left + 1), at - left);
        output(x) = table(clamp(where(x), 0, 99)) + table(cast<int32_t>(byte(x))) + stretched(x);
        input.set_estimates({{0, 400}});
        where.set_estimates({{0, 1000}});
        byte.set_estimates({{0, 1000}});
        output.set_estimates({{0, 1000}});
    }
};

// A scan, which is computed whole, a histogram, and an in-place pass over rows.
class Scan : public Generator<Scan> {
public:
    Input<Buffer<uint8_t, 2>> input{"input"};
    Output<Buffer<int32_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        RDom image(0, input.width(), 0, input.height(), "image");
        RDom bins(1, 255, "bins");
        RDom row(1, input.width() - 1, "row");
        Func histogram("histogram"), total("total"), run("run");
        histogram(x) = 0;
        histogram(cast<int32_t>(input(image.x, image.y))) += 1;
        total(x) = 0;
        total(0) = histogram(0);
        total(bins) = total(bins - 1) + histogram(bins);
        run(x, y) = total(cast<int32_t>(input(x, y)));
        run(row, y) = (run(row - 1, y) + run(row, y)) / 2;
        output(x, y) = run(x, y);
        input.set_estimates({{0, 320}, {0, 240}});
        output.set_estimates({{0, 320}, {0, 240}});
    }
};

// Read at a coordinate without bounds: it can only be inlined.
class UnboundedInline : public Generator<UnboundedInline> {
public:
    Input<Buffer<float, 1>> input{"input"};
    Input<Buffer<int32_t, 1>> where{"where"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var x("x");
        Func prepared("prepared"), safe("safe");
        prepared(x) = input(x) + 1.0f;
        safe(x) = prepared(clamp(x, 0, 99)) * 2.0f;
        output(x) = safe(where(x));
        input.set_estimates({{0, 100}});
        where.set_estimates({{0, 1000}});
        output.set_estimates({{0, 1000}});
    }
};

// As above, but with an update, so that inlining is not possible.
class Unbounded : public Generator<Unbounded> {
public:
    GeneratorParam<bool> estimated{"estimated", false};
    Input<Buffer<int32_t, 1>> where{"where"};
    Output<Buffer<int32_t, 1>> output{"output"};

    void generate() {
        Var x("x");
        Func table("table");
        table(x) = 0;
        table(0) = 1;
        if (estimated) table.set_estimate(x, 0, 100);
        output(x) = table(where(x));
        where.set_estimates({{0, 1000}});
        output.set_estimates({{0, 1000}});
    }
};

// The estimates that describe asks for, each left out on demand.
class MissingEstimates : public Generator<MissingEstimates> {
public:
    GeneratorParam<std::string> missing{"missing", ""};
    Input<Buffer<float, 2>> input{"input"};
    Input<int32_t> shift{"shift"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        output(x, y) = input(x + shift, y);
        const std::string m = missing;
        input.dim(0).set_estimate(0, 64);
        if (m != "input") input.dim(1).set_estimate(0, 64);
        if (m != "shift") shift.set_estimate(2);
        output.dim(0).set_estimate(0, 32);
        if (m != "output") output.dim(1).set_estimate(0, 32);
        if (m == "constant") output.dim(1).set_estimate(0, cast<int32_t>(random_int()));
    }
};

// Schedules itself also where an autoscheduler is named.
class AlreadyScheduled : public Generator<AlreadyScheduled> {
public:
    GeneratorParam<std::string> how{"how", "split"};
    Input<Buffer<float, 1>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var x("x"), xo("xo"), xi("xi");
        Func doubled("doubled");
        doubled(x) = input(x) * 2.0f;
        output(x) = doubled(x) + doubled(x + 1);
        const std::string h = how;
        if (h == "root") doubled.compute_root();
        if (h == "at") doubled.compute_at(output, x);
        if (h == "store") doubled.store_root();
        if (h == "hoist") doubled.hoist_storage_root();
        if (h == "with") doubled.compute_with(output, x);
        if (h == "memoize") doubled.memoize();
        if (h == "output") output.compute_root();
        if (h == "split") doubled.compute_root().split(x, xo, xi, 8);
        if (h == "parallel") output.parallel(x);
        if (h == "specialize") output.specialize(input.width() > 16);
        input.set_estimates({{0, 65}});
        output.set_estimates({{0, 64}});
    }
};

// What lies at the edges of the form: Funcs without dimensions, a lone constant,
// an offset that data decide, a Func of which no value is needed, an
// expression that is small only as a graph, an empty reduction, a write without
// bounds.
class Corners : public Generator<Corners> {
public:
    GeneratorParam<std::string> corner{"corner", "scalar"};
    Input<Buffer<int32_t, 1>> input{"input"};
    Output<Buffer<int32_t, 1>> output{"output"};

    void generate() {
        Var x("x");
        Func f("f"), size("size");
        const std::string c = corner;
        size() = input(0);
        if (c == "empty" || c == "unbounded_write") f(x) = 0;
        if (c == "scalar") {
            RDom r(0, 50, "r");
            Func sum("sum");
            sum() += input(r);
            output(x) = sum() + x + size();
        } else if (c == "constant") {
            output(x) = 7;
        } else if (c == "offset") {
            f(x) = input(x) + x;
            output(x) = f(x + size());
        } else if (c == "unread") {
            // The pair has to be inlined, and then nothing needs its second half.
            Func used("used"), unused("unused"), before("before"), pair("pair");
            used(x) = input(x) + 1;
            before(x) = input(x) * 2;
            unused(x) = before(x) + 3;
            pair(x) = Tuple(used(clamp(x, 0, 9)), unused(clamp(x, 0, 9)));
            output(x) = pair(x + size())[0];
        } else if (c == "strict") {
            f(x) = input(x) + 1;
            Expr scale = strict_float(1.0f / cast<float>(input.width()));
            output(x) = f(cast<int>(strict_float(50.0f * (cast<float>(x) + 0.5f) * scale)));
        } else if (c == "shared") {
            Expr e = input(x);
            for (int i = 0; i < 40; i++) e = e * e + e;
            output(x) = e;
        } else if (c == "empty") {
            RDom r(0, 0, "r");
            f(r) = 1;
            output(x) = f(x);
        } else if (c == "unbounded_write") {
            RDom r(0, 10, "r");
            f(input(r)) = 1;
            output(x) = f(x);
        }
        input.set_estimates({{0, 100}});
        output.set_estimates({{0, 100}});
    }
};

// Funcs that some of the points read, as loops say, and Funcs that look like it.
class Shares : public Generator<Shares> {
public:
    Input<Buffer<int32_t, 1>> input{"input"};
    Input<int> shift{"shift"};
    Output<Buffer<int32_t, 3>> output{"output"};

    void generate() {
        Var x("x"), y("y"), c("c");
        auto read = [&](const std::string &name) {
            Func f(name);
            f(x) = input(x) + 1;
            return f(x);
        };
        Expr data = read("data");
        output(x, y, c) = mux(c, {read("mux_third"), 1, 2}) +
                          select(c == 0, read("third"), c == 1, read("next_third"), read("last_third")) +
                          select(y % 2 == 0, select(x % 2 == 0, read("quarter"), 1), read("half")) +
                          select(x % 4 != 1, read("most"), 1) +
                          select(x == 0, read("border"), 1) +
                          select(data % 2 == 0, read("even_data"), 1) +
                          select(data == 0, read("no_data"), data == 1, read("one_data"), 1) +
                          select(shift == 0, read("no_shift"), shift == 1, read("one_shift"), 1) +
                          mux(shift, {read("mux_shift"), 1}) +
                          select((x + shift) % 2 == 0, read("even_shift"), 1);
        input.set_estimates({{0, 100}});
        shift.set_estimate(1);
        output.set_estimates({{0, 100}, {0, 100}, {0, 3}});
    }
};

// Products of slopes, each by a formula of its own, and their sums along columns; and sums
// of as many images, of which none has.
class Formulas : public Generator<Formulas> {
public:
    Input<Buffer<float, 3>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y"), c("c");
        Func slope_x("slope_x"), slope_y("slope_y"), product("product"), sums("sums"), images("images");
        slope_x(x, y) = input(x + 1, y, 0) - input(x, y, 0);
        slope_y(x, y) = input(x, y + 1, 0) - input(x, y, 0);
        Expr a = slope_x(x, y), b = slope_y(x, y);
        product(x, y, c) = mux(c, {a * a, a * b, b * b, a, b});
        sums(x, y, c) = product(x, y, c) + product(x, y + 1, c);
        images(x, y, c) = input(x, y, c) + input(x, y + 1, c);
        Expr sum = 0.0f;
        for (int i = 0; i < 5; i++) sum = sum * (sums(x, y, i) - sums(x + 1, y, i)) + images(x, y, i) * images(x + 1, y, i);
        output(x, y) = sum;
        input.set_estimates({{0, 1002}, {0, 1002}, {0, 5}});
        output.set_estimates({{0, 1000}, {0, 1000}});
    }
};

// A running mean, which is updated in place.
class InPlace : public Generator<InPlace> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        output(x, y) = undef<float>();
        output(x, y) = 0.75f * output(x, y) + 0.25f * input(x, y);
        input.set_estimates({{0, 300}, {0, 200}});
        output.set_estimates({{0, 300}, {0, 200}});
    }
};

// Funcs of which all is somebody else's, only elsewhere, and four that are more than that;
// and one of whose rows every other one is read by one stage, the rest by another.
class Copies : public Generator<Copies> {
public:
    Input<Buffer<uint8_t, 2>> input{"input"};
    Input<Buffer<int32_t, 1>> places{"places"};
    Output<Buffer<int32_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        Func mirrored = BoundaryConditions::mirror_interior(input);
        Func outside = BoundaryConditions::constant_exterior(input, 7);
        Func moved("moved"), turned("turned"), placed("placed"), scaled("scaled"), cut("cut"), rows("rows");
        moved(x, y) = cast<int32_t>(input(x + 3, y / 2));
        turned(x, y) = cast<int32_t>(input(y, x));
        placed(x, y) = cast<int32_t>(input(clamp(places(x), 0, 99), y));
        scaled(x, y) = 2 * cast<int32_t>(input(x + 1, y));
        cut(x, y) = cast<int32_t>(select(input(x, y) > input(x + 1, y), 0, input(x + 2, y)));
        rows(x, y) = 3 * cast<int32_t>(input(x, y / 2));
        output(x, y) = cast<int32_t>(mirrored(x - 1, y) + mirrored(x + 1, y)) + cast<int32_t>(outside(x, y - 1) + outside(x, y + 1)) + rows(x, 2 * y);
        for (Func f : {moved, turned, placed, scaled, cut}) output(x, y) += f(x, y) * f(x, y + 1);
        output(x, y) += rows(x, 2 * y + 1);
        input.set_estimates({{0, 104}, {0, 104}});
        places.set_estimates({{0, 100}});
        output.set_estimates({{0, 100}, {0, 100}});
    }
};

// Two steps of a stencil whose surroundings are written out.
class Edges : public Generator<Edges> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        const int size = 128;
        Func surrounded("surrounded"), first("first"), again("again");
        const auto within = [&](Func f) {
            return select(x < 0 || y < 0 || x >= size || y >= size, 0.0f, f(clamp(x, 0, size - 1), clamp(y, 0, size - 1)));
        };
        const auto cross = [&](Func f) { return f(x, y) - 0.25f * (f(x - 1, y) + f(x + 1, y) + f(x, y - 1) + f(x, y + 1)); };
        surrounded(x, y) = within(input);
        first(x, y) = cross(surrounded);
        again(x, y) = within(first);
        output(x, y) = cross(again);
        input.set_estimates({{0, size}, {0, size}});
        output.set_estimates({{0, size}, {0, size}});
    }
};

// Sums of products of short integers, of which several fit where one sum does, sums of short
// integers themselves, and what looks like them.
class Dots : public Generator<Dots> {
public:
    Input<Buffer<uint8_t, 2>> bytes{"bytes"};
    Input<Buffer<int8_t, 2>> weights{"weights"};
    Input<Buffer<uint16_t, 2>> words{"words"};
    Output<Buffer<int32_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        RDom k(0, 32, "k");
        Func by_bytes("by_bytes"), by_shorts("by_shorts"), added("added"), by_words("by_words"), largest("largest"), whole("whole");
        const Expr a = cast<int32_t>(bytes(k, y)), w = cast<int32_t>(weights(x, k));
        by_bytes(x, y) += a * w;
        by_shorts(x, y) += (a - 100) * w;
        added(x) += cast<int32_t>(weights(x, k));
        by_words(x, y) += cast<int32_t>(words(k, y)) * w;
        largest(x, y) = 0;
        largest(x, y) = max(largest(x, y), a * w);
        whole(x, y) += (a * w) * (a + w);
        output(x, y) = by_bytes(x, y) + by_shorts(x, y) + added(x) + by_words(x, y) + largest(x, y) + whole(x, y);
        bytes.set_estimates({{0, 32}, {0, 64}});
        weights.set_estimates({{0, 128}, {0, 32}});
        words.set_estimates({{0, 32}, {0, 64}});
        output.set_estimates({{0, 128}, {0, 64}});
    }
};

// How far the numbers of each row are from their mean, which is the same for all of a row.
class Deviations : public Generator<Deviations> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var y("y");
        RDom k(0, 1024, "k");
        Func mean("mean"), squares("squares");
        mean(y) += input(k, y) / 1024;
        squares(y) += (input(k, y) - mean(y)) * (input(k, y) - mean(y));
        output(y) = sqrt(squares(y) / 1024);
        input.set_estimates({{0, 1024}, {0, 512}});
        output.set_estimates({{0, 512}});
    }
};

// An image whose three channels lie side by side.
class Interleaved : public Generator<Interleaved> {
public:
    Input<Buffer<uint8_t, 3>> input{"input"};
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        Var x("x"), y("y"), c("c");
        Func wide("wide");
        wide(x, y, c) = cast<uint16_t>(input(x, y, c)) + input(x + 1, y, c);
        output(x, y, c) = cast<uint8_t>((wide(x, y, c) + wide(x, y + 1, c)) / 4);
        output.dim(0).set_stride(3);
        output.dim(2).set_stride(1).set_bounds(0, 3);
        input.set_estimates({{0, 641}, {0, 481}, {0, 3}});
        output.set_estimates({{0, 640}, {0, 480}, {0, 3}});
    }
};

// An image made as bright as its mean says, which is one long sum of floats. The brightness
// that is added up is used once more.
class Exposure : public Generator<Exposure> {
public:
    Input<Buffer<float, 3>> input{"input"};
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        Var x("x"), y("y"), c("c");
        RDom k(0, 640, 0, 480, "k");
        Func luma("luma"), total("total");
        luma(x, y) = 0.3f * input(x, y, 0) + 0.6f * input(x, y, 1) + 0.1f * input(x, y, 2);
        total() += luma(k.x, k.y);
        output(x, y, c) = saturating_cast<uint8_t>(5e7f * input(x, y, c) / (total() * (1.f + luma(x, y))));
        input.set_estimates({{0, 640}, {0, 480}, {0, 3}});
        output.set_estimates({{0, 640}, {0, 480}, {0, 3}});
    }
};

// An image that goes on mirrored.
class Mirrored : public Generator<Mirrored> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        Func mirrored = BoundaryConditions::mirror_interior(input);
        output(x, y) = mirrored(x - 2, y) + mirrored(x + 2, y) + mirrored(x, y - 2) + mirrored(x, y + 2);
        input.set_estimates({{0, 640}, {0, 480}});
        output.set_estimates({{0, 640}, {0, 480}});
    }
};

// Columns that become rows, beside rows that stay.
class Turned : public Generator<Turned> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Input<Buffer<float, 2>> other{"other"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        output(x, y) = input(y, x) + other(x, y);
        input.set_estimates({{0, 480}, {0, 640}});
        other.set_estimates({{0, 640}, {0, 480}});
        output.set_estimates({{0, 640}, {0, 480}});
    }
};

// Means of short integers, whose sums may overflow, and that read more than the input's
// estimate says.
class Rounded : public Generator<Rounded> {
public:
    Input<Buffer<int16_t, 2>> input{"input"};
    Output<Buffer<int16_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        output(x, y) = (input(x - 1, y) + input(x + 1, y) + 1) >> 1;
        input.set_estimates({{0, 640}, {0, 480}});
        output.set_estimates({{0, 640}, {0, 480}});
    }
};

// Three values of ten bits in each word, of which an output takes every other; and bytes of
// three channels side by side, each with the mean of its pixel.
class Packed : public Generator<Packed> {
public:
    Input<Buffer<uint32_t, 2>> words{"words"};
    Input<Buffer<uint8_t, 1>> bytes{"bytes"};
    Output<Buffer<uint16_t, 2>> values{"values"};
    Output<Buffer<uint8_t, 1>> means{"means"};

    void generate() {
        Var x("x"), y("y");
        Func value("value");
        value(x, y) = cast<uint16_t>((words(x / 3, y) >> cast<uint32_t>(10 * (x % 3))) & 1023);
        values(x, y) = value(2 * x + 1, y);
        Expr pixel = 3 * (x / 3);
        Expr sum = cast<uint16_t>(bytes(pixel)) + bytes(pixel + 1) + bytes(pixel + 2);
        means(x) = cast<uint8_t>((bytes(x) + sum / 3) / 2);
        words.set_estimates({{0, 128}, {0, 64}});
        bytes.set_estimates({{0, 3072}});
        values.set_estimates({{0, 192}, {0, 64}});
        means.set_estimates({{0, 3072}});
    }
};

// The strongest of eight filters of three by two, and which it is.
class Responses : public Generator<Responses> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Input<Buffer<float, 3>> bank{"bank"};
    Output<Buffer<float, 2>> output{"output"};
    Output<Buffer<uint8_t, 2>> which{"which"};

    void generate() {
        const int filters = 8;
        Var x("x"), y("y"), k("k");
        RDom r(0, 3, 0, 2, "r");
        Func response("response"), best("best");
        response(x, y, k) += bank(k, r.x, r.y) * input(x + r.x, y + r.y);
        Expr most = response(x, y, 0), at = cast<uint8_t>(0);
        for (int i = 1; i < filters; i++) {
            at = select(response(x, y, i) > most, cast<uint8_t>(i), at);
            most = max(most, response(x, y, i));
        }
        best(x, y) = {most, at};
        output(x, y) = best(x, y)[0];
        which(x, y) = best(x, y)[1];
        input.set_estimates({{0, 18}, {0, 5}});
        bank.set_estimates({{0, filters}, {0, 3}, {0, 2}});
        output.set_estimates({{0, 16}, {0, 4}});
        which.set_estimates({{0, 16}, {0, 4}});
    }
};

// An image of as many channels as it promises to have, moved by what a scalar is by default;
// and one promise more that code may count on, or one that holds anyway.
class Promises : public Generator<Promises> {
public:
    GeneratorParam<std::string> also{"also", "nothing"};
    Input<Buffer<uint8_t, 3>> input{"input"};
    Input<int32_t> shift{"shift", 2};
    Output<Buffer<uint8_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        output(x, y) = max(input(x + shift, y, 0), input(x, y, 2));
        input.dim(0).set_estimate(0, 64);
        input.dim(1).set_estimate(0, 64);
        input.dim(2).set_bounds(0, 3);
        output.set_estimates({{0, 64}, {0, 64}});
        const std::string a = also;
        const Expr scalar = Expr(shift);
        Parameter limited = scalar.as<Internal::Variable>()->param;
        if (a == "bytes") input.set_host_alignment(1);
        if (a == "alignment") input.set_host_alignment(32);
        if (a == "output") output.set_host_alignment(32);
        if (a == "least") limited.set_min_value(0);
        if (a == "most") limited.set_max_value(8);
        if (a == "requirement") add_requirement(scalar >= 0, "shift is negative");
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Promises, promises)
HALIDE_REGISTER_GENERATOR(Rounded, rounded)
HALIDE_REGISTER_GENERATOR(Mirrored, mirrored)
HALIDE_REGISTER_GENERATOR(Turned, turned)
HALIDE_REGISTER_GENERATOR(Exposure, exposure)
HALIDE_REGISTER_GENERATOR(Deviations, deviations)
HALIDE_REGISTER_GENERATOR(Interleaved, interleaved)
HALIDE_REGISTER_GENERATOR(Copies, copies)
HALIDE_REGISTER_GENERATOR(Edges, edges)
HALIDE_REGISTER_GENERATOR(Dots, dots)
HALIDE_REGISTER_GENERATOR(Formulas, formulas)
HALIDE_REGISTER_GENERATOR(InPlace, in_place)
HALIDE_REGISTER_GENERATOR(Shares, shares)
HALIDE_REGISTER_GENERATOR(TupleUpdate, tuple_update)
HALIDE_REGISTER_GENERATOR(MultiOutput, multi_output)
HALIDE_REGISTER_GENERATOR(ExternStage, extern_stage)
HALIDE_REGISTER_GENERATOR(Predicate, predicate)
HALIDE_REGISTER_GENERATOR(Ragged, ragged)
HALIDE_REGISTER_GENERATOR(Parametric, parametric)
HALIDE_REGISTER_GENERATOR(Types, types)
HALIDE_REGISTER_GENERATOR(Boundary, boundary)
HALIDE_REGISTER_GENERATOR(Packed, packed)
HALIDE_REGISTER_GENERATOR(Gather, gather)
HALIDE_REGISTER_GENERATOR(Scan, scan)
HALIDE_REGISTER_GENERATOR(UnboundedInline, unbounded_inline)
HALIDE_REGISTER_GENERATOR(Unbounded, unbounded)
HALIDE_REGISTER_GENERATOR(MissingEstimates, missing_estimates)
HALIDE_REGISTER_GENERATOR(AlreadyScheduled, already_scheduled)
HALIDE_REGISTER_GENERATOR(Corners, corners)
HALIDE_REGISTER_GENERATOR(Responses, responses)
