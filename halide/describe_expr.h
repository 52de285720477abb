// Integer formulas over loop and region ends as JSON: see internal/pipeline's Expr
// for the form.
#pragma once

#include "describe_graph.h"

#include <map>

namespace protuner::description {

// Halide's variable -> "min:2" or "max:2".
using Symbols = std::map<std::string, std::string>;

// The ends of a stage's loops, numbered as its loops are.
Symbols loop_symbols(const Node &n, const Stage &s);

// The ends of a Func's region, numbered as its dimensions are.
Symbols region_symbols(const Node &n);

// Throws DescribeError where the expression cannot be written.
Json expr_json(const Halide::Expr &e, const Symbols &symbols);

// What keeps an expression from being written, if anything does.
std::optional<std::string> why_not_json(const Halide::Expr &e, const Symbols &symbols);

}  // namespace protuner::description
