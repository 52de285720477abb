#include "describe_independence.h"

#include <algorithm>
#include <map>

namespace protuner::description {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Finds where a Func is called.
class FindCalls : public IRGraphVisitor {
    using IRGraphVisitor::visit;

    void visit(const Call *op) override {
        if (op->call_type == Call::Halide && op->name == func) places.push_back(op->args);
        IRGraphVisitor::visit(op);
    }

    const std::string &func;

public:
    std::vector<std::vector<Expr>> places;

    explicit FindCalls(const std::string &func) : func(func) {}
};

// Whether the difference of two coordinates is a constant other than 0, or so many times a
// number that is not 0.
bool never_zero(const Expr &difference, const std::string &not_zero) {
    const Expr e = simplify(difference);
    if (auto c = as_const_int(e)) return *c != 0;
    const Mul *m = e.as<Mul>();
    const Variable *v = m && as_const_int(m->b) ? m->a.as<Variable>() : e.as<Variable>();
    return v && v->name == not_zero;
}

// Whether two iterations of an update that meet, one at the place that it writes and
// another, of which `other` says what its loops are, at `place`, are never both let by the
// update's condition: of the points of a chequerboard those of one colour have neighbours of
// the other alone. Of conditions it knows remainders, (x + y) % 2 == z.
bool never_both(const Definition &def, const std::vector<Expr> &place, const std::map<std::string, Expr> &other) {
    std::map<std::string, Expr> met;  // what the first one's loops are, by the other's
    for (size_t d = 0; d < place.size(); d++) {
        const Variable *v = def.args()[d].as<Variable>();
        if (v) met[v->name] = substitute(other, place[d]);
    }
    std::vector<Expr> conditions;
    split_into_ands(substitute_in_all_lets(def.predicate()), conditions);
    for (const Expr &condition : conditions) {
        const EQ *equal = condition.as<EQ>();
        const Mod *mod = equal ? equal->a.as<Mod>() : nullptr;
        const auto modulus = mod ? as_const_int(mod->b) : std::nullopt;
        if (!modulus || *modulus < 2) continue;
        const auto apart = as_const_int(simplify(substitute(met, mod->a) - substitute(other, mod->a)));
        const bool same = is_const_zero(simplify(substitute(met, equal->b) - substitute(other, equal->b)));
        if (apart && same && *apart % *modulus != 0) return true;
    }
    return false;
}

}  // namespace

Along written_along(const Function &f, const Definition &def, const std::string &loop) {
    // unique_name would return these as they are where it was not asked for them before.
    const std::string apart = loop + ".apart";
    std::map<std::string, Expr> other = {{loop, Variable::make(Int(32), loop) + Variable::make(Int(32), apart)}};
    for (const Dim &dim : def.schedule().dims()) {
        if (dim.var == loop) break;
        if (dim.is_rvar()) other[dim.var] = Variable::make(Int(32), dim.var + ".other");
    }
    Along along;
    const Expr here = Variable::make(Int(32), loop);
    for (size_t d = 0; d < def.args().size(); d++) {
        const Expr &arg = def.args()[d];
        if (!expr_uses_var(arg, loop)) continue;
        const auto stride = as_const_int(simplify(substitute(loop, here + 1, arg) - arg));
        if (along.dim >= 0 || !stride || *stride <= 0) return {};
        if (expr_uses_var(simplify(arg - here * (int)*stride), loop)) return {};
        along = {(int)d, *stride};
    }
    if (along.dim < 0) return {};
    FindCalls calls(f.name());
    for (const std::vector<Expr> &parts : {def.args(), def.values(), std::vector<Expr>{def.predicate()}}) {
        for (const Expr &e : parts) substitute_in_all_lets(e).accept(&calls);
    }
    calls.places.push_back(def.args());
    const auto is_elsewhere = [&](const std::vector<Expr> &place) {
        for (size_t d = 0; d < place.size(); d++) {
            if (never_zero(substitute(other, place[d]) - def.args()[d], apart)) return true;
        }
        return never_both(def, place, other);
    };
    return std::all_of(calls.places.begin(), calls.places.end(), is_elsewhere) ? along : Along{};
}

}  // namespace protuner::description
