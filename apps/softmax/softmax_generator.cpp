// The softmax of every row of a matrix, as in the attention of A. Vaswani et al.,
// "Attention Is All You Need", NIPS 2017. The row's maximum is subtracted first, so
// that no exponential overflows.

#include "Halide.h"

namespace {

using namespace Halide;

class Softmax : public Generator<Softmax> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        RDom r(0, input.dim(0).extent(), "r");
        largest(y) = input.type().min();
        largest(y) = max(largest(y), input(r, y));
        power(x, y) = exp(input(x, y) - largest(y));
        total(y) += power(r, y);
        output(x, y) = power(x, y) / total(y);

        const int width = 1024, rows = 4096;
        input.set_estimates({{0, width}, {0, rows}});
        output.set_estimates({{0, width}, {0, rows}});

        if (!using_autoscheduler()) {
            schedule_by_hand(r);
        }
    }

private:
    Var x{"x"}, y{"y"};
    Func largest{"largest"}, power{"power"}, total{"total"};

    void schedule_by_hand(RDom r) {
        // A row is gone through while it lies in the nearest cache. Its reductions are
        // split over the lanes of several vectors, which are reduced at the end.
        const int vec = natural_vector_size<float>();
        Var strip("strip");
        output.split(y, strip, y, 16)
            .vectorize(x, vec)
            .parallel(strip);
        power.compute_at(output, y)
            .vectorize(x, vec);
        Var lane("lane");
        RVar step("step"), part("part");
        for (Func reduced : {largest, total}) {
            reduced.compute_at(output, y)
                .update()
                .split(r, step, part, 4 * vec, TailStrategy::GuardWithIf);
            Func lanes = reduced.update().rfactor(part, lane);
            lanes.compute_at(output, y)
                .vectorize(lane, vec)
                .unroll(lane)
                .update()
                .reorder(lane, step)
                .vectorize(lane, vec)
                .unroll(lane);
        }
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Softmax, softmax)
