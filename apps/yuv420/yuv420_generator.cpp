// From RGB to Y'CbCr with a quarter of the colours (4:2:0), as video is stored: ITU-R
// BT.601, in integers, studio range. There are two outputs, brightness and both colour
// differences, of which the second is the mean of two by two pixels.

#include "Halide.h"

namespace {

using namespace Halide;

class Yuv420 : public Generator<Yuv420> {
public:
    Input<Buffer<uint8_t, 3>> input{"input"};
    Output<Buffer<uint8_t, 2>> luma{"luma"};
    Output<Buffer<uint8_t, 3>> chroma{"chroma"};

    void generate() {
        auto weighed = [&](int red, int green, int blue) {
            return (red * cast<int>(input(x, y, 0)) + green * cast<int>(input(x, y, 1)) +
                    blue * cast<int>(input(x, y, 2)) + 128) / 256;
        };
        luma(x, y) = cast<uint8_t>(weighed(66, 129, 25) + 16);
        Func difference("difference");
        difference(x, y, c) = cast<int16_t>(select(c == 0, weighed(-38, -74, 112), weighed(112, -94, -18)));
        Expr sum = difference(2 * x, 2 * y, c) + difference(2 * x + 1, 2 * y, c) +
                   difference(2 * x, 2 * y + 1, c) + difference(2 * x + 1, 2 * y + 1, c);
        chroma(x, y, c) = cast<uint8_t>(sum / 4 + 128);

        const int width = 3840, height = 2160;
        input.set_estimates({{0, width}, {0, height}, {0, 3}});
        luma.set_estimates({{0, width}, {0, height}});
        chroma.set_estimates({{0, width / 2}, {0, height / 2}, {0, 2}});

        if (!using_autoscheduler()) {
            schedule_by_hand();
        }
    }

private:
    Var x{"x"}, y{"y"}, c{"c"};

    void schedule_by_hand() {
        // Each output in strips of its own. Both differences of a pixel are computed
        // together, from one load of its colours.
        const int vec = natural_vector_size<uint8_t>();
        luma.compute_root()
            .parallel(y, 16)
            .vectorize(x, vec);
        chroma.compute_root()
            .bound(c, 0, 2)
            .reorder(c, x, y)
            .unroll(c)
            .parallel(y, 16)
            .vectorize(x, vec);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Yuv420, yuv420)
