// Kinds of long lists, of which each point has a few values that lie apart, with a schedule by
// hand each.

#include "Halide.h"

namespace {

using namespace Halide;

// Vertices, each moved by four of 64 bones.
class Skin : public Generator<Skin> {
public:
    Input<Buffer<float, 2>> vertex{"vertex"};   // point, coordinate
    Input<Buffer<uint8_t, 2>> bone{"bone"};     // point, which of four
    Input<Buffer<float, 2>> weight{"weight"};   // point, which of four
    Input<Buffer<float, 3>> matrix{"matrix"};   // coordinate, column, bone
    Output<Buffer<float, 2>> output{"output"};  // point, coordinate

    void generate() {
        Var c("c"), i("i"), k("k"), io("io"), ii("ii");
        RDom r(0, 4), rk(0, 4);
        Func mixed("mixed"), moved("moved");
        Expr which = clamp(cast<int>(bone(i, r)), 0, bones - 1);
        mixed(i, c, k) += weight(i, r) * matrix(c, k, which);
        moved(i, c) += mixed(i, c, rk) * select(rk == 3, 1.0f, vertex(i, min(rk, 2)));
        output(i, c) = moved(i, c);
        output.dim(1).set_bounds(0, 3);
        vertex.set_estimates({{0, points}, {0, 3}});
        bone.set_estimates({{0, points}, {0, 4}});
        weight.set_estimates({{0, points}, {0, 4}});
        matrix.set_estimates({{0, 3}, {0, 4}, {0, bones}});
        output.set_estimates({{0, points}, {0, 3}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.split(i, io, ii, 2048).reorder(c, ii, io).parallel(io).vectorize(ii, vec).unroll(c);
        moved.compute_at(output, ii).vectorize(i).unroll(c);
        moved.update().vectorize(i).unroll(c).unroll(rk);
        mixed.compute_at(output, ii).vectorize(i).unroll(c).unroll(k);
        mixed.update().reorder(i, c, k, r).vectorize(i).unroll(c).unroll(k);
    }

private:
    static constexpr int points = 200000, bones = 64;
};

// Inverses of matrices of 4 by 4, by the minors of two rows each.
class Inverses : public Generator<Inverses> {
public:
    Input<Buffer<float, 3>> input{"input"};     // matrix, column, row
    Output<Buffer<float, 3>> output{"output"};  // matrix, column, row

    void generate() {
        Var i("i"), k("k"), r("r"), c("c"), io("io"), ii("ii"), lane("lane");
        auto at = [&](int row, int column) { return Expr(input(i, column, row)); };
        // The minors of two rows, by the pairs of columns 01, 02, 03, 12, 13 and 23.
        auto minors = [&](Func f, int row) {
            std::vector<Expr> all;
            for (int a = 0; a < 4; a++) {
                for (int b = a + 1; b < 4; b++) all.push_back(at(row, a) * at(row + 1, b) - at(row + 1, a) * at(row, b));
            }
            f(i, k) = mux(k, all);
        };
        Func upper("upper"), lower("lower"), scale("scale");
        minors(upper, 0);
        minors(lower, 2);
        auto pair = [](int a, int b) { return a == 0 ? b - 1 : a == 1 ? b + 1 : 5; };
        Expr det = 1e-6f;
        for (int a = 0; a < 6; a++) {
            Expr term = upper(i, a) * lower(i, 5 - a);
            det += a == 1 || a == 4 ? -term : term;
        }
        scale(i) = 1.0f / det;
        // The cofactor of an element expands three columns of its row's neighbour by the
        // minors of the other two rows.
        std::vector<Expr> adjugate;
        for (int row = 0; row < 4; row++) {
            for (int column = 0; column < 4; column++) {
                const int of = column, left = row;  // of the cofactor: transposed
                Func &other = of < 2 ? lower : upper;
                const int beside = of ^ 1;
                std::vector<int> rest;
                for (int a = 0; a < 4; a++) {
                    if (a != left) rest.push_back(a);
                }
                Expr sum = at(beside, rest[0]) * other(i, pair(rest[1], rest[2])) - at(beside, rest[1]) * other(i, pair(rest[0], rest[2])) +
                           at(beside, rest[2]) * other(i, pair(rest[0], rest[1]));
                adjugate.push_back((of + left) % 2 == 0 ? sum : -sum);
            }
        }
        output(i, c, r) = mux(c + 4 * r, adjugate) * scale(i);
        output.dim(1).set_bounds(0, 4);
        output.dim(2).set_bounds(0, 4);
        input.set_estimates({{0, matrices}, {0, 4}, {0, 4}});
        output.set_estimates({{0, matrices}, {0, 4}, {0, 4}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        output.split(i, io, ii, 1024).split(ii, ii, lane, vec).reorder(lane, c, r, ii, io).vectorize(lane).unroll(c).unroll(r).parallel(io);
        upper.compute_at(output, ii).vectorize(i).unroll(k);
        lower.compute_at(output, ii).vectorize(i).unroll(k);
        scale.compute_at(output, ii).vectorize(i);
    }

private:
    static constexpr int matrices = 65536;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Skin, skin)
HALIDE_REGISTER_GENERATOR(Inverses, inverses)
