// The heart of a JPEG encoder: the discrete cosine transform of blocks of 8x8 pixels
// and the quantisation of its coefficients. ITU-T T.81 (1992), sections A.3.3 and
// A.3.4; N. Ahmed, T. Natarajan and K. R. Rao, "Discrete Cosine Transform", IEEE
// Transactions on Computers 1974.

#include "Halide.h"

namespace {

using namespace Halide;

class Dct : public Generator<Dct> {
public:
    // Both sides are multiples of eight.
    Input<Buffer<uint8_t, 2>> input{"input"};
    // What each coefficient of a block is divided by; zero counts as one.
    Input<Buffer<uint8_t, 2>> quantum{"quantum"};
    // The coefficient (u, v) of a block stands at the place of its pixel (u, v).
    Output<Buffer<int16_t, 2>> output{"output"};

    void generate() {
        // The basis function u at pixel i.
        Expr angle = (2 * i + 1) * u * (float)(M_PI / (2 * side));
        basis(u, i) = cos(angle) * select(u == 0, (float)std::sqrt(0.125), 0.5f);
        factor(u, v) = 1.0f / max(quantum(u, v), 1);

        // In block (bx, by): along its rows, then down its columns.
        RDom r(0, side, "r");
        Expr pixel = cast<float>(input(side * bx + r, side * by + i)) - 128.0f;
        across(u, i, bx, by) += basis(u, r) * pixel;
        both(u, v, bx, by) += basis(v, r) * across(u, r, bx, by);

        Expr scaled = both(x % side, y % side, x / side, y / side) * factor(x % side, y % side);
        output(x, y) = cast<int16_t>(round(scaled));

        const int width = 1536, height = 2560;
        input.set_estimates({{0, width}, {0, height}});
        quantum.set_estimates({{0, side}, {0, side}});
        output.set_estimates({{0, width}, {0, height}});

        if (!using_autoscheduler()) {
            schedule_by_hand(r);
        }
    }

private:
    static constexpr int side = 8;

    Var x{"x"}, y{"y"}, u{"u"}, v{"v"}, i{"i"}, bx{"bx"}, by{"by"};
    Func basis{"basis"}, factor{"factor"}, across{"across"}, both{"both"};

    void schedule_by_hand(RDom r) {
        // A vector is a row of a block's coefficients, whatever the machine's width. A
        // block is transformed in registers, both passes unrolled.
        Var column("column"), row("row");
        output.align_bounds(x, side)
            .align_bounds(y, side)
            .tile(x, y, bx, by, column, row, side, side)
            .vectorize(column)
            .unroll(row)
            .parallel(by);
        basis.compute_root();
        factor.compute_root();
        for (Func pass : {across, both}) {
            Var second = pass.args()[1];
            pass.compute_at(output, bx)
                .bound_extent(u, side)
                .bound_extent(second, side)
                .vectorize(u)
                .unroll(second)
                .update()
                .reorder(u, second, r)
                .vectorize(u)
                .unroll(second)
                .unroll(r);
        }
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Dct, dct)
