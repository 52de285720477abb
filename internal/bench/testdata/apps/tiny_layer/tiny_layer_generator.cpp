#include "Halide.h"

// Products of a vector's elements with a matrix's rows; its layers differ in size.
class TinyLayer : public Halide::Generator<TinyLayer> {
public:
    GeneratorParam<int> channels{"channels", 32};
    Input<Buffer<float, 2>> weights{"weights"};
    Input<Buffer<float, 1>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Halide::Var c{"c"};
        Halide::RDom k(0, channels, "k");
        Halide::Func sum{"sum"};
        sum(c) = 0.f;
        sum(c) += weights(c, k) * input(k);
        output(c) = Halide::max(sum(c), 0.f);
        weights.dim(0).set_estimate(0, 256).dim(1).set_estimate(0, channels);
        input.dim(0).set_estimate(0, channels);
        output.set_estimates({{0, 256}});
        if (!using_autoscheduler()) {
            output.vectorize(c, 8);
            sum.compute_root().vectorize(c, 8).update().vectorize(c, 8);
        }
    }
};

HALIDE_REGISTER_GENERATOR(TinyLayer, tiny_layer)
