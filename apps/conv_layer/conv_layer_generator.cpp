// One layer of a convolutional network: 3x3 filters over all input channels,
// a bias, and a rectified linear unit (V. Nair and G. Hinton, "Rectified Linear
// Units Improve Restricted Boltzmann Machines", ICML 2010).

#include "Halide.h"

namespace {

using namespace Halide;

class ConvLayer : public Generator<ConvLayer> {
public:
    // Channels are innermost in memory: (channel, x, y, image).
    Input<Buffer<float, 4>> input{"input"};
    // (output channel, x tap, y tap, input channel)
    Input<Buffer<float, 4>> filter{"filter"};
    Input<Buffer<float, 1>> bias{"bias"};
    Output<Buffer<float, 4>> relu{"relu"};

    void generate() {
        const int images = 5, channels_in = 128, channels_out = 128, width = 100, height = 80;

        RDom r(0, channels_in, 0, taps, 0, taps, "r");
        sum(c, x, y, n) = bias(c);
        sum(c, x, y, n) += filter(c, r.y, r.z, r.x) * input(r.x, x + r.y, y + r.z, n);
        relu(c, x, y, n) = max(0.0f, sum(c, x, y, n));

        // A network is compiled for its own shapes. Fixing them, strides too,
        // turns every address into a constant offset from one pointer.
        fix_shape(input, {channels_in, width + taps - 1, height + taps - 1, images});
        fix_shape(filter, {channels_out, taps, taps, channels_in});
        fix_shape(bias, {channels_out});
        fix_shape(relu, {channels_out, width, height, images});

        if (!using_autoscheduler()) {
            schedule_by_hand(r);
        }
    }

private:
    static constexpr int taps = 3;

    Var c{"c"}, x{"x"}, y{"y"}, n{"n"};
    Func sum{"sum"};

    template<typename Port>
    void fix_shape(Port &port, const std::vector<int> &extents) {
        int stride = 1;
        for (int d = 0; d < (int)extents.size(); d++) {
            port.dim(d).set_bounds(0, extents[d]).set_stride(stride).set_estimate(0, extents[d]);
            stride *= extents[d];
        }
    }

    void schedule_by_hand(RDom r) {
        // A block of accumulators lives in registers for the whole reduction.
        // Each step loads `vectors` filter vectors and one input value for each
        // of `pixels` pixels, and does vectors * pixels multiply-adds, so a
        // squarish block needs the fewest loads. It has to leave registers for
        // the filter vectors: 16 in all, or 32 with AVX-512 and on 64-bit Arm.
        const Target &t = get_target();
        const bool many_registers = t.has_feature(Target::AVX512) ||
                                    t.has_feature(Target::AVX512_Skylake) ||
                                    (t.arch == Target::ARM && t.bits == 64);
        const int vectors = many_registers ? 4 : 3;
        const int pixels = many_registers ? 5 : 4;
        const int vec = natural_vector_size<float>();

        Var block("block"), strip("strip");
        relu.split(c, block, c, vec * vectors)
            .split(x, strip, x, pixels)
            .reorder(c, x, strip, y, n, block)
            .vectorize(c, vec)
            .unroll(c)
            .unroll(x)
            // One block of output channels reads a slice of the filters that
            // stays in the second-level cache while rows and images go by.
            .parallel(y)
            .parallel(n)
            .parallel(block);

        sum.compute_at(relu, strip)
            .vectorize(c, vec)
            .unroll(c)
            .unroll(x)
            .update()
            .reorder(c, x, r.x, r.y, r.z)
            .vectorize(c, vec)
            .unroll(c)
            .unroll(x)
            .unroll(r.x, 2);

        // Filter vectors are loaded once a step and shared by the pixels.
        filter.in()
            .compute_at(sum, r.x)
            .vectorize(_0, vec)
            .unroll(_0)
            .unroll(_3);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(ConvLayer, conv_layer)
