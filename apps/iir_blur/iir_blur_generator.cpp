// A recursive (infinite impulse response) low-pass filter of the first order, run
// down and up the columns and then along the rows both ways, as in R. Deriche,
// "Recursively implementing the Gaussian and its derivatives", INRIA 1993, of which
// this is the simplest case.

#include "Halide.h"

namespace {

using namespace Halide;

class IirBlur : public Generator<IirBlur> {
public:
    GeneratorParam<int> width{"width", 1536};
    GeneratorParam<int> height{"height", 2560};

    Input<Buffer<float, 3>> input{"input"};
    // The weight of a new pixel against the filter's memory.
    Input<float> alpha{"alpha"};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        // Both passes are the same: columns are filtered, and the result is transposed.
        Func columns = filtered_and_transposed(input, input.height(), "columns");
        output = filtered_and_transposed(columns, input.width(), "rows");

        // Shapes are fixed, strides too, as one would for a camera's frames.
        fix_shape(input);
        fix_shape(output);
        alpha.set_estimate(0.1f);

        if (!using_autoscheduler()) {
            for (const Pass &pass : passes) {
                schedule_by_hand(pass);
            }
        }
    }

private:
    struct Pass {
        Func filtered, transposed;
        RVar row;
    };

    Var x{"x"}, y{"y"}, c{"c"};
    std::vector<Pass> passes;

    template<typename Port>
    void fix_shape(Port &port) {
        const int extents[] = {width, height, 3};
        int stride = 1;
        for (int d = 0; d < 3; d++) {
            port.dim(d).set_bounds(0, extents[d]).set_stride(stride).set_estimate(0, extents[d]);
            stride *= extents[d];
        }
    }

    Func filtered_and_transposed(Func in, const Expr &rows, const std::string &name) {
        RDom r(1, rows - 1, "r");
        Expr up = rows - 1 - r;
        Func filtered("filtered_" + name), transposed(name);
        filtered(x, y, c) = undef<float>();
        filtered(x, 0, c) = in(x, 0, c);
        filtered(x, r, c) = (1 - alpha) * filtered(x, r - 1, c) + alpha * in(x, r, c);
        filtered(x, up, c) = (1 - alpha) * filtered(x, up + 1, c) + alpha * filtered(x, up, c);
        transposed(x, y, c) = filtered(y, x, c);
        passes.push_back({filtered, transposed, r.x});
        return transposed;
    }

    void schedule_by_hand(const Pass &pass) {
        // A task filters a few columns over their whole height: a few vectors wide, as
        // every step waits for the one before it, and little enough that both passes
        // over it and the transposition find it in the second-level cache.
        const int vec = natural_vector_size<float>();
        const int columns = 4 * vec;
        Var tile("tile"), task("task");
        Func filtered = pass.filtered, transposed = pass.transposed;
        transposed.compute_root()
            .tile(x, y, tile, task, x, y, vec, columns)
            .vectorize(x)
            .parallel(task)
            .parallel(c);
        filtered.compute_at(transposed, task);
        filtered.update(0)
            .vectorize(x, vec);
        for (int pass_down_or_up : {1, 2}) {
            filtered.update(pass_down_or_up)
                .reorder(x, pass.row)
                .vectorize(x, vec)
                .unroll(x);
        }
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(IirBlur, iir_blur)
