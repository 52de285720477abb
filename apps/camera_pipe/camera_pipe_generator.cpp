// A camera's raw pipeline, from Bayer mosaic to 8-bit RGB, in the stages of the
// FCam project: A. Adams et al., "The Frankencamera: An Experimental Platform
// for Computational Photography", SIGGRAPH 2010. It is also an example of
// J. Ragan-Kelley et al., "Decoupling Algorithms from Schedules for Easy
// Optimization of Image Processing Pipelines", SIGGRAPH 2012.

#include "Halide.h"

namespace {

using namespace Halide;
using namespace Halide::ConciseCasts;

class CameraPipe : public Generator<CameraPipe> {
public:
    // The sensor's mosaic of 2x2 quads, ten significant bits:
    //     green red
    //     blue  green
    Input<Buffer<uint16_t, 2>> input{"input"};

    // Affine maps from the sensor's colours to sRGB, a row for each output
    // channel and the offset in column 3, calibrated at two temperatures.
    Input<Buffer<float, 2>> matrix_3200{"matrix_3200"};
    Input<Buffer<float, 2>> matrix_7000{"matrix_7000"};
    Input<float> color_temp{"color_temp"};

    Input<float> gamma{"gamma"};
    Input<float> contrast{"contrast"};
    Input<float> sharpen_strength{"sharpen_strength"};
    Input<int> black_level{"black_level"};
    Input<int> white_level{"white_level"};

    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        suppress_hot_pixels();
        split_quads();
        interpolate_colors();
        correct_colors();
        apply_tone_curve();
        sharpen();
        estimate();
        if (!using_autoscheduler()) {
            schedule_by_hand();
        }
    }

private:
    // The output's origin in the mosaic. The stencils reach less far than this,
    // so there is no boundary condition anywhere.
    static constexpr int margin_x = 16, margin_y = 12;
    static constexpr int curve_size = 1024;

    // Planes of quarter size, one for each site of a quad. "gr" is the green
    // that shares its row with red, "gb" the one that shares it with blue.
    enum Site { gr, r, b, gb };

    Var x{"x"}, y{"y"}, c{"c"};
    Func denoised{"denoised"}, quads{"quads"};
    Func green_at_r{"green_at_r"}, green_at_b{"green_at_b"};
    Func demosaiced{"demosaiced"};
    Func matrix{"matrix"}, corrected{"corrected"};
    Func curve{"curve"}, curved{"curved"};
    Func strength{"strength"};

    // The mean of two unsigned values, rounded up.
    static Expr mean(const Expr &p, const Expr &q) {
        Type wide = p.type().with_bits(2 * p.type().bits());
        return cast(p.type(), (cast(wide, p) + q + 1) / 2);
    }

    // No pixel may outshine all four nearest neighbours of its own colour.
    void suppress_hot_pixels() {
        Func shifted("shifted");
        shifted(x, y) = input(x + margin_x, y + margin_y);
        denoised(x, y) = min(shifted(x, y),
                             max(shifted(x - 2, y), shifted(x + 2, y),
                                 shifted(x, y - 2), shifted(x, y + 2)));
    }

    void split_quads() {
        quads(x, y, c) = mux(c, {denoised(2 * x, 2 * y),
                                 denoised(2 * x + 1, 2 * y),
                                 denoised(2 * x, 2 * y + 1),
                                 denoised(2 * x + 1, 2 * y + 1)});
    }

    // An offset to another quad.
    struct Step {
        int dx, dy;
    };

    Expr at(Site site, Step s = {0, 0}) const {
        return quads(x + s.dx, y + s.dy, (int)site);
    }

    // Green between two known greens, across or down: whichever pair differs
    // less lies along the edge rather than over it.
    Expr green_between(const Expr &left, const Expr &right, const Expr &above, const Expr &below) {
        return select(absd(left, right) < absd(above, below), mean(left, right), mean(above, below));
    }

    // Red or blue where green is known and two neighbours p and q have the
    // colour: their mean, plus what the same mean gets wrong for green. The sum
    // is modulo 2^16 and read as signed afterwards.
    Expr color_between(const Expr &green, Func green_there, Site color, Step p, Step q) const {
        Expr error = green - mean(green_there(x + p.dx, y + p.dy), green_there(x + q.dx, y + q.dy));
        return error + mean(at(color, p), at(color, q));
    }

    // The same over a quad's diagonals, again along the one that differs less.
    Expr color_across(const Expr &green, Func green_there, Site color,
                      Step p, Step q, Step s, Step t) const {
        return select(absd(at(color, p), at(color, q)) < absd(at(color, s), at(color, t)),
                      color_between(green, green_there, color, p, q),
                      color_between(green, green_there, color, s, t));
    }

    Func plane(const std::string &name, const Expr &value) {
        Func f(name);
        f(x, y) = value;
        return f;
    }

    // Puts four planes of quarter size back into one of full size.
    Func mosaic(const std::string &name, Func at_gr, Func at_r, Func at_b, Func at_gb) {
        Expr qx = x / 2, qy = y / 2, even = x % 2 == 0;
        Func f(name);
        f(x, y) = select(y % 2 == 0,
                         select(even, at_gr(qx, qy), at_r(qx, qy)),
                         select(even, at_b(qx, qy), at_gb(qx, qy)));
        return f;
    }

    void interpolate_colors() {
        const Step here{0, 0}, left{-1, 0}, right{1, 0}, up{0, -1}, down{0, 1};
        const Step down_left{-1, 1}, up_right{1, -1};

        green_at_r(x, y) = green_between(at(gr), at(gr, right), at(gb, up), at(gb));
        green_at_b(x, y) = green_between(at(gb, left), at(gb), at(gr), at(gr, down));
        Func green_at_gr = plane("green_at_gr", at(gr));
        Func green_at_gb = plane("green_at_gb", at(gb));

        Func red_at_r = plane("red_at_r", at(r));
        Func red_at_gr = plane("red_at_gr", color_between(at(gr), green_at_r, r, left, here));
        Func red_at_gb = plane("red_at_gb", color_between(at(gb), green_at_r, r, here, down));
        Func red_at_b = plane("red_at_b", color_across(green_at_b(x, y), green_at_r, r,
                                                       here, down_left, left, down));

        Func blue_at_b = plane("blue_at_b", at(b));
        Func blue_at_gr = plane("blue_at_gr", color_between(at(gr), green_at_b, b, here, up));
        Func blue_at_gb = plane("blue_at_gb", color_between(at(gb), green_at_b, b, here, right));
        Func blue_at_r = plane("blue_at_r", color_across(green_at_r(x, y), green_at_b, b,
                                                         here, up_right, right, up));

        Func red = mosaic("red", red_at_gr, red_at_r, red_at_b, red_at_gb);
        Func green = mosaic("green", green_at_gr, green_at_r, green_at_b, green_at_gb);
        Func blue = mosaic("blue", blue_at_gr, blue_at_r, blue_at_b, blue_at_gb);
        demosaiced(x, y, c) = i16(mux(c, {red(x, y), green(x, y), blue(x, y)}));
    }

    void correct_colors() {
        // Matrices mix linearly in inverse temperature. Fixed point, Q8.8.
        Expr warm = (1.0f / color_temp - 1.0f / 3200) / (1.0f / 7000 - 1.0f / 3200);
        matrix(x, y) = i16((matrix_3200(x, y) * warm + matrix_7000(x, y) * (1 - warm)) * 256.0f);

        std::vector<Expr> channels;
        for (int row = 0; row < 3; row++) {
            Expr sum = i32(matrix(3, row));
            for (int column = 0; column < 3; column++) {
                sum += matrix(column, row) * i32(demosaiced(x, y, column));
            }
            channels.push_back(i16(sum / 256));
        }
        corrected(x, y, c) = mux(c, channels);
    }

    // Gamma, then a contrast curve of two parabolas that meet in the middle.
    void apply_tone_curve() {
        Expr level = clamp(f32(x - black_level) * (1.0f / (white_level - black_level)), 0.0f, 1.0f);
        Expr g = pow(level, 1.0f / gamma);
        Expr linear = 2.0f - pow(2.0f, contrast / 100.0f);
        Expr square = 2.0f - 2.0f * linear;
        auto parabola = [&](const Expr &t) { return square * t * t + linear * t; };
        Expr toned = select(g > 0.5f, 1.0f - parabola(1.0f - g), parabola(g));
        Expr byte = u8(clamp(toned * 255.0f + 0.5f, 0.0f, 255.0f));
        curve(x) = select(x <= black_level, u8(0), x > white_level, u8(255), byte);

        curved(x, y, c) = curve(clamp(corrected(x, y, c), 0, curve_size - 1));
    }

    void sharpen() {
        auto smooth = [](const Expr &p, const Expr &q, const Expr &s) {
            return mean(mean(p, s), q);
        };
        Func smooth_y("smooth_y"), smooth_xy("smooth_xy"), detail("detail");
        smooth_y(x, y, c) = smooth(curved(x, y - 1, c), curved(x, y, c), curved(x, y + 1, c));
        smooth_xy(x, y, c) = smooth(smooth_y(x - 1, y, c), smooth_y(x, y, c), smooth_y(x + 1, y, c));
        detail(x, y, c) = i16(curved(x, y, c)) - i16(smooth_xy(x, y, c));

        // Fixed point with five fractional bits: strengths of 0 to just under 8.
        strength() = u8_sat(sharpen_strength * 32);
        output(x, y, c) = u8_sat(curved(x, y, c) + detail(x, y, c) * strength() / 32);
    }

    void estimate() {
        const int width = 2592, height = 1968;
        input.set_estimates({{0, width + 2 * margin_x}, {0, height + 2 * margin_y}});
        matrix_3200.set_estimates({{0, 4}, {0, 3}});
        matrix_7000.set_estimates({{0, 4}, {0, 3}});
        color_temp.set_estimate(3700);
        gamma.set_estimate(2.0f);
        contrast.set_estimate(50);
        sharpen_strength.set_estimate(1.0f);
        black_level.set_estimate(25);
        white_level.set_estimate(1023);
        output.set_estimates({{0, width}, {0, height}, {0, 3}});
    }

    void schedule_by_hand() {
        // Everything that depends on parameters alone is made once.
        matrix.compute_root();
        curve.compute_root();
        strength.compute_root();

        // Strips of rows are tasks. A strip is walked two rows, one row of
        // quads, at a time, and each stencil's input slides down with it. The
        // stencils reach a long way together, so a strip has to be tall for
        // what it recomputes at its top to be small.
        const int strip = 64;
        const int vec = 2 * natural_vector_size<uint16_t>();
        Var task("task"), pair("pair"), row("row"), xi("xi"), yi("yi");

        // An even number of rows from an even row on: then every pair is a row
        // of quads, in the last strip too, which is moved up to end with the
        // image. Knowing that is worth nearly a fifth of the time.
        output.dim(1).set_bounds(0, output.height() / 2 * 2);
        output.bound(c, 0, 3)
            .split(y, task, pair, strip)
            .split(pair, pair, row, 2)
            .reorder(c, x, row, pair, task)
            .vectorize(x, vec)
            .unroll(c)
            .unroll(row)
            .parallel(task);

        // Four rows are live at any time. Folding to them keeps them in the
        // second-level cache, and what a strip allocates small: pages given
        // back to the system are faulted in again by the next strip.
        quads.store_at(output, task)
            .compute_at(output, pair)
            .fold_storage(y, 4)
            .reorder(c, x, y)
            .vectorize(x, vec)
            .unroll(c);
        // Denoised where it is taken apart: that reads every other column.
        denoised.compute_at(quads, x)
            .vectorize(x, vec)
            .unroll(x)
            .unroll(y);
        for (Func f : {green_at_r, green_at_b}) {
            f.store_at(output, task)
                .compute_at(output, pair)
                .fold_storage(y, 4)
                .vectorize(x, vec);
        }

        // From an even column on, so that parity is known when the code is
        // generated and putting planes together is a shuffle, not a select.
        curved.store_at(output, task)
            .compute_at(output, pair)
            .align_bounds(x, 2)
            .fold_storage(y, 4)
            .tile(x, y, xi, yi, vec, 2)
            .reorder(c, xi, yi, x, y)
            .vectorize(xi)
            .unroll(yi)
            .unroll(c);
        corrected.compute_at(curved, x)
            .reorder(c, x, y)
            .vectorize(x)
            .unroll(c);
        demosaiced.compute_at(curved, x)
            .reorder(c, x, y)
            .vectorize(x)
            .unroll(y)
            .unroll(c);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(CameraPipe, camera_pipe)
