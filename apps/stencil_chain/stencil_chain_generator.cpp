// A chain of 5x5 stencils in 16-bit arithmetic modulo 2^16, each reading only the
// one before it: what is measured is how many of them a schedule fuses, not what
// they compute. One of the benchmarks of A. Adams et al., "Learning to Optimize
// Halide with Tree Search and Random Programs", SIGGRAPH 2019.

#include "Halide.h"

namespace {

using namespace Halide;

class StencilChain : public Generator<StencilChain> {
public:
    GeneratorParam<int> stencils{"stencils", 32, 1, 100};

    Input<Buffer<uint16_t, 2>> input{"input"};
    Output<Buffer<uint16_t, 2>> output{"output"};

    void generate() {
        links.push_back(BoundaryConditions::repeat_edge(input));
        for (int s = 0; s < stencils; s++) {
            Func link("link_" + std::to_string(s));
            link(x, y) = weighted_window(links.back());
            links.push_back(link);
        }
        output(x, y) = links.back()(x, y);

        const int width = 1536, height = 2560;
        input.set_estimates({{0, width}, {0, height}});
        output.set_estimates({{0, width}, {0, height}});

        if (!using_autoscheduler()) {
            schedule_by_hand();
        }
    }

private:
    static constexpr int radius = 2;

    Var x{"x"}, y{"y"};
    // The padded input, then every stage; the last one is inlined into the output.
    std::vector<Func> links;

    // Weights are the products of 1 to 5 across and 1 to 5 down.
    Expr weighted_window(Func f) {
        Expr total = cast<uint16_t>(0);
        for (int dx = -radius; dx <= radius; dx++) {
            for (int dy = -radius; dy <= radius; dy++) {
                total += cast<uint16_t>((dx + 3) * (dy + 3)) * f(x + dx, y + dy);
            }
        }
        return total;
    }

    // Two rows at a time: their windows share most of what they load.
    static constexpr int rows = 2;

    void schedule_by_hand() {
        const int vec = natural_vector_size<uint16_t>();
        // A stage keeps a few rows of a strip, so a group of stages lives in the
        // second-level cache. More stages to a group save passes over memory, but
        // each stage of a group starts two rows higher than the next one: work at
        // the top of every strip that the strip above does too.
        const int group = 11, strip = 320;

        const int last = (int)links.size() - 1;
        for (int end = last; end > 0; end -= group) {
            Func out = end == last ? Func(output) : links[end];
            Var top("top"), pair("pair"), row("row"), xv("xv");
            out.compute_root()
                .split(y, top, y, strip)
                .split(y, pair, row, rows)
                .split(x, x, xv, vec)
                .reorder(xv, row, x, pair, top)
                .vectorize(xv)
                .unroll(row)
                .parallel(top);
            for (int i = std::max(0, end - group + 1); i < end; i++) {
                Func link = links[i];
                Var lx = link.args()[0], ly = link.args()[1];
                link.store_at(out, top)
                    .compute_at(out, pair)
                    .split(ly, ly, row, rows)
                    .split(lx, lx, xv, vec)
                    .reorder(xv, row, lx, ly)
                    .vectorize(xv)
                    .unroll(row);
            }
        }
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(StencilChain, stencil_chain)
