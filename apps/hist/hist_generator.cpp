// Histogram equalisation of a colour image: brightness is equalised in the
// YCbCr colour space (ITU-R BT.601 weights) and both colour differences are
// kept. See R. C. Gonzalez and R. E. Woods, "Digital Image Processing", section
// on histogram equalisation.

#include "Halide.h"

namespace {

using namespace Halide;

class Hist : public Generator<Hist> {
public:
    Input<Buffer<uint8_t, 3>> input{"input"};
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        luma(x, y) = 0.299f * input(x, y, 0) +
                     0.587f * input(x, y, 1) +
                     0.114f * input(x, y, 2);
        Expr cr = (input(x, y, 0) - luma(x, y)) * 0.713f + 128;
        Expr cb = (input(x, y, 2) - luma(x, y)) * 0.564f + 128;

        // Rows are counted apart and added up afterwards, so that counting is
        // parallel without atomics.
        RDom column(0, input.width(), "column");
        row_counts(x, y) = 0;
        row_counts(cast<int>(clamp(luma(column, y), 0, 255)), y) += 1;

        RDom line(0, input.height(), "line");
        counts(x) = 0;
        counts(x) += row_counts(x, line);

        RDom bin(1, levels - 1, "bin");
        cumulative(x) = counts(0);
        cumulative(bin) = cumulative(bin - 1) + counts(bin);

        Expr level = cast<uint8_t>(clamp(luma(x, y), 0, 255));
        Expr area = input.height() * input.width();
        Expr bright = clamp(cumulative(level) * (255.0f / area), 0, 255);

        // Back to RGB, with the new brightness.
        auto channel = [&](const Expr &value) { return cast<uint8_t>(clamp(value, 0, 255)); };
        output(x, y, c) = mux(c, {
            channel(bright + (cr - 128) * 1.4f),
            channel(bright - 0.343f * (cb - 128) - 0.711f * (cr - 128)),
            channel(bright + 1.765f * (cb - 128)),
        });

        const int width = 1536, height = 2560, channels = 3;
        input.set_estimates({{0, width}, {0, height}, {0, channels}});
        output.set_estimates({{0, width}, {0, height}, {0, channels}});

        if (!using_autoscheduler()) {
            schedule_by_hand(column, line);
        }
    }

private:
    static constexpr int levels = 256;

    Var x{"x"}, y{"y"}, c{"c"};
    Func luma{"luma"}, row_counts{"row_counts"}, counts{"counts"}, cumulative{"cumulative"};

    void schedule_by_hand(RDom column, RDom line) {
        const int vec = natural_vector_size<float>();
        const int strip = 32, group = 4;

        // Each task counts a strip of rows into one table of its own, so that
        // only a table a strip reaches memory.
        Var task("task"), group_index("group_index");
        RVar outer("outer"), groups("groups"), inner("inner");
        counts.compute_root()
            .bound(x, 0, levels)
            .vectorize(x, vec)
            .update()
            .split(line, outer, inner, strip);
        Func strip_counts = counts.update().rfactor(outer, task);
        strip_counts.compute_root()
            .parallel(task)
            .vectorize(x, vec)
            .update()
            .split(inner, groups, inner, group)
            .reorder(inner, x, groups, task)
            .parallel(task)
            .vectorize(x, vec)
            .unroll(inner);
        counts.update()
            .reorder(x, outer)
            .vectorize(x, vec);

        // An increment has to wait for the one before it when both are of the
        // same bin, which is common in a row of an image. Walking down four
        // rows at once, each with its own table, gives four independent chains.
        row_counts.compute_at(strip_counts, groups)
            .bound(x, 0, levels)
            .vectorize(x, vec)
            .update()
            .split(y, group_index, y, group)
            .reorder(y, column, group_index)
            .unroll(y);

        // The increments do not vectorise, but finding their bins does: those
        // rows are computed first. The copy for the output is better computed
        // again than written and read back.
        luma.clone_in(row_counts)
            .compute_at(strip_counts, groups)
            .vectorize(x, vec);

        cumulative.compute_root()
            .bound(x, 0, levels)
            .vectorize(x, vec)
            .update()
            .unscheduled();

        output.bound(c, 0, 3)
            .reorder(c, x, y)
            .unroll(c)
            .parallel(y, 16)
            .vectorize(x, 2 * vec);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Hist, hist)
