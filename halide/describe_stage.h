// What the expressions of one stage say by themselves.
#pragma once

#include "describe_graph.h"

#include <map>
#include <set>

namespace protuner::description {

// Whether a call loads a value of a Func or an input.
bool is_load(const Halide::Internal::Call *c);

// What a stage's definition uses.
struct Uses {
    std::map<std::string, int> calls;  // by name, as often as they are written
    // The same of Funcs and inputs, each for the share of points that make it where the loops
    // decide that, and once where the same point is called again, such as for another of its
    // values.
    std::map<std::string, double> points;
    std::set<std::string> choosing;    // the loops that say which of several values is taken
    // After how many of their iterations loops divide by a constant with the same rest, where
    // that is no power of two, its odd part.
    std::map<std::string, int64_t> periods;
    Halide::Type narrowest;            // of more than one bit
    bool pointwise = true;             // every load is at the Func's own arguments
};

Uses uses_of(const Halide::Expr &body, const std::vector<std::string> &args);

// Whether a Func's values are those of another one or of an input, moved along its
// dimensions or repeated, or a constant.
bool is_copy(const Halide::Internal::Function &f);

// The same expression without promises about bare variables, which rfactor makes
// from Halide 21 on: they are always kept, and hide how loads follow the loops.
Halide::Expr without_promises(const Halide::Expr &e);

// The same expression, with what it shares made explicit by lets where written out
// it would be huge, as sorting networks are: Halide's analysis walks a tree.
Halide::Expr tamed(const Halide::Expr &e);

// Halide up to 20 notes in the list of splits that rfactor turned a reduction loop into
// a pure one.
bool is_purified(const Halide::Internal::Split &split);

// The expression with a Func's pure definition in the place of calls to it.
Halide::Expr inline_calls(const Halide::Expr &e, const Halide::Internal::Function &f);

// Whether Halide can prove an update associative, as rfactor and atomic ask.
bool is_associative(const std::string &func, const Stage &stage);

// How many of what an update multiplies, or adds where it multiplies nothing, fit where its
// sum does, if that is two or more and all are integers: 2 for products of 16 bits added up
// in 32, 4 for such of 8 bits. Else 0. Processors add up several such products at once.
int summed_at_once(const std::string &func, const Stage &stage);

// Whether a coordinate that is written to is looked up where the loop says: what
// neighbouring iterations of the loop write lies apart then, wherever the data say.
bool follows_data(const Halide::Expr &coordinate, const std::string &loop);

// Whether a stage reads or writes where values that it loads say and nothing in it bounds
// that, as where they were clamped before they were stored. What it computes beyond what is
// required would be anywhere: what it reads for that was never computed.
bool trusts_values(const Stage &stage);

// Whether the condition of an update ends its reduction loops where the data of an iteration
// of the loop have it, as a row of a sparse matrix does: from there on nothing is left to do,
// and Halide ends the loops unless iterations of several lengths share a vector.
bool is_ragged(const Halide::Expr &condition, const std::string &loop,
               const std::vector<Halide::Internal::ReductionVariable> &reduction);

// Recognises c, v, v*k, v+c and v*k+c over one end v of one loop, in the form
// that simplify leaves them; nothing else counts as affine.
bool find_affine(const std::string &func, const Stage &stage, Bound *b);

// Throws DescribeError where the Generator has scheduled the Func already: its
// loops are then not those of the algorithm, and nothing that is said of a Func later
// inlines one that is computed somewhere. Where outputs are computed is not looked at: they
// are at root, whatever is said.
void refuse_schedule(const Halide::Internal::Function &f, const std::string &name, bool output);

}  // namespace protuner::description
