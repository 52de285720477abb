// What ends where the data have it.

#include "Halide.h"

namespace {

using namespace Halide;

// A sparse matrix times a vector, row by row of up to 32 entries.
class SparseRows : public Generator<SparseRows> {
public:
    Input<Buffer<int32_t, 1>> start{"start"};
    Input<Buffer<int32_t, 1>> column{"column"};
    Input<Buffer<float, 1>> value{"value"};
    Input<Buffer<float, 1>> v{"v"};
    Output<Buffer<float, 1>> output{"output"};

    void generate() {
        const int rows = 65536, entries = 16 * rows, most = 32;
        Var i("i");
        Func begin("begin"), length("length"), sum("sum");
        begin(i) = clamp(start(i), 0, entries - most);
        length(i) = clamp(start(i + 1) - begin(i), 0, most);
        RDom r(0, most);
        r.where(r < length(i));
        sum(i) += value(begin(i) + r) * v(clamp(column(begin(i) + r), 0, rows - 1));
        output(i) = sum(i);
        start.set_estimates({{0, rows + 1}});
        column.set_estimates({{0, entries}});
        value.set_estimates({{0, entries}});
        v.set_estimates({{0, rows}});
        output.set_estimates({{0, rows}});
        if (using_autoscheduler()) return;
        Var strip("strip");
        output.split(i, strip, i, 1024).parallel(strip);
        sum.compute_at(output, i);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(SparseRows, sparse_rows)
