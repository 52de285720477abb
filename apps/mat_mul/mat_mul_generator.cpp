// The product of two square matrices. How it is laid out over registers and caches
// is that of K. Goto and R. A. van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM Transactions on Mathematical Software 2008.

#include "Halide.h"

namespace {

using namespace Halide;

class MatMul : public Generator<MatMul> {
public:
    GeneratorParam<int> size{"size", 1024};

    // Dimension 0 is contiguous: product(x, y) is the sum over k of a(x, k) b(k, y).
    Input<Buffer<float, 2>> a{"a"};
    Input<Buffer<float, 2>> b{"b"};
    Output<Buffer<float, 2>> output{"output"};

    void generate() {
        const int n = size;
        RDom k(0, n, "k");
        product(x, y) += a(x, k) * b(k, y);
        output(x, y) = product(x, y);

        for (int d = 0; d < 2; d++) {
            a.dim(d).set_bounds(0, n).set_stride(d ? n : 1).set_estimate(0, n);
            b.dim(d).set_bounds(0, n).set_stride(d ? n : 1).set_estimate(0, n);
            output.dim(d).set_bounds(0, n).set_stride(d ? n : 1).set_estimate(0, n);
        }

        if (!using_autoscheduler()) {
            schedule_by_hand(k);
        }
    }

private:
    Var x{"x"}, y{"y"};
    Func product{"product"};

    void schedule_by_hand(RDom k) {
        // A block of sums lives in registers for the whole reduction. Each step loads
        // `vectors` of a and one value of b for each row; 16 registers bear 12 sums, 32
        // (AVX-512, 64-bit Arm) 24.
        const Target &t = get_target();
        const bool many_registers = t.has_feature(Target::AVX512) ||
                                    t.has_feature(Target::AVX512_Skylake) ||
                                    (t.arch == Target::ARM && t.bits == 64);
        const int vectors = many_registers ? 4 : 2, rows = 6;
        const int vec = natural_vector_size<float>();

        // A task is a panel of a, copied so that steps read it one after the other: in
        // place they are a row of the matrix apart, a power of two that lets them
        // displace each other in the caches. The copy stays in the second level.
        Var panel("panel"), block("block");
        output.split(x, panel, x, vec * vectors)
            .split(y, block, y, rows)
            .reorder(x, y, block, panel)
            .vectorize(x, vec)
            .unroll(x)
            .unroll(y)
            .parallel(panel);
        product.compute_at(output, block)
            .vectorize(x, vec)
            .unroll(x)
            .unroll(y)
            .update()
            .reorder(x, y, k)
            .vectorize(x, vec)
            .unroll(x)
            .unroll(y)
            .unroll(k, 2);
        a.in().compute_at(output, panel)
            .vectorize(_0, vec)
            .unroll(_0);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(MatMul, mat_mul)
