// The graph that describe reports: Halide's own symbolic analysis of a pipeline,
// in the terms of Adams et al. 2019, section 3.1. One node a Func, consumers
// before producers; regions are symbolic over "<func>.<var>.min" and ".max".
#pragma once

#define HALIDE_KEEP_MACROS
#include "Halide.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "directives.h"

namespace protuner::description {

// A pipeline that cannot be described; the text names what, why and the mend.
struct DescribeError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The values that the Generator's estimates give to the pipeline's parameters.
class Estimates {
public:
    // The expression with every parameter replaced by its estimate. Throws
    // DescribeError naming a parameter that has none.
    static Halide::Expr apply(const Halide::Expr &e);

    // Whether a parameter occurs in the expression.
    static bool used_by(const Halide::Expr &e);

    // A scalar's estimate, or its default value where it has none.
    static Halide::Expr scalar(const Halide::Parameter &p);

    // Min and extent of one dimension of a buffer: estimates, or what a constraint fixes.
    static std::pair<Halide::Expr, Halide::Expr> dimension(const Halide::Parameter &p, int d);

    // The same in numbers.
    static std::pair<int64_t, int64_t> span(const Halide::Parameter &p, int d);
};

// What a pipeline is called with besides its outputs, in the order of its entry point. Buffers
// embedded in the algorithm and Halide's own context are not among it.
std::vector<Halide::Internal::InferredArgument> inputs_of(const Halide::Pipeline &pipeline);

// A derivative that may not be a constant. The numbers of one that is not are
// kept: they decide which Jacobians count as equal, as in Adams2019.
struct Derivative {
    bool exists = false;
    int64_t num = 0, den = 0;

    bool is(int64_t x) const { return exists && num == x * den; }
    bool same(const Derivative &o) const { return exists == o.exists && num * o.den == den * o.num; }
    Derivative plus(const Derivative &o) const;
};

using Matrix = std::vector<std::vector<Derivative>>;  // producer dimensions x consumer loops

struct LoadJacobian {
    Matrix coeffs;
    int64_t count = 0;
    int64_t looked_up = 0, shifted = 0;                        // of these, see pipeline.Jacobian
    std::vector<std::optional<std::vector<int64_t>>> offsets;  // one a load

    bool same(const Matrix &m) const;
};

// One end of a required interval: affine in one end of one loop, or a formula.
struct Bound {
    Halide::Expr formula;
    bool affine = false, uses_max = false, depends_on_estimate = false;
    bool uses_parameter = false;  // a parameter known only at run time decides it
    int64_t coeff = 0, constant = 0;
    int loop = 0;
};

struct Edge {
    int producer = 0;  // a node
    int calls = 0;
    double points = 0;  // of the calls, see Uses
    std::vector<std::pair<Bound, Bound>> bounds;
    std::vector<LoadJacobian> jacobians;
};

// Where neighbouring iterations of a loop write.
struct Along {
    int dim = -1;  // of the Func
    int64_t stride = 1;
    // The dependence distance: how many iterations apart those are that meet first; 0 where
    // none do.
    int64_t apart = 0;
};

struct Loop {
    std::string var;
    bool pure = false, rvar = false;
    bool uses_parameter = false;  // as of Bound, where it is constant
    bool scatters = false;        // see follows_data
    bool ragged = false;          // see is_ragged
    bool chooses = false;         // see Uses
    int64_t period = 0;           // see Uses; 0 where there is none
    Along along;                  // see written_along
    int pure_dim = -1;
    int computed_dim = -1;
    std::optional<std::pair<int64_t, int64_t>> constant;
    Halide::Expr min, max;
};

constexpr int kScalarTypes = 7;
constexpr int kFeatureRows = 41;
using Features = std::array<int32_t, kFeatureRows * kScalarTypes>;

struct Stage {
    std::string name;
    std::vector<Halide::Expr> args, values, extern_args;
    Halide::Expr predicate;
    std::vector<Loop> loops;
    std::vector<Edge> edges;
    int vector_size = 1;
    bool associative = false;
    int summed_at_once = 0;  // see there
    bool trusts = false;     // see trusts_values
    Features features{};
};

struct Computed {
    Halide::Internal::Interval in;
    bool depends_on_estimate = false, equals_required = false;
    std::optional<std::pair<int64_t, int64_t>> united;
};

struct Node {
    Halide::Internal::Function func;
    std::string name;  // as directives call it
    int64_t bytes_per_point = 0;
    int vector_size = 1;
    bool input = false, output = false, wrapper = false, pointwise = false, boundary_condition = false, copy = false;
    std::string must_root, must_inline;
    std::vector<int> innermost_dims;
    std::vector<std::array<int64_t, 3>> estimate;  // min, max, constant
    std::vector<Computed> computed;
    std::vector<Stage> stages;
};

struct Graph {
    std::vector<Node> nodes;
    std::vector<Halide::Internal::Function> outputs;
};

// Throws DescribeError, or Halide's own errors where its analysis gives up.
// structured says that structural directives were applied first.
Graph analyse(const Scheduler &scheduler, const Halide::Pipeline &pipeline, const Halide::Target &target,
              bool structured);

// The operation counts of one stage and the Jacobians of its edges (Adams et al.
// 2019, section 4.1): fills features and edges[...].jacobians. Producers are found
// by their Halide names among the nodes.
void featurize(const std::vector<Node> &nodes, const Node &node, Stage &stage);

// A 64-bit hash, in hex, of what a pipeline computes and promises; names of Funcs, variables
// and temporaries do not enter, nor do estimates and schedules.
std::string algorithm_hash(const Halide::Pipeline &pipeline);

}  // namespace protuner::description
