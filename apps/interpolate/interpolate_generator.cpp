// Fills the holes of an image from its surroundings: colours are spread by their
// coverage (alpha) down a pyramid and back up again, after S. J. Gortler et al.,
// "The Lumigraph", SIGGRAPH 1996, section on pull-push.

#include "Halide.h"

namespace {

using namespace Halide;

class Interpolate : public Generator<Interpolate> {
public:
    GeneratorParam<int> levels{"levels", 10};

    // Red, green, blue and alpha.
    Input<Buffer<float, 3>> input{"input"};
    Output<Buffer<float, 3>> output{"output"};

    void generate() {
        input.dim(2).set_bounds(0, 4);
        for (int l = 0; l < levels; l++) {
            const std::string suffix = "_" + std::to_string(l);
            pulled.emplace_back("pulled" + suffix);
            pulled_x.emplace_back("pulled_x" + suffix);
            filled.emplace_back("filled" + suffix);
        }

        Func edge = BoundaryConditions::repeat_edge(input);
        pulled[0](x, y, c) = select(c < 3, edge(x, y, c) * edge(x, y, 3), edge(x, y, 3));
        for (int l = 1; l < levels; l++) {
            Func finer = l == border_level ? within_image(pulled[l - 1], l - 1) : pulled[l - 1];
            pulled_x[l](x, y, c) = tent(finer(2 * x - 1, y, c), finer(2 * x, y, c), finer(2 * x + 1, y, c));
            pulled[l](x, y, c) = tent(pulled_x[l](x, 2 * y - 1, c), pulled_x[l](x, 2 * y, c), pulled_x[l](x, 2 * y + 1, c));
        }

        const int coarsest = levels - 1;
        filled[coarsest](x, y, c) = pulled[coarsest](x, y, c);
        for (int l = coarsest - 1; l >= 0; l--) {
            Func pushed = doubled(filled[l + 1], "pushed_" + std::to_string(l));
            Expr uncovered = 1.0f - pulled[l](x, y, 3);
            filled[l](x, y, c) = pulled[l](x, y, c) + uncovered * pushed(x, y, c);
        }
        Func color("color");
        color(x, y, c) = filled[0](x, y, c) / filled[0](x, y, 3);
        output(x, y, c) = color(x, y, c);

        const int width = 1536, height = 2560;
        input.set_estimates({{0, width}, {0, height}, {0, 4}});
        output.set_estimates({{0, width}, {0, height}, {0, 3}});

        if (!using_autoscheduler()) {
            schedule_by_hand();
        }
    }

private:
    // A coarse pixel of the last level would otherwise ask for 512 pixels outside the
    // image; from this level on the pyramid repeats its own edge instead.
    static constexpr int border_level = 4;

    Var x{"x"}, y{"y"}, c{"c"};
    std::vector<Func> pulled, pulled_x, filled;

    static Expr tent(const Expr &before, const Expr &here, const Expr &after) {
        return (before + 2.0f * here + after) * 0.25f;
    }

    Func within_image(Func f, int level) {
        Func inside("inside");
        inside(x, y, c) = f(clamp(x, 0, input.width() / (1 << level)), clamp(y, 0, input.height() / (1 << level)), c);
        return inside;
    }

    // Twice as large, linear between the pixels.
    Func doubled(Func f, const std::string &name) {
        Func across(name + "_x"), both(name);
        across(x, y, c) = (f(x / 2, y, c) + f((x + 1) / 2, y, c)) / 2.0f;
        both(x, y, c) = (across(x, y / 2, c) + across(x, (y + 1) / 2, c)) / 2.0f;
        return both;
    }

    void schedule_by_hand() {
        const int vec = natural_vector_size<float>();
        Var strip("strip"), row("row"), xv("xv");

        // Down: every level is read again on the way up, so each is kept whole.
        // Weighing the input by its alpha is the exception: keeping that costs more
        // than doing it twice, once for the next level and once at the end.
        for (int l = 1; l < levels - 1; l++) {
            pulled[l]
                .compute_root()
                .reorder(x, c, y)
                .split(y, strip, row, 8)
                .parallel(strip)
                .vectorize(x, vec);
        }
        pulled[0]
            .clone_in(pulled_x[1])
            .store_at(pulled[1], strip)
            .compute_at(pulled[1], row)
            .reorder(c, x, y)
            .unroll(c)
            .vectorize(x, vec);

        // Up: strips of the output, along which all levels slide together.
        output.bound(x, 0, input.width())
            .bound(y, 0, input.height())
            .bound(c, 0, 3)
            .split(x, x, xv, vec)
            .split(y, strip, row, 32)
            .reorder(xv, c, x, row, strip)
            .vectorize(xv)
            .unroll(c)
            .parallel(strip);
        for (int l = 1; l < levels; l++) {
            filled[l]
                .store_at(output, strip)
                .compute_at(output, row)
                .vectorize(x, vec)
                .never_partition_all();
        }
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Interpolate, interpolate)
