// A depthwise separable convolution with bias and rectified linear unit, in the shape
// of the second layer of M. Sandler et al., "MobileNetV2: Inverted Residuals and
// Linear Bottlenecks", CVPR 2018: every input channel is convolved with filters of
// its own, and the results are mixed pixel by pixel.

#include "Halide.h"

namespace {

using namespace Halide;

class DepthwiseSeparableConv : public Generator<DepthwiseSeparableConv> {
public:
    // Channels are innermost in memory: (channel, x, y, image).
    Input<Buffer<float, 4>> input{"input"};
    // (multiplier, input channel, x tap, y tap). Each input channel makes `multiplier`
    // channels, and channel d of them reads input channel d / multiplier.
    Input<Buffer<float, 4>> depthwise_filter{"depthwise_filter"};
    // (output channel, channel of the depthwise result)
    Input<Buffer<float, 2>> pointwise_filter{"pointwise_filter"};
    Input<Buffer<float, 1>> bias{"bias"};
    Output<Buffer<float, 4>> output{"output"};

    void generate() {
        // Zero outside the image. Coordinates are clamped and values selected, so that
        // loops need no special cases at the image's borders.
        Expr inside = x >= 0 && x < input.dim(1).extent() && y >= 0 && y < input.dim(2).extent();
        Expr near_x = clamp(x, 0, input.dim(1).max()), near_y = clamp(y, 0, input.dim(2).max());
        padded(d, x, y, b) = select(inside, input(d, near_x, near_y, b), 0.0f);

        Expr multiplier = depthwise_filter.dim(0).extent();
        Expr taps_x = depthwise_filter.dim(2).extent(), taps_y = depthwise_filter.dim(3).extent();
        RDom r({{0, multiplier}, {0, taps_x}, {0, taps_y}}, "r");
        depthwise(d, x, y, b) += depthwise_filter(r.x, d, r.y, r.z) *
                                 padded(d / multiplier, x + r.y - taps_x / 2, y + r.z - taps_y / 2, b);

        RDom k(0, pointwise_filter.dim(1).extent(), "k");
        pointwise(d, x, y, b) = bias(d);
        pointwise(d, x, y, b) += pointwise_filter(d, k) * depthwise(k, x, y, b);
        output(d, x, y, b) = max(pointwise(d, x, y, b), 0.0f);

        const int channels_in = 32, channels_out = 16, width = 112, height = 112, images = 4, taps = 3;
        input.set_estimates({{0, channels_in}, {0, width}, {0, height}, {0, images}});
        depthwise_filter.set_estimates({{0, 1}, {0, channels_in}, {0, taps}, {0, taps}});
        pointwise_filter.set_estimates({{0, channels_out}, {0, channels_in}});
        bias.set_estimates({{0, channels_out}});
        output.set_estimates({{0, channels_out}, {0, width}, {0, height}, {0, images}});

        if (!using_autoscheduler()) {
            schedule_by_hand(r, k, multiplier, taps);
        }
    }

private:
    Var d{"d"}, x{"x"}, y{"y"}, b{"b"};
    Func padded{"padded"}, depthwise{"depthwise"}, pointwise{"pointwise"};

    void schedule_by_hand(RDom r, RDom k, const Expr &multiplier, int taps) {
        // A block of output sums in registers, 24 of 32 or 12 of 16. The depthwise
        // result is made for the block's pixels, a vector of channels at a time, when
        // the reduction over channels comes to them.
        const Target &t = get_target();
        const bool many_registers = t.has_feature(Target::AVX512) ||
                                    t.has_feature(Target::AVX512_Skylake) ||
                                    (t.arch == Target::ARM && t.bits == 64);
        const int vec = natural_vector_size<float>();
        const int width = many_registers ? 6 : 4, height = many_registers ? 4 : 3;

        Var dv("dv"), xi("xi"), yi("yi"), row("row");
        RVar slice("slice"), channel("channel");
        Func out(output);
        out.tile({d, x, y}, {dv, xi, yi}, {vec, width, height})
            .vectorize(dv)
            .unroll(xi)
            .unroll(yi)
            .fuse(y, b, row)
            .parallel(row);
        pointwise.compute_at(output, d)
            .vectorize(d)
            .unroll(x)
            .unroll(y)
            .update()
            .split(k, slice, channel, vec)
            .reorder(d, x, y, channel, slice)
            .vectorize(d)
            .unroll(x)
            .unroll(y);
        depthwise.compute_at(pointwise, slice)
            .store_in(MemoryType::Stack)
            .bound_extent(d, vec)
            .vectorize(d)
            .unroll(x)
            .unroll(y)
            .update()
            .reorder(d, x, y, r.x, r.y, r.z)
            .vectorize(d)
            .unroll(x)
            .unroll(y);
        padded.compute_at(pointwise, slice)
            .store_in(MemoryType::Stack)
            .vectorize(d, vec, TailStrategy::RoundUp)
            .unroll(x, 4, TailStrategy::RoundUp);

        // Networks of this kind have one filter to a channel and a 3x3 one, and only
        // then are a filter's channels side by side in memory.
        depthwise_filter.dim(1).set_stride(multiplier);
        Expr channels = pointwise_filter.dim(1).extent();
        output.specialize(multiplier == 1 && channels == channels / (2 * vec) * (2 * vec) &&
                          depthwise_filter.dim(2).extent() == taps && depthwise_filter.dim(3).extent() == taps);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DepthwiseSeparableConv, depthwise_separable_conv)
