// A hand-written schedule that says one thing more than directives can, or none.

#include "Halide.h"

namespace {

using namespace Halide;

class Own : public Generator<Own> {
public:
    GeneratorParam<std::string> also{"also", "nothing"};
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        doubled(x, y) = input(x, y) * 2.0f;
        if (std::string(also) == "stages" && !using_autoscheduler()) doubled(x, y) += 0.0f;
        output(x, y) = doubled(x, y) + doubled(x, y + 1);
        input.dim(0).set_bounds(0, 64);  // the algorithm's own promise, which every build makes
        input.set_estimates({{0, 64}, {0, 65}});
        output.set_estimates({{0, 64}, {0, 64}});
    }

    void schedule() {
        if (using_autoscheduler()) return;
        const std::string a = also;
        Var x("x"), y("y");
        output.parallel(y).vectorize(x, 8);
        doubled.compute_at(output, y).vectorize(x, 8);
        if (a == "extent") output.dim(1).set_bounds(0, output.height() / 2 * 2);
        if (a == "stride") input.dim(1).set_stride(64);
        if (a == "alignment") output.set_host_alignment(32);
        if (a == "async") doubled.store_root().compute_root().async();
        if (a == "partition") doubled.never_partition(y);
        if (a == "specialize") output.specialize(input.height() > 16);
        if (a == "memory") doubled.store_in(MemoryType::LockedCache);
    }

private:
    Func doubled{"doubled"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Own, own)
