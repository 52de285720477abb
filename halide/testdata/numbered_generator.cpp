// Funcs that only a number tells apart. Of fourteen, seven a build, those of the second one
// have one digit and two.

#include "Halide.h"

namespace {

using namespace Halide;

class Numbered : public Generator<Numbered> {
public:
    GeneratorParam<std::string> name{"name", "none"};  // of all
    Input<Buffer<float, 1>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        const std::string called = name;
        Var x("x");
        Expr sum = 0.0f;
        for (int i = 0; i < 7; i++) {
            terms.push_back(called == "none" ? Func() : Func(called));
            terms[i](x) = input(x) * (i + 1.5f);
            sum += terms[i](x) * terms[i](x + 1);
        }
        output(x) = sum;
        input.set_estimates({{0, 257}});
        output.set_estimates({{0, 256}});
    }

    void schedule() {
        if (using_autoscheduler()) return;
        terms[1].compute_root();
        terms[5].compute_root().store_in(MemoryType::Stack);
    }

private:
    std::vector<Func> terms;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Numbered, numbered)
