// Bilateral guided upsampling: J. Chen et al., "Bilateral Guided Upsampling", SIGGRAPH
// Asia 2016. What a filter did to a small copy of an image is described by affine maps
// of colours on a coarse grid over place and intensity, and those are then applied to
// the large image.

#include "Halide.h"

namespace {

using namespace Halide;

class BilateralGuidedUpsampling : public Generator<BilateralGuidedUpsampling> {
public:
    // Size of a grid cell in intensity, of [0, 1], and in pixels of the small image.
    Input<float> r_sigma{"r_sigma"};
    Input<int> s_sigma{"s_sigma"};
    // The small image before and after the filter, and the large image.
    Input<Buffer<float, 3>> splat_loc{"splat_loc"};
    Input<Buffer<float, 3>> values{"values"};
    Input<Buffer<float, 3>> slice_loc{"slice_loc"};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        splat();
        smooth();
        fit();
        slice();

        const int small_width = 192, small_height = 320, scale = 8, channels = 3;
        r_sigma.set_estimate(1.0f / 8);
        s_sigma.set_estimate(16);
        splat_loc.set_estimates({{0, small_width}, {0, small_height}, {0, channels}});
        values.set_estimates({{0, small_width}, {0, small_height}, {0, channels}});
        slice_loc.set_estimates({{0, scale * small_width}, {0, scale * small_height}, {0, channels}});
        output.set_estimates({{0, scale * small_width}, {0, scale * small_height}, {0, channels}});

        if (!using_autoscheduler()) {
            schedule_by_hand();
        }
    }

private:
    // An affine map takes red, green, blue and one to red, green and blue.
    static constexpr int terms = 4, colors = 3;

    Var x{"x"}, y{"y"}, z{"z"}, c{"c"}, i{"i"}, j{"j"};
    Func splat_luma{"splat_luma"}, slice_luma{"slice_luma"}, moments{"moments"};
    RDom r;
    Func blur_z{"blur_z"}, blur_y{"blur_y"}, blur_x{"blur_x"};
    Func equations{"equations"}, maps{"maps"};
    Func maps_y{"maps_y"}, maps_z{"maps_z"};

    static Expr luma(const Func &f, const Var &x, const Var &y) {
        return 0.25f * f(x, y, 0) + 0.5f * f(x, y, 1) + 0.25f * f(x, y, 2);
    }

    // Where a pair's products are among a cell's moments: first the upper triangle of
    // the terms' Gram matrix row by row, then each colour's products with the terms.
    static int gram(int a, int b) {
        return a <= b ? a * (2 * terms - 1 - a) / 2 + b : gram(b, a);
    }
    static int cross(int color, int term) {
        return terms * (terms + 1) / 2 + terms * color + term;
    }

    // Adds up, in every cell, what least squares need of its pixels.
    void splat() {
        Func after = BoundaryConditions::repeat_edge(values);
        Func before = BoundaryConditions::repeat_edge(splat_loc);
        splat_luma(x, y) = luma(before, x, y);

        r = RDom(0, s_sigma, 0, s_sigma, "r");
        Expr sx = x * s_sigma + r.x - s_sigma / 2, sy = y * s_sigma + r.y - s_sigma / 2;
        Expr cell = cast<int>(round(clamp(splat_luma(sx, sy), 0.0f, 1.0f) * (1.0f / r_sigma)));
        Expr in[terms] = {before(sx, sy, 0), before(sx, sy, 1), before(sx, sy, 2), 1.0f};
        std::vector<Expr> products;
        for (int a = 0; a < terms; a++) {
            for (int b = a; b < terms; b++) {
                products.push_back(b == terms - 1 ? in[a] : in[a] * in[b]);
            }
        }
        for (int color = 0; color < colors; color++) {
            Expr out = after(sx, sy, color);
            for (int a = 0; a < terms; a++) {
                products.push_back(a == terms - 1 ? out : out * in[a]);
            }
        }
        moments(x, y, z, c) = 0.0f;
        moments(x, y, cell, c) += mux(c, products);
    }

    // A cell without pixels takes its map from those around it, with weights that fall
    // with the cube of the distance as Z. Farbman, R. Fattal and D. Lischinski,
    // "Convolution Pyramids", SIGGRAPH Asia 2011, propose for interpolation.
    void smooth() {
        auto blurred = [](const std::function<Expr(int)> &tap) {
            auto weight = [](int d) { return 1.0f / ((d + 1) * (d + 1) * (d + 1)); };
            Expr sum = tap(-3) * weight(3);
            for (int d = -2; d <= 3; d++) {
                sum += tap(d) * weight(std::abs(d));
            }
            return sum;
        };
        blur_z(x, y, z, c) = blurred([&](int d) { return moments(x, y, z + d, c); });
        blur_y(x, y, z, c) = blurred([&](int d) { return blur_z(x, y + d, z, c); });
        blur_x(x, y, z, c) = blurred([&](int d) { return blur_y(x + d, y, z, c); });
    }

    // Solves every cell's normal equations, pulled a little towards the identity, by the
    // factorisation L D L' that needs no square roots. The matrix and the right-hand
    // sides stand side by side in one Func, and every step is one update of it.
    void fit() {
        const float pull = 0.1f;
        equations(x, y, z, i, j) = undef<float>();
        auto at = [&](int row, int column) { return equations(x, y, z, row, column); };
        for (int row = 0; row < terms; row++) {
            for (int column = 0; column < terms; column++) {
                Expr moment = blur_x(x, y, z, gram(row, column));
                at(row, column) = row == column ? moment + pull : moment;
            }
            for (int color = 0; color < colors; color++) {
                Expr moment = blur_x(x, y, z, cross(color, row));
                at(row, terms + color) = row == color ? moment + pull : moment;
            }
        }

        // Below the diagonal L; on it the inverses of D; above it L D, which is what
        // the elimination has left there.
        for (int p = 0; p < terms; p++) {
            at(p, p) = fast_inverse(at(p, p));
            for (int row = p + 1; row < terms; row++) {
                at(row, p) = at(row, p) * at(p, p);
            }
            for (int row = p + 1; row < terms; row++) {
                for (int column = p + 1; column < row; column++) {
                    at(row, column) = at(column, row);
                }
                for (int column = row; column < terms; column++) {
                    at(row, column) -= at(column, p) * at(p, row);
                }
            }
        }

        std::vector<Expr> solution;
        for (int color = 0; color < colors; color++) {
            const int b = terms + color;
            for (int row = 0; row < terms; row++) {
                for (int k = 0; k < row; k++) {
                    at(row, b) -= at(row, k) * at(k, b);
                }
            }
            for (int row = 0; row < terms; row++) {
                at(row, b) = at(row, b) * at(row, row);
            }
            for (int row = terms - 1; row >= 0; row--) {
                for (int k = row + 1; k < terms; k++) {
                    at(row, b) -= at(k, row) * at(k, b);
                }
            }
            for (int term = 0; term < terms; term++) {
                solution.push_back(at(term, b));
            }
        }
        maps(x, y, z, c) = mux(c, solution);
    }

    // Each pixel of the large image goes through the map at its place, interpolated
    // along all three axes of the grid.
    void slice() {
        auto ratio = [&](int d) {
            return cast<int>(ceil(cast<float>(slice_loc.dim(d).extent()) / splat_loc.dim(d).extent()));
        };
        Expr side = s_sigma * max(ratio(0), ratio(1));
        auto cell = [&](const Var &v, Expr &whole, Expr &part) {
            Expr place = cast<float>(v) / side;
            whole = cast<int>(floor(place));
            part = place - whole;
        };
        Expr cx, fx, cy, fy;
        cell(x, cx, fx);
        cell(y, cy, fy);
        Func maps_x("maps_x"), depth("depth");
        maps_y(x, y, z, c) = lerp(maps(x, cy, z, c), maps(x, cy + 1, z, c), fy);
        maps_x(x, y, z, c) = lerp(maps_y(cx, y, z, c), maps_y(cx + 1, y, z, c), fx);

        slice_luma(x, y) = luma(slice_loc, x, y);
        Expr place = clamp(slice_luma(x, y), 0.0f, 1.0f) * cast<int>(1.0f / r_sigma);
        Expr cz = cast<int>(place);
        depth(x, y) = {cz, place - cz};
        Expr below = depth(x, y)[0], part = depth(x, y)[1];
        maps_z(x, y, c) = lerp(maps_x(x, y, below, c), maps_x(x, y, below + 1, c), part);

        Expr mapped = maps_z(x, y, terms * c + terms - 1);
        for (int term = terms - 2; term >= 0; term--) {
            mapped += maps_z(x, y, terms * c + term) * slice_loc(x, y, term);
        }
        output(x, y, c) = clamp(mapped, 0.0f, 1.0f);
    }

    void schedule_by_hand() {
        // Eight lanes whatever the machine: the grid is a dozen cells wide, and slicing
        // is gathers.
        const int vec = 8;

        // First the small image, a task for every row of the grid: its moments, blurred
        // in depth.
        blur_z.compute_root()
            .reorder(c, z, x, y)
            .parallel(y)
            .vectorize(x, vec);
        moments.compute_at(blur_z, y)
            .update()
            .reorder(c, r.x, r.y, x, y)
            .unroll(c);
        splat_luma.compute_at(blur_z, y)
            .vectorize(x, vec);

        // Then the other two blurs and the solution, again row by row.
        maps.compute_root()
            .reorder(c, x, z, y)
            .parallel(y)
            .vectorize(x, vec)
            .unroll(c);
        blur_y.compute_at(maps, z)
            .vectorize(x, vec);
        blur_x.compute_at(maps, x)
            .vectorize(x);
        equations.compute_at(maps, x);
        for (int u = 0; u < equations.num_update_definitions(); u++) {
            equations.update(u).vectorize(x);
        }

        // Then the large image. A row needs the maps between two rows of the grid, few
        // enough to stay in the nearest cache.
        Var strip("strip");
        output.compute_root()
            .bound(c, 0, colors)
            .split(y, strip, y, 8)
            .reorder(c, x, y, strip)
            .parallel(strip)
            .vectorize(x, vec)
            .unroll(c);
        maps_y.compute_at(output, y)
            .vectorize(x, vec);
        maps_z.compute_at(output, x)
            .reorder(c, x, y)
            .unroll(c)
            .vectorize(x);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(BilateralGuidedUpsampling, bgu)
