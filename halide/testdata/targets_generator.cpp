// Builds that are called or stored in ways of their own.
#include "Halide.h"

namespace {

using namespace Halide;

// As large as its input; the other input is only in a requirement.
class Sized : public Generator<Sized> {
public:
    Input<Buffer<uint16_t, 2>> input{"input"};
    Input<int64_t> least{"least", 1};
    Output<Buffer<uint16_t, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        Func rows("rows"), padded = BoundaryConditions::repeat_edge(input);
        rows(x, y) = padded(x - 1, y) / 4 + padded(x, y) / 2 + padded(x + 1, y) / 4;
        output(x, y) = rows(x, y - 1) / 4 + rows(x, y) / 2 + rows(x, y + 1) / 4;
        add_requirement(Expr(least) == Expr((int64_t(1) << 53) + 1), "least was rounded");

        output.bound(x, 0, input.width()).bound(y, 0, input.height());
        input.set_estimates({{0, 2048}, {0, 1024}});
        least.set_estimate((int64_t(1) << 53) + 1);
    }
};

// Three channels in pixels of four or in planes, and rows of more pixels than the image has.
class Padded : public Generator<Padded> {
public:
    Input<Buffer<uint8_t, 3>> input{"input"};
    Input<Buffer<uint8_t, 3>> planes{"planes"};
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        Var x("x"), y("y"), c("c");
        output(x, y, c) = input(x + 1, y, c) / 2 + planes(x, y, c) / 2;
        for (auto *buffer : {&input, &planes}) buffer->set_estimates({{0, 321}, {0, 200}, {0, 3}});
        output.set_estimates({{0, 320}, {0, 200}, {0, 3}});
        input.dim(0).set_stride(4).dim(1).set_stride(2048).dim(2).set_stride(1);
        planes.dim(1).set_stride(1 << 16);
        output.dim(0).set_stride(4).dim(1).set_stride(1536).dim(2).set_stride(1);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Sized, sized)
HALIDE_REGISTER_GENERATOR(Padded, padded)
