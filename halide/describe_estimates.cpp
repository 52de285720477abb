#include "describe_graph.h"

#include <algorithm>

namespace protuner::description {

using namespace Halide;
using namespace Halide::Internal;

namespace {

[[noreturn]] void missing(const Parameter &p, const std::string &what, const std::string &mend) {
    throw DescribeError("input " + p.name() + ": " + what + "; in the Generator, call " + p.name() + "." + mend);
}

// The dimension in a name like "input.extent.1", or -1.
int dimension_named(const std::string &name, const Parameter &p, const char *what) {
    for (int d = 0; d < p.dimensions(); d++) {
        if (name == p.name() + "." + what + "." + std::to_string(d)) return d;
    }
    return -1;
}

// Elements between neighbours of dimension d in a planar buffer of the estimated
// size, unless the Generator fixes the stride.
Expr stride(const Parameter &p, int d) {
    Expr fixed = p.stride_constraint(d);
    if (fixed.defined()) return Estimates::apply(fixed);
    Expr product = 1;
    for (int i = 0; i < d; i++) product = product * Estimates::dimension(p, i).second;
    return product;
}

class ApplyEstimates : public IRGraphMutator {
    using IRGraphMutator::visit;

    Expr visit(const Variable *op) override {
        const Parameter &p = op->param;
        if (!p.defined()) return op;
        Expr value;
        int d;
        if (!p.is_buffer()) {
            value = Estimates::scalar(p);
        } else if ((d = dimension_named(op->name, p, "min")) >= 0) {
            value = Estimates::dimension(p, d).first;
        } else if ((d = dimension_named(op->name, p, "extent")) >= 0) {
            value = Estimates::dimension(p, d).second;
        } else if ((d = dimension_named(op->name, p, "stride")) >= 0) {
            value = stride(p, d);
        } else {
            throw DescribeError("input " + p.name() + ": " + op->name +
                                " has no estimate; use its min, extent or stride");
        }
        return value.type() == op->type ? value : cast(op->type, value);
    }
};

class FindsParameter : public IRGraphVisitor {
    using IRGraphVisitor::visit;
    void visit(const Variable *op) override { found |= op->param.defined(); }

public:
    bool found = false;
};

}  // namespace

Expr Estimates::apply(const Expr &e) {
    return ApplyEstimates().mutate(e);
}

bool Estimates::used_by(const Expr &e) {
    FindsParameter finder;
    e.accept(&finder);
    return finder.found;
}

Expr Estimates::scalar(const Parameter &p) {
    if (p.estimate().defined()) return p.estimate();
    if (p.default_value().defined()) return p.default_value();
    missing(p, "a scalar with neither estimate nor default value", "set_estimate(value)");
}

std::pair<Expr, Expr> Estimates::dimension(const Parameter &p, int d) {
    auto either = [](const Expr &estimate, const Expr &constraint) {
        if (estimate.defined()) return estimate;
        return constraint.defined() && is_const(constraint) ? constraint : Expr();
    };
    Expr min = either(p.min_constraint_estimate(d), p.min_constraint(d));
    Expr extent = either(p.extent_constraint_estimate(d), p.extent_constraint(d));
    if (!min.defined() || !extent.defined()) {
        missing(p, "dimension " + std::to_string(d) + " has no estimate",
                "dim(" + std::to_string(d) + ").set_estimate(min, extent)");
    }
    return {min, extent};
}

std::pair<int64_t, int64_t> Estimates::span(const Parameter &p, int d) {
    const auto number = [&](const Expr &e) {
        const auto value = as_const_int(simplify(apply(e)));
        if (!value) {
            throw DescribeError("input " + p.name() + ": the estimate of dimension " + std::to_string(d) +
                                " is no constant; give set_estimate numbers");
        }
        return *value;
    };
    const auto ends = dimension(p, d);
    return {number(ends.first), number(ends.second)};
}

std::vector<InferredArgument> inputs_of(const Pipeline &pipeline) {
    const std::vector<Stmt> requirements = pipeline.requirements();
    auto inputs = infer_arguments(requirements.empty() ? Stmt() : Block::make(requirements), output_functions(pipeline));
    const auto none = [](const InferredArgument &a) { return a.buffer.defined() || a.arg.name == "__user_context"; };
    inputs.erase(std::remove_if(inputs.begin(), inputs.end(), none), inputs.end());
    return inputs;
}

}  // namespace protuner::description
