// The mean over a square around every pixel, rounded to the nearest integer, as
// column sums and then sums of those. See R. C. Gonzalez and R. E. Woods, "Digital
// Image Processing".

#include "Halide.h"

namespace {

using namespace Halide;

class BoxBlur : public Generator<BoxBlur> {
public:
    // The square's side is 2 * radius + 1. Sums of one have to fit 16 bits.
    GeneratorParam<int> radius{"radius", 5, 1, 7};

    Input<Buffer<uint8_t, 2>> input{"input"};
    Output<Buffer<uint8_t, 2>> output{"output"};

    void generate() {
        Func edge = BoundaryConditions::repeat_edge(input);
        const int reach = radius, side = 2 * reach + 1;
        RDom r(-reach, side, "r");
        column(x, y) += cast<uint16_t>(edge(x, y + r));
        square(x, y) += column(x + r, y);
        const int area = side * side;
        output(x, y) = cast<uint8_t>((square(x, y) + area / 2) / cast<uint16_t>(area));

        const int width = 1536, height = 2560;
        input.set_estimates({{0, width}, {0, height}});
        output.set_estimates({{0, width}, {0, height}});

        if (!using_autoscheduler()) {
            schedule_by_hand(r);
        }
    }

private:
    Var x{"x"}, y{"y"};
    Func column{"column"}, square{"square"};

    void schedule_by_hand(RDom r) {
        // Strips of rows in parallel. A row's column sums are made for it alone; each
        // sum stays in a register through its reduction.
        const int vec = natural_vector_size<uint16_t>();
        Var xv("xv"), block("block"), strip("strip");
        output.split(x, x, xv, vec)
            .vectorize(xv)
            .split(y, strip, y, 32)
            .parallel(strip);
        square.compute_at(output, x)
            .vectorize(x)
            .update()
            .reorder(x, r)
            .vectorize(x)
            .unroll(r);
        Func columns = column.in(square);
        columns.compute_at(output, y)
            .split(x, block, x, vec)
            .vectorize(x);
        column.compute_at(columns, block)
            .vectorize(x)
            .update()
            .reorder(x, r)
            .vectorize(x)
            .unroll(r);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(BoxBlur, box_blur)
