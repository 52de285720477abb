#include "describe_stage.h"

#include <numeric>

namespace protuner::description {

using namespace Halide;
using namespace Halide::Internal;

bool is_load(const Call *c) {
    return c->call_type == Call::Halide || c->call_type == Call::Image;
}

namespace {

class Look : public IRVisitor {
    using IRVisitor::visit;

    void visit(const IntImm *op) override { see(op->type); }
    void visit(const UIntImm *op) override { see(op->type); }
    void visit(const FloatImm *op) override { see(op->type); }
    void visit(const Variable *op) override { see(op->type); }
    void visit(const Cast *op) override {
        IRVisitor::visit(op);
        see(op->type);
    }
    void visit(const Reinterpret *op) override {
        IRVisitor::visit(op);
        see(op->type);
    }
    void visit(const Call *op) override {
        uses.calls[op->name]++;
        if (is_load(op)) {
            double &here = places[place_of(op)];
            uses.points[op->name] += std::min(share, 1 - here);
            here = std::min(here + share, 1.0);
        }
        if (op->is_intrinsic(Call::mux) && decided_by_loops(op->args[0])) {
            chosen_by(op->args[0]);
            op->args[0].accept(this);
            for (size_t i = 1; i < op->args.size(); i++) at(op->args[i], 1.0 / (op->args.size() - 1));
        } else {
            IRVisitor::visit(op);
        }
        see(op->type);
        if (!is_load(op)) return;
        uses.pointwise &= op->args.size() == args.size();
        for (size_t i = 0; uses.pointwise && i < args.size(); i++) {
            const Variable *v = op->args[i].as<Variable>();
            uses.pointwise = v && v->name == args[i];
        }
    }

    // The same for all values of a point, whichever it is that is read.
    static Expr place_of(const Call *op) {
        return Call::make(Int(32), op->name, op->args, Call::PureExtern);
    }

    // Conditions on loops are known where those are unrolled, or their vectors begin
    // at even places: then only the points that need a value compute it.
    void visit(const Select *op) override {
        if (std::optional<double> holds = share_of(op->condition)) {
            op->condition.accept(this);
            at(op->true_value, *holds);
            at(op->false_value, 1 - *holds);
            return;
        }
        const std::vector<const Select *> cases = by_value(op);
        if (!cases.empty()) chosen_by(cases[0]->condition.as<EQ>()->a);
        if (cases.size() < 2) {
            IRVisitor::visit(op);
            return;
        }
        const double each = 1.0 / (cases.size() + 1);
        for (const Select *c : cases) {
            c->condition.accept(this);
            at(c->true_value, each);
        }
        at(cases.back()->false_value, each);
    }

    // Notes the loop that a value is chosen by.
    void chosen_by(const Expr &e) {
        const Variable *v = e.as<Variable>();
        if (!v) return;
        if (lets.contains(v->name)) return chosen_by(lets.get(v->name));
        uses.choosing.insert(v->name);
    }

    void visit(const Div *op) override {
        again_after(op->a, op->b);
        IRVisitor::visit(op);
    }
    void visit(const Mod *op) override {
        again_after(op->a, op->b);
        IRVisitor::visit(op);
    }

    // Notes that what is divided, or what is left of it, is a matter of loops alone.
    void again_after(const Expr &a, const Expr &b) {
        auto divisor = as_const_int(b);
        if (!divisor || *divisor < 2) return;
        int64_t odd = *divisor;
        while (odd % 2 == 0) odd /= 2;
        if (odd == 1) return;
        const auto loops = deciding(a);
        if (!loops) return;
        for (const std::string &loop : *loops) {
            int64_t &period = uses.periods.emplace(loop, 1).first->second;
            period = std::lcm(period, odd);
        }
    }

    // Looks at e, which so many of the points here need.
    void at(const Expr &e, double of) {
        const double whole = share;
        share *= of;
        e.accept(this);
        share = whole;
    }

    void visit(const Let *op) override {
        op->value.accept(this);
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        op->body.accept(this);
    }

    // The loops that e is a matter of; none where data or parameters have a say in it.
    std::optional<std::set<std::string>> deciding(const Expr &e) const {
        class Variables : public IRGraphVisitor {
            using IRGraphVisitor::visit;
            void visit(const Call *) override { others = true; }
            void visit(const Variable *op) override {
                others |= op->param.defined();
                if (lets.contains(op->name)) {
                    include(lets.get(op->name));
                } else {
                    found.insert(op->name);
                }
            }

            const Scope<Expr> &lets;

        public:
            bool others = false;
            std::set<std::string> found;

            explicit Variables(const Scope<Expr> &lets) : lets(lets) {}
        } in(lets);
        e.accept(&in);
        return in.others ? std::nullopt : std::optional(in.found);
    }

    bool decided_by_loops(const Expr &e) const { return deciding(e).has_value(); }

    // For how many points i % 2 == 1 and the like hold.
    std::optional<double> share_of(const Expr &condition) const {
        const Variable *v = condition.as<Variable>();
        if (v && lets.contains(v->name)) return share_of(lets.get(v->name));
        if (const NE *ne = condition.as<NE>()) {
            std::optional<double> equal = share_of(ne->a == ne->b);
            return equal ? std::optional<double>(1 - *equal) : std::nullopt;
        }
        const EQ *eq = condition.as<EQ>();
        const Mod *mod = eq ? eq->a.as<Mod>() : nullptr;
        if (!mod || !as_const_int(eq->b) || !decided_by_loops(mod->a)) return std::nullopt;
        auto modulus = as_const_int(mod->b);
        if (!modulus || *modulus < 2) return std::nullopt;
        return 1.0 / *modulus;
    }

    // The selects of "c == 0 ? a : c == 1 ? b : d" for a loop c: a value by channel. One
    // alone may be about a border.
    std::vector<const Select *> by_value(const Select *op) const {
        std::vector<const Select *> cases;
        std::string loop;
        for (; op; op = op->false_value.as<Select>()) {
            const EQ *eq = op->condition.as<EQ>();
            const Variable *v = eq ? eq->a.as<Variable>() : nullptr;
            if (!v || !as_const_int(eq->b) || !(cases.empty() ? decided_by_loops(eq->a) : v->name == loop)) break;
            loop = v->name;
            cases.push_back(op);
        }
        return cases;
    }

    void see(Type t) {
        if (t.bits() > 1 && (uses.narrowest.bits() == 0 || t.bits() < uses.narrowest.bits())) uses.narrowest = t;
    }

    const std::vector<std::string> &args;
    double share = 1;  // of the points, that need what is looked at
    std::map<Expr, double, IRDeepCompare> places;  // read so far, by what share of the points
    Scope<Expr> lets;

public:
    Uses uses;

    explicit Look(const std::vector<std::string> &args) : args(args) {}
};

// Puts a Func's pure definition in the place of calls to it. Halide's own inlining
// refuses Funcs whose schedule is still open.
class Inline : public IRGraphMutator {
    using IRGraphMutator::visit;
    const Function &func;

    Expr visit(const Call *op) override {
        Expr e = IRGraphMutator::visit(op);
        const Call *c = e.as<Call>();
        if (!c || c->call_type != Call::Halide || c->name != func.name()) return e;
        std::map<std::string, Expr> at;
        for (size_t i = 0; i < c->args.size(); i++) at[func.args()[i]] = c->args[i];
        return substitute(at, func.values()[c->value_index]);
    }

public:
    explicit Inline(const Function &func) : func(func) {}
};

// Leaves out promises about bare variables, or all.
class DropPromises : public IRGraphMutator {
    using IRGraphMutator::visit;

    Expr visit(const Call *op) override {
        if (op->is_intrinsic({Call::promise_clamped, Call::unsafe_promise_clamped}) && (all || op->args[0].as<Variable>())) {
            return mutate(op->args[0]);
        }
        return IRGraphMutator::visit(op);
    }

    const bool all;

public:
    explicit DropPromises(bool all) : all(all) {}
};

// Counts the nodes of an expression as a tree, in one walk over the graph.
class TreeSize : public IRGraphVisitor {
    std::map<const IRNode *, double> sizes;
    double *above = nullptr;

    using IRGraphVisitor::include;
    void include(const Expr &e) override { add(e); }

public:
    double add(const Expr &e) {
        auto known = sizes.find(e.get());
        if (known == sizes.end()) {
            double size = 1;
            double *outer = above;
            above = &size;
            e.accept(this);
            above = outer;
            known = sizes.emplace(e.get(), size).first;
        }
        if (above) *above += known->second;
        return known->second;
    }
};

// Finds loads at places that a loop moves.
class FindLookup : public IRGraphVisitor {
    using IRGraphVisitor::visit;

    void visit(const Call *op) override {
        found = found || (is_load(op) && expr_uses_var(op, loop));
        if (!found) IRGraphVisitor::visit(op);
    }

    const std::string &loop;

public:
    bool found = false;

    explicit FindLookup(const std::string &loop) : loop(loop) {}
};

// Finds loads, in what names stand for too.
class FindLoad : public IRGraphVisitor {
    const std::map<std::string, Expr> &lets;

protected:
    using IRGraphVisitor::visit;

    void visit(const Variable *op) override {
        auto let = lets.find(op->name);
        if (let != lets.end()) include(let->second);
    }
    void visit(const Call *op) override {
        found = found || is_load(op);
        if (!found) IRGraphVisitor::visit(op);
    }

public:
    bool found = false;

    explicit FindLoad(const std::map<std::string, Expr> &lets) : lets(lets) {}
};

// Finds coordinates of what is read that values decide and nothing bounds.
class FindTrust : public IRGraphVisitor {
    using IRGraphVisitor::visit;

    void visit(const Let *op) override {
        op->value.accept(this);
        lets[op->name] = op->value;  // names are unique
        scope.push(op->name, bounds(op->value));
        op->body.accept(this);
    }
    void visit(const Call *op) override {
        if (is_load(op)) {
            for (const Expr &e : op->args) look_at(e);
        }
        IRGraphVisitor::visit(op);
    }

    bool follows(const Expr &e) const {
        FindLoad load(lets);
        e.accept(&load);
        return load.found;
    }

    Interval bounds(const Expr &e) const {
        return bounds_of_expr_in_scope(DropPromises(true).mutate(e), scope);  // rubbish keeps none
    }

    Scope<Interval> scope;
    std::map<std::string, Expr> lets;

public:
    bool found = false;

    explicit FindTrust(const std::vector<Loop> &loops) {
        for (const Loop &l : loops) scope.push(l.var, {0, 1});  // bounded, whatever they are
    }

    void look_at(const Expr &coordinate) {
        found = found || (follows(coordinate) && !bounds(coordinate).is_bounded());
    }
};

// Finds what makes a coordinate more than its own argument moved: others of the Func's
// arguments, data.
class FindOthers : public FindLoad {
    using FindLoad::visit;

    void visit(const Variable *op) override {
        found = found || (op->name != own && std::find(args.begin(), args.end(), op->name) != args.end());
        FindLoad::visit(op);
    }

    const std::vector<std::string> &args;
    const std::string own;

public:
    FindOthers(const std::vector<std::string> &args, const std::map<std::string, Expr> &lets, size_t d)
        : FindLoad(lets), args(args), own(d < args.size() ? args[d] : "") {}
};

// Far more than the definitions of ordinary pipelines, far less than takes long.
constexpr double kMaxTree = 1e6;

}  // namespace

bool is_purified(const Split &split) {
#if HALIDE_VERSION_MAJOR < 21
    return split.split_type == Split::PurifyRVar;
#else
    (void)split;
    return false;
#endif
}

Uses uses_of(const Expr &body, const std::vector<std::string> &args) {
    Look look(args);
    body.accept(&look);
    return look.uses;
}

Expr without_promises(const Expr &e) {
    return DropPromises(false).mutate(e);
}

Expr tamed(const Expr &e) {
    if (!e.defined() || TreeSize().add(e) <= kMaxTree) return e;
    return common_subexpression_elimination(e);
}

Expr inline_calls(const Expr &e, const Function &f) {
    return Inline(f).mutate(e);
}

bool is_associative(const std::string &func, const Stage &stage) {
    try {
        return prove_associativity(func, stage.args, stage.values).associative();
    } catch (const Halide::Error &) {
        return false;
    }
}

int summed_at_once(const std::string &func, const Stage &stage) {
    if (stage.values.size() != 1) return 0;
    const Add *add = stage.values[0].as<Add>();
    if (!add || add->type.is_float() || add->type.bits() > 32) return 0;
    const auto is_self = [&](const Expr &e) {
        const Call *c = e.as<Call>();
        return c && c->call_type == Call::Halide && c->name == func;
    };
    if (!is_self(add->a) && !is_self(add->b)) return 0;
    const Expr term = is_self(add->a) ? add->b : add->a;
    if (is_const(term)) return 0;
    std::vector<Expr> factors = {term};
    if (const Mul *m = term.as<Mul>()) {
        factors = {m->a, m->b};
    } else if (const Call *c = Call::as_intrinsic(term, {Call::widening_mul})) {
        factors = c->args;
    }
    for (int bits = 8; 2 * bits <= add->type.bits(); bits *= 2) {
        bool fit = true;
        for (const Expr &f : factors) {
            fit = fit && (lossless_cast(Halide::Int(bits), f).defined() || (bits == 8 && lossless_cast(Halide::UInt(8), f).defined()));
        }
        if (fit) return add->type.bits() / bits;
    }
    return 0;
}

bool is_copy(const Function &f) {
    if (f.has_extern_definition() || f.has_update_definition() || f.outputs() != 1) return false;
    Expr value = f.values()[0];
    std::map<std::string, Expr> lets;
    for (;;) {
        if (const Let *let = value.as<Let>()) {
            lets[let->name] = let->value;
            value = let->body;
        } else if (const Cast *cast = value.as<Cast>()) {
            value = cast->value;
        } else if (const Select *select = value.as<Select>()) {
            // One of them is what there is outside.
            const bool constant = is_const(select->true_value);
            FindLoad load(lets);
            select->condition.accept(&load);
            if (load.found || (!constant && !is_const(select->false_value))) return false;
            value = constant ? select->false_value : select->true_value;
        } else if (const Call *likely = Call::as_intrinsic(value, {Call::likely, Call::likely_if_innermost})) {
            value = likely->args[0];
        } else {
            break;
        }
    }
    const Call *load = value.as<Call>();
    if (!load || !is_load(load)) return false;
    for (size_t d = 0; d < load->args.size(); d++) {
        FindOthers others(f.args(), lets, d);
        load->args[d].accept(&others);
        if (others.found) return false;
    }
    return true;
}

bool follows_data(const Expr &coordinate, const std::string &loop) {
    FindLookup find(loop);
    substitute_in_all_lets(coordinate).accept(&find);
    return find.found;
}

bool trusts_values(const Stage &stage) {
    FindTrust find(stage.loops);
    for (const Expr &e : stage.args) {
        find.look_at(e);
        e.accept(&find);
    }
    for (const Expr &e : stage.values) e.accept(&find);
    if (stage.predicate.defined()) stage.predicate.accept(&find);
    return find.found;
}

bool is_ragged(const Expr &condition, const std::string &loop, const std::vector<ReductionVariable> &reduction) {
    const Expr whole = substitute_in_all_lets(condition);
    if (const And *both = whole.as<And>()) return is_ragged(both->a, loop, reduction) || is_ragged(both->b, loop, reduction);
    bool bounds = false;
    for (const ReductionVariable &r : reduction) {
        if (follows_data(whole, r.var)) return false;
        bounds = bounds || expr_uses_var(whole, r.var);
    }
    return bounds && follows_data(whole, loop);
}

bool find_affine(const std::string &func, const Stage &stage, Bound *b) {
    if (auto c = b->formula.as<IntImm>()) {
        b->affine = true;
        b->constant = c->value;
        return true;
    }
    Expr rest = b->formula;
    int64_t constant = 0, coeff = 1;
    if (const Add *add = rest.as<Add>()) {
        const IntImm *c = add->b.as<IntImm>();
        if (!c) return false;
        constant = c->value;
        rest = add->a;
    }
    if (const Mul *mul = rest.as<Mul>()) {
        const IntImm *k = mul->b.as<IntImm>();
        if (!k) return false;
        coeff = k->value;
        rest = mul->a;
    }
    const Variable *v = rest.as<Variable>();
    if (!v) return false;
    for (size_t i = 0; i < stage.loops.size(); i++) {
        const std::string prefix = func + "." + stage.loops[i].var;
        bool is_max = v->name == prefix + ".max";
        if (!is_max && v->name != prefix + ".min") continue;
        b->affine = true;
        b->uses_max = is_max;
        b->coeff = coeff;
        b->constant = constant;
        b->loop = (int)i;
        return true;
    }
    return false;
}

// Looks at a copy: a level can be looked at only once it is locked.
static bool is_set(const LoopLevel &level) {
    LoopLevel copy;
    copy.set(level);
    copy.lock();
    return copy.defined() && !copy.is_inlined();
}

void refuse_schedule(const Function &f, const std::string &name, bool output) {
    auto refuse = [&](const std::string &what) {
        throw DescribeError("Func " + name + ": the Generator schedules it (" + what +
                            "); guard its schedule with if (!using_autoscheduler())");
    };
    for (int s = 0; s <= (int)f.updates().size(); s++) {
        const Definition &def = s == 0 ? f.definition() : f.update(s - 1);
        if (!def.specializations().empty()) refuse("specialize");
        for (const Split &split : def.schedule().splits()) {
            if (!is_purified(split)) refuse("split, fuse or rename");
        }
        for (const Dim &d : def.schedule().dims()) {
            if (d.for_type != ForType::Serial && d.for_type != ForType::Extern) {
                refuse("parallel, vectorize or unroll of " + d.var);
            }
        }
        if (is_set(def.schedule().fuse_level().level)) refuse("compute_with");
    }
    if (output) return;
    const FuncSchedule &all = f.schedule();
    if (is_set(all.compute_level())) refuse("compute_root or compute_at");
    if (is_set(all.store_level())) refuse("store_root or store_at");
    if (is_set(all.hoist_storage_level())) refuse("hoist_storage");
    if (all.memoized()) refuse("memoize");  // all but the first execution would look values up
}

}  // namespace protuner::description
