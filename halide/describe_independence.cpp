#include "describe_independence.h"

#include <algorithm>
#include <limits>
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

// The least dependence distance: how many iterations two that meet are apart at least, of those
// that meet if a coordinate of one and of the other differ by this: kNever where they cannot
// meet, since it is a constant other than 0 or so many times a number that is not 0; as many as
// it takes to make up for a constant; 0 where nothing is known.
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

int64_t least_apart(const Expr &difference, const std::string &apart) {
    const Expr none = simplify(substitute(apart, 0, difference));
    const auto by = as_const_int(none);
    if (!by) return 0;
    const Expr each = simplify(difference - none);
    if (is_const_zero(each)) return *by != 0 ? kNever : 0;
    const Mul *m = each.as<Mul>();
    const auto times = m ? as_const_int(m->b) : std::optional<int64_t>(1);
    const Variable *v = m && times ? m->a.as<Variable>() : each.as<Variable>();
    if (!v || v->name != apart || *times == 0) return 0;
    return *by == 0 || *by % *times != 0 ? kNever : std::abs(*by / *times);
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
    along.apart = kNever;
    for (const std::vector<Expr> &place : calls.places) {
        int64_t least = never_both(def, place, other) ? kNever : 0;
        for (size_t d = 0; d < place.size(); d++) {
            least = std::max(least, least_apart(substitute(other, place[d]) - def.args()[d], apart));
        }
        along.apart = std::min(along.apart, least);
    }
    if (along.apart < 2) return {};
    if (along.apart == kNever) along.apart = 0;
    return along;
}

}  // namespace protuner::description
