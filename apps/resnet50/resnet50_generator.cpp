// One convolution layer of ResNet-50 with what follows it: batch normalisation, the
// shortcut's addition at the end of a block, and the rectified linear unit. K. He et
// al., "Deep Residual Learning for Image Recognition", CVPR 2016; normalisation as at
// inference in S. Ioffe and C. Szegedy, "Batch Normalization", ICML 2015. layers.csv
// lists the parameters of all distinct layers of the network.

#include "Halide.h"

namespace {

using namespace Halide;

class ResNet50Layer : public Generator<ResNet50Layer> {
public:
    GeneratorParam<int> channels_in{"channels_in", 64};
    GeneratorParam<int> channels_out{"channels_out", 64};
    // Side of the filters, and pixels of the input for each pixel of the output.
    GeneratorParam<int> kernel{"kernel", 3};
    GeneratorParam<int> stride{"stride", 1};
    // Side of the output, in pixels.
    GeneratorParam<int> size{"size", 56};
    // The shortcut is an input of its own, of the output's shape.
    GeneratorParam<bool> shortcut{"shortcut", false};
    GeneratorParam<bool> relu{"relu", true};

    // Channels are innermost in memory: (channel, x, y).
    Input<Buffer<float, 3>> input{"input"};
    // (output channel, x tap, y tap, input channel)
    Input<Buffer<float, 4>> filter{"filter"};
    // Of every output channel: what was measured in training, and what was learned.
    Input<Buffer<float, 1>> mean{"mean"};
    Input<Buffer<float, 1>> variance{"variance"};
    Input<Buffer<float, 1>> gamma{"gamma"};
    Input<Buffer<float, 1>> beta{"beta"};

    void configure() {
        if (shortcut) {
            shortcut_input = add_input<Buffer<float, 3>>("shortcut_input");
        }
        output = add_output<Buffer<float, 3>>("output");
    }

    void generate() {
        const int side = (int)size * (int)stride, border = (kernel - 1) / 2;
        padded = BoundaryConditions::constant_exterior(input, 0.0f, {{Expr(), Expr()}, {0, side}, {0, side}});

        RDom r(0, channels_in, 0, kernel, 0, kernel, "r");
        sum(c, x, y) += filter(c, r.y, r.z, r.x) * padded(r.x, stride * x + r.y - border, stride * y + r.z - border);

        factor(c) = gamma(c) / sqrt(variance(c) + 1e-5f);
        Expr value = (sum(c, x, y) - mean(c)) * factor(c) + beta(c);
        if (shortcut) {
            value += (*shortcut_input)(c, x, y);
        }
        (*output)(c, x, y) = relu ? max(value, 0.0f) : value;

        // A network is compiled for its own shapes.
        fix_shape(input, {channels_in, side, side});
        fix_shape(filter, {channels_out, kernel, kernel, channels_in});
        fix_shape(mean, {channels_out});
        fix_shape(variance, {channels_out});
        fix_shape(gamma, {channels_out});
        fix_shape(beta, {channels_out});
        if (shortcut) {
            fix_shape(*shortcut_input, {channels_out, size, size});
        }
        fix_shape(*output, {channels_out, size, size});

        if (!using_autoscheduler()) {
            schedule_by_hand(r);
        }
    }

private:
    Var c{"c"}, x{"x"}, y{"y"};
    Func padded, sum{"sum"}, factor{"factor"};
    Input<Buffer<float, 3>> *shortcut_input = nullptr;
    Output<Buffer<float, 3>> *output = nullptr;

    template<typename Port>
    void fix_shape(Port &port, const std::vector<int> &extents) {
        int step = 1;
        for (int d = 0; d < (int)extents.size(); d++) {
            port.dim(d).set_bounds(0, extents[d]).set_stride(step).set_estimate(0, extents[d]);
            step *= extents[d];
        }
    }

    void schedule_by_hand(RDom r) {
        // A block of sums lives in registers for the whole reduction: 14 of 32, or 8 of
        // 16. Every side in the network is a multiple of seven and every number of
        // output channels one of 64.
        const Target &t = get_target();
        const bool many_registers = t.has_feature(Target::AVX512) ||
                                    t.has_feature(Target::AVX512_Skylake) ||
                                    (t.arch == Target::ARM && t.bits == 64);
        const int vectors = 2, pixels = many_registers ? 7 : 4;
        const int vec = natural_vector_size<float>();
        Var block("block"), step("step"), task("task");

        Func out(*output);
        out.split(c, block, c, vec * vectors)
            .split(x, step, x, pixels)
            .reorder(c, x, step, y, block)
            .vectorize(c, vec)
            .unroll(c)
            .unroll(x)
            .fuse(y, block, task)
            .parallel(task);
        sum.compute_at(out, step)
            .vectorize(c, vec)
            .unroll(c)
            .unroll(x)
            .update()
            .reorder(c, x, r.x, r.y, r.z)
            .vectorize(c, vec)
            .unroll(c)
            .unroll(x);
        factor.compute_root()
            .vectorize(c, vec);
        if (kernel > 1) {
            padded.compute_root()
                .parallel(_2)
                .vectorize(_0, vec, TailStrategy::GuardWithIf);
        }
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(ResNet50Layer, resnet50)
