// Kinds of pipelines that read or write where values say, with a schedule by hand each.

#include "Halide.h"

#include <cmath>
#include <vector>

namespace {

using namespace Halide;

// Grids of charge: points spread onto a mesh by weights of their neighbours, then smoothed.
class Deposit : public Generator<Deposit> {
public:
    Input<Buffer<float, 2>> points{"points"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        RDom r(0, 20000, 0, 2, 0, 2);
        Func mesh("mesh");
        Expr px = points(0, r.x) * 254.f, py = points(1, r.x) * 254.f;
        Expr ix = clamp(cast<int>(px), 0, 254), iy = clamp(cast<int>(py), 0, 254);
        Expr wx = select(r.y == 0, 1.f - (px - ix), px - ix), wy = select(r.z == 0, 1.f - (py - iy), py - iy);
        mesh(x, y) = 0.f;
        mesh(ix + r.y, iy + r.z) += wx * wy;
        Func m = BoundaryConditions::repeat_edge(mesh, {{0, 256}, {0, 256}});
        output(x, y) = 0.5f * m(x, y) + 0.125f * (m(x - 1, y) + m(x + 1, y) + m(x, y - 1) + m(x, y + 1));
        points.set_estimates({{0, 2}, {0, 20000}});
        output.set_estimates({{0, 256}, {0, 256}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        mesh.compute_root().vectorize(x, vec).update().reorder(r.y, r.z, r.x).unroll(r.y).unroll(r.z);
        output.vectorize(x, vec);
    }
};

// Pictures of four channels, turned by an angle: each point is a bicubic mean of sixteen
// around where it comes from.
class Turned : public Generator<Turned> {
public:
    Input<Buffer<uint8_t, 3>> input{"input"};  // channel, x, y
    Input<float> angle{"angle"};
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        Var c("c"), x("x"), y("y");
        const int width = 960, height = 640;
        Func in = BoundaryConditions::repeat_edge(input, {{Expr(), Expr()}, {0, input.dim(1).extent()}, {0, input.dim(2).extent()}});
        Func from("from");
        Expr dx = x - width / 2.f, dy = y - height / 2.f;
        from(x, y) = Tuple(dx * cos(angle) - dy * sin(angle) + width / 2.f, dx * sin(angle) + dy * cos(angle) + height / 2.f);
        Expr left = floor(from(x, y)[0]), top = floor(from(x, y)[1]);
        auto weights = [](Expr t) {
            return std::vector<Expr>{((-0.5f * t + 1.f) * t - 0.5f) * t, (1.5f * t - 2.5f) * t * t + 1.f,
                                     ((-1.5f * t + 2.f) * t + 0.5f) * t, (0.5f * t - 0.5f) * t * t};
        };
        std::vector<Expr> across = weights(from(x, y)[0] - left), down = weights(from(x, y)[1] - top);
        Expr sum = 0.f;
        for (int j = 0; j < 4; j++) {
            Expr row = 0.f;
            for (int i = 0; i < 4; i++) {
                row += across[i] * cast<float>(in(c, cast<int>(left) + i - 1, cast<int>(top) + j - 1));
            }
            sum += down[j] * row;
        }
        output(c, x, y) = saturating_cast<uint8_t>(sum + 0.5f);
        input.set_estimates({{0, 4}, {0, width}, {0, height}});
        angle.set_estimate(0.3f);
        output.set_estimates({{0, 4}, {0, width}, {0, height}});
        if (using_autoscheduler()) return;
        Var yo("yo");
        output.bound(c, 0, 4).split(y, yo, y, 8).parallel(yo).vectorize(c).unroll(x, 2, TailStrategy::GuardWithIf);
        from.compute_at(output, y).vectorize(x, natural_vector_size<float>());
    }
};

// Five octaves of value noise, whose lattice is shuffled by a table of bytes.
class Noise : public Generator<Noise> {
public:
    Input<Buffer<uint8_t, 1>> shuffle{"shuffle"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        const int octaves = 5;
        Var x("x"), y("y");
        Expr sum = 0.0f;
        for (int o = 0; o < octaves; o++) {
            const float scale = float(1 << o) / 128;
            Expr u = x * scale, v = y * scale;
            Expr i = cast<int>(floor(u)), j = cast<int>(floor(v));
            auto smooth = [](const Expr &t) { return t * t * (3.0f - 2.0f * t); };
            auto corner = [&](int di, int dj) {
                Expr column = cast<int>(shuffle((i + di) & 255));
                return cast<float>(shuffle((column + j + dj) & 255)) / 255.0f;
            };
            Expr s = smooth(u - i), t = smooth(v - j);
            sum += lerp(lerp(corner(0, 0), corner(1, 0), s), lerp(corner(0, 1), corner(1, 1), s), t) / float(2 << o);
        }
        output(x, y) = sum;
        shuffle.dim(0).set_bounds(0, 256).set_estimate(0, 256);
        output.set_estimates({{0, 1024}, {0, 1024}});
        if (using_autoscheduler()) return;
        output.parallel(y, 16).vectorize(x, natural_vector_size<float>());
    }
};

// The brightest of all slices of a volume as seen from aside: each is shifted by its own,
// in between two points.
class Projection : public Generator<Projection> {
public:
    Input<Buffer<uint16_t, 3>> volume{"volume"};
    Input<float> slope_x{"slope_x"}, slope_y{"slope_y"};
    Output<Buffer<uint16_t, 2>> output{"output"};

    void generate() {
        const int n = 256;
        Var x("x"), y("y"), z("z");
        Func shift("shift"), brightest("brightest");
        Expr dx = z * slope_x, dy = z * slope_y;
        shift(z) = Tuple(cast<int>(floor(dx)), dx - floor(dx), cast<int>(floor(dy)), dy - floor(dy));
        RDom r(0, n, "r");
        Tuple by = shift(r);
        Expr i = clamp(x + by[0], 0, n - 2), j = clamp(y + by[2], 0, n - 2);
        auto at = [&](int di, int dj) { return cast<float>(volume(i + di, j + dj, r)); };
        brightest(x, y) = 0.0f;
        brightest(x, y) = max(brightest(x, y), lerp(lerp(at(0, 0), at(1, 0), by[1]), lerp(at(0, 1), at(1, 1), by[1]), by[3]));
        output(x, y) = cast<uint16_t>(brightest(x, y));
        volume.set_estimates({{0, n}, {0, n}, {0, n}});
        slope_x.set_estimate(0.25f);
        slope_y.set_estimate(-0.5f);
        output.set_estimates({{0, n}, {0, n}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        shift.compute_root();
        output.vectorize(x, vec).parallel(y, 8);
        brightest.compute_at(output, y).vectorize(x, vec).update().reorder(x, r, y).vectorize(x, vec);
    }
};

// A blur whose radius each pixel has for itself, by a table of sums.
class Radius : public Generator<Radius> {
public:
    Input<Buffer<uint8_t, 2>> input{"input"};
    Input<Buffer<uint8_t, 2>> radius{"radius"};
    Output<Buffer<uint8_t, 2>> output{"output"};

    void generate() {
        const int width = 1024, height = 768;
        Var x("x"), y("y"), xo("xo");
        Func row("row"), table("table");
        RDom a(1, width - 1, "a"), b(1, height - 1, "b");
        row(x, y) = cast<uint32_t>(input(x, y));
        row(a, y) += row(a - 1, y);
        table(x, y) = row(x, y);
        table(x, b) += table(x, b - 1);
        Expr r = cast<int>(radius(x, y) % 16) + 1;
        Expr left = max(x - r, 0), right = min(x + r, width - 1), top = max(y - r, 0), bottom = min(y + r, height - 1);
        Expr sum = table(right, bottom) - table(left, bottom) - table(right, top) + table(left, top);
        output(x, y) = cast<uint8_t>(sum / cast<uint32_t>(max((right - left) * (bottom - top), 1)));
        input.set_estimates({{0, width}, {0, height}});
        radius.set_estimates({{0, width}, {0, height}});
        output.set_estimates({{0, width}, {0, height}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<uint32_t>();
        row.compute_root().vectorize(x, vec).parallel(y, 16).update().parallel(y, 16);
        table.compute_root().vectorize(x, vec).parallel(y, 16);
        table.update().split(x, xo, x, 16 * vec).reorder(x, b, xo).vectorize(x, vec).parallel(xo);
        output.vectorize(x, vec).parallel(y, 16);
    }
};

// Histograms of oriented gradients: cells of eight by eight pixels count in nine directions,
// and four cells at a time are normalised.
class Gradients : public Generator<Gradients> {
public:
    Input<Buffer<uint8_t, 2>> input{"input"};
    Output<Buffer<float, 3>> output{"output"};  // feature, cell's column and row

    void generate() {
        Var x("x"), y("y"), o("o"), f("f"), yi("yi");
        Func in = BoundaryConditions::repeat_edge(input);
        Func dx("dx"), dy("dy"), length("length"), direction("direction"), cell("cell"), energy("energy");
        dx(x, y) = cast<float>(cast<int>(in(x + 1, y)) - cast<int>(in(x - 1, y)));
        dy(x, y) = cast<float>(cast<int>(in(x, y + 1)) - cast<int>(in(x, y - 1)));
        length(x, y) = sqrt(dx(x, y) * dx(x, y) + dy(x, y) * dy(x, y));
        const float step = 0.349066f;
        Expr best = cast<uint8_t>(0), most = -1e9f;
        for (int i = 0; i < 9; i++) {
            Expr along = abs(dx(x, y) * std::cos(i * step) + dy(x, y) * std::sin(i * step));
            best = select(along > most, cast<uint8_t>(i), best);
            most = max(along, most);
        }
        direction(x, y) = best;
        RDom r(0, 8, 0, 8, "r"), n(0, 9, "n");
        Expr px = 8 * x + r.x, py = 8 * y + r.y;
        cell(o, x, y) = 0.f;
        cell(clamp(cast<int>(direction(px, py)), 0, 8), x, y) += length(px, py);
        energy(x, y) += cell(n, x, y) * cell(n, x, y);
        Expr e = energy(x, y) + energy(x + 1, y) + energy(x, y + 1) + energy(x + 1, y + 1) + 1.f, q = f / 9;
        output(f, x, y) = min(cell(f % 9, x + q % 2, y + q / 2) / sqrt(e), 0.2f);
        output.dim(0).set_bounds(0, 36);
        input.set_estimates({{0, 1288}, {0, 728}});
        output.set_estimates({{0, 36}, {0, 160}, {0, 90}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.split(y, y, yi, 15).parallel(y).unroll(f);
        cell.store_at(output, y).compute_at(output, yi).unroll(o).update().reorder(r.x, r.y, x, y).unroll(r.x);
        energy.store_at(output, y).compute_at(output, yi).update().unroll(n);
        length.compute_at(cell, y).vectorize(x, vec);
        direction.compute_at(cell, y).vectorize(x, vec);
    }
};

// Colours by a table of 33 steps along each of three, between eight of its entries.
class ColorTable : public Generator<ColorTable> {
public:
    Input<Buffer<uint8_t, 3>> input{"input"};  // channel, x, y
    Input<Buffer<float, 4>> table{"table"};     // channel, red, green, blue
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        Var x("x"), y("y"), c("c"), xi("xi");
        Expr at[3], part[3];
        for (int k = 0; k < 3; k++) {
            Expr v = cast<float>(input(k, x, y)) * (32.f / 255.f);
            at[k] = clamp(cast<int>(v), 0, 31);
            part[k] = v - at[k];
        }
        auto red = [&](int g, int b) {
            return lerp(table(c, at[0], at[1] + g, at[2] + b), table(c, at[0] + 1, at[1] + g, at[2] + b), part[0]);
        };
        Expr mean = lerp(lerp(red(0, 0), red(1, 0), part[1]), lerp(red(0, 1), red(1, 1), part[1]), part[2]);
        output(c, x, y) = cast<uint8_t>(clamp(mean * 255.f + 0.5f, 0.f, 255.f));
        input.dim(0).set_bounds(0, 3);
        output.dim(0).set_bounds(0, 3);
        table.dim(0).set_bounds(0, 4);
        input.set_estimates({{0, 3}, {0, 1280}, {0, 720}});
        table.set_estimates({{0, 4}, {0, 33}, {0, 33}, {0, 33}});
        output.set_estimates({{0, 3}, {0, 1280}, {0, 720}});
        if (using_autoscheduler()) return;
        output.unroll(c).split(x, x, xi, natural_vector_size<float>()).reorder(c, xi, x, y).vectorize(xi).parallel(y, 8);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Deposit, deposit)
HALIDE_REGISTER_GENERATOR(Turned, turned)
HALIDE_REGISTER_GENERATOR(Noise, noise)
HALIDE_REGISTER_GENERATOR(Projection, projection)
HALIDE_REGISTER_GENERATOR(Radius, radius)
HALIDE_REGISTER_GENERATOR(Gradients, gradients)
HALIDE_REGISTER_GENERATOR(ColorTable, color_table)
