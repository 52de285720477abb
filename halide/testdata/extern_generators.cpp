// Pipelines that call functions of their own program, as an expression and as a stage, and
// one that calls a function of the C library.

#include "Halide.h"

extern "C" float protuner_test_twice(float x) { return 2.0f * x; }

extern "C" int protuner_test_stage(halide_buffer_t *out) {
    float *at = (float *)out->host;
    for (int i = 0; at && i < out->dim[0].extent; i++) at[i * out->dim[0].stride] = 1.0f;
    return 0;
}

namespace {

using namespace Halide;

HalideExtern_1(float, protuner_test_twice, float);
HalidePureExtern_1(float, cbrtf, float);

class Externs : public Generator<Externs> {
public:
    GeneratorParam<std::string> call{"call", "library"};
    Input<Buffer<float, 1>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        Var x("x");
        Func ones("ones");
        const std::string c = call;
        ones.define_extern("protuner_test_stage", {}, Float(32), {x});
        if (c == "library") output(x) = cbrtf(input(x));
        if (c == "function") output(x) = protuner_test_twice(input(x));
        if (c == "stage") output(x) = ones(x) + input(x);
        input.set_estimates({{0, 64}});
        output.set_estimates({{0, 64}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Externs, externs)
