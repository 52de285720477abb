// Kinds of pipelines that read or write where values say, with a schedule by hand each.

#include "Halide.h"

#include <vector>

namespace {

using namespace Halide;

// Grids of charge: points spread onto a mesh by weights of their neighbours, then smoothed.
class Deposit : public Generator<Deposit> {
public:
    Input<Buffer<float, 2>> points{"points"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        Var x("x"), y("y");
        RDom r(0, 20000, 0, 2, 0, 2);
        Func mesh("mesh");
        Expr px = points(0, r.x) * 254.f, py = points(1, r.x) * 254.f;
        Expr ix = clamp(cast<int>(px), 0, 254), iy = clamp(cast<int>(py), 0, 254);
        Expr wx = select(r.y == 0, 1.f - (px - ix), px - ix), wy = select(r.z == 0, 1.f - (py - iy), py - iy);
        mesh(x, y) = 0.f;
        mesh(ix + r.y, iy + r.z) += wx * wy;
        Func m = BoundaryConditions::repeat_edge(mesh, {{0, 256}, {0, 256}});
        output(x, y) = 0.5f * m(x, y) + 0.125f * (m(x - 1, y) + m(x + 1, y) + m(x, y - 1) + m(x, y + 1));
        points.set_estimates({{0, 2}, {0, 20000}});
        output.set_estimates({{0, 256}, {0, 256}});
        if (using_autoscheduler()) return;
        const int vec = natural_vector_size<float>();
        mesh.compute_root().vectorize(x, vec).update().reorder(r.y, r.z, r.x).unroll(r.y).unroll(r.z);
        output.vectorize(x, vec);
    }
};

// Pictures of four channels, turned by an angle: each point is a bicubic mean of sixteen
// around where it comes from.
class Turned : public Generator<Turned> {
public:
    Input<Buffer<uint8_t, 3>> input{"input"};  // channel, x, y
    Input<float> angle{"angle"};
    Output<Buffer<uint8_t, 3>> output{"output"};

    void generate() {
        Var c("c"), x("x"), y("y");
        const int width = 960, height = 640;
        Func in = BoundaryConditions::repeat_edge(input, {{Expr(), Expr()}, {0, input.dim(1).extent()}, {0, input.dim(2).extent()}});
        Func from("from");
        Expr dx = x - width / 2.f, dy = y - height / 2.f;
        from(x, y) = Tuple(dx * cos(angle) - dy * sin(angle) + width / 2.f, dx * sin(angle) + dy * cos(angle) + height / 2.f);
        Expr left = floor(from(x, y)[0]), top = floor(from(x, y)[1]);
        auto weights = [](Expr t) {
            return std::vector<Expr>{((-0.5f * t + 1.f) * t - 0.5f) * t, (1.5f * t - 2.5f) * t * t + 1.f,
                                     ((-1.5f * t + 2.f) * t + 0.5f) * t, (0.5f * t - 0.5f) * t * t};
        };
        std::vector<Expr> across = weights(from(x, y)[0] - left), down = weights(from(x, y)[1] - top);
        Expr sum = 0.f;
        for (int j = 0; j < 4; j++) {
            Expr row = 0.f;
            for (int i = 0; i < 4; i++) {
                row += across[i] * cast<float>(in(c, cast<int>(left) + i - 1, cast<int>(top) + j - 1));
            }
            sum += down[j] * row;
        }
        output(c, x, y) = saturating_cast<uint8_t>(sum + 0.5f);
        input.set_estimates({{0, 4}, {0, width}, {0, height}});
        angle.set_estimate(0.3f);
        output.set_estimates({{0, 4}, {0, width}, {0, height}});
        if (using_autoscheduler()) return;
        Var yo("yo");
        output.bound(c, 0, 4).split(y, yo, y, 8).parallel(yo).vectorize(c).unroll(x, 2, TailStrategy::GuardWithIf);
        from.compute_at(output, y).vectorize(x, natural_vector_size<float>());
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Deposit, deposit)
HALIDE_REGISTER_GENERATOR(Turned, turned)
