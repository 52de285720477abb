// Mode own: the hand-written schedule, read back from Halide's schedule objects as
// directives over the names of the pipeline that protuner describes.

#include "own.h"

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "describe_stage.h"
#include "directives.h"
#include "modes.h"

namespace protuner {

using namespace Halide;
using Halide::Internal::Function;

namespace {

// Halide makes names unique with a counter that goes on between two builds of one
// Generator, so "blur$3" there is "blur$1" here.
std::string base_name(const std::string &name) {
    return name.substr(0, name.find('$'));
}

std::string stem(const std::string &name) {
    std::string base = base_name(name);
    size_t end = base.find_last_not_of("0123456789");
    return end == std::string::npos ? base : base.substr(0, end + 1);
}

std::string short_name(const std::string &loop) {
    size_t dot = loop.rfind('.');
    return dot == std::string::npos ? loop : loop.substr(dot + 1);
}

// What a pipeline promises of its callers' buffers (dim(d).set_bounds, set_stride,
// set_host_alignment), in words that two builds share.
class Promises : public Internal::IRGraphVisitor {
    using IRGraphVisitor::visit;
    void visit(const Internal::Call *op) override {
        IRGraphVisitor::visit(op);
        if (op->param.defined()) add(op->param);
    }

    static std::string text(const Expr &e) {
        if (!e.defined()) return "-";
        std::ostringstream out;
        out << Internal::simplify(e);
        static const std::regex counter("\\$[0-9]+");
        return std::regex_replace(out.str(), counter, "");
    }

    void add(const Parameter &p) {
        if (!p.is_buffer()) return;
        std::string all = std::to_string(p.host_alignment());
        for (int d = 0; d < p.dimensions(); d++) {
            for (const Expr &e : {p.min_constraint(d), p.extent_constraint(d), p.stride_constraint(d)}) {
                all += " " + text(e);
            }
        }
        of[base_name(p.name())] = all;
    }

public:
    std::map<std::string, std::string> of;  // by buffer

    Promises(const std::map<std::string, Function> &env, const std::vector<Function> &outputs) {
        for (const auto &f : env) f.second.accept(this);
        for (const Function &f : outputs) {
            for (const Parameter &p : f.output_buffers()) add(p);
        }
    }
};

// Whether any value of an update calls a Func.
bool calls(const Internal::Definition &update, const std::string &func) {
    struct Look : public Internal::IRGraphVisitor {
        std::string func;
        bool found = false;
        using IRGraphVisitor::visit;
        void visit(const Internal::Call *op) override {
            found = found || op->name == func;
            IRGraphVisitor::visit(op);
        }
    } look;
    look.func = func;
    for (const Expr &e : update.values()) e.accept(&look);
    return look.found;
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How far the arguments of calls go with a step of one variable, by how far with a step
// of another: 0 where they depend on neither or not linearly.
class Steps : public Internal::IRGraphVisitor {
    using IRGraphVisitor::visit;
    void visit(const Internal::Call *op) override {
        for (const Expr &e : op->args) look(e);
        IRGraphVisitor::visit(op);
    }

    // The rest of the variables cancel out.
    static int64_t step(const Expr &e, const std::string &of, const std::string &other) {
        Expr at = Internal::substitute(other, 0, e);
        Expr by = Internal::simplify(Internal::substitute(of, 1, at) - Internal::substitute(of, 0, at));
        auto c = Internal::as_const_int(by);
        return c ? *c : 0;
    }

    void look(const Expr &e) {
        if (ratio || !e.type().is_int() || !Internal::expr_uses_var(e, outer) || !Internal::expr_uses_var(e, inner)) return;
        int64_t in = step(e, inner, outer);
        if (in) ratio = step(e, outer, inner) / in;
    }

    std::string outer, inner;

public:
    int64_t ratio = 0;
    Steps(const Internal::Definition &update, const std::string &outer, const std::string &inner)
        : outer(outer), inner(inner) {
        for (const Expr &e : update.args()) look(e);
        for (const Expr &e : update.values()) e.accept(this);
    }
};

class Reader {
public:
    Reader(const Pipeline &ours, const Pipeline &theirs) {
        const std::vector<Function> outputs = output_functions(theirs), our_outputs = output_functions(ours);
        env = Internal::build_environment(outputs);
        order = Internal::topological_order(outputs, env);
        our_env = Internal::build_environment(our_outputs);
        find_partial();
        match(Scheduler(ours).order());
        for (const auto &n : names) match_loops(env.at(n.first), our_env.at(n.second));
        promises(outputs, our_outputs);
    }

    Json answer() {
        // What makes Funcs comes first: other directives name them. Then each Func after
        // its consumers, whose loops its levels name.
        for (size_t i = order.size(); i-- > 0;) factored(env.at(order[i]));
        for (size_t i = order.size(); i-- > 0;) wrappers(env.at(order[i]));
        std::vector<Function> funcs;
        for (size_t i = order.size(); i-- > 0;) {
            if (names.count(order[i])) funcs.push_back(env.at(order[i]));
        }
        funcs.insert(funcs.end(), made.begin(), made.end());
        for (const Function &f : funcs) stages(f);
        for (const Function &f : funcs) levels(f);
        for (const Function &f : funcs) fusions(f);
        Json out = Json::object();
        out.set("type", "own");
        out.set("directives", std::move(directives));
        out.set("complete", notes.empty());
        out.set("notes", Json(notes));
        return out;
    }

private:
    using Loops = std::map<std::string, std::string>;
    struct Update {
        std::string func;
        int index;
    };

    std::map<std::string, Function> env, our_env;
    std::vector<std::string> order;
    std::map<std::string, std::string> names;  // their name -> ours
    std::map<std::string, Loops> loops;        // by their Func: its own loops' names -> ours
    std::map<std::string, Update> partial;     // what rfactor made -> of what
    std::set<std::pair<std::string, int>> unread;  // updates whose rfactor cannot be told
    std::set<std::string> taken;               // names of ours
    std::vector<Function> made;                // wrappers and clones
    Json directives = Json::array();
    std::vector<std::string> notes;

    void note(const std::string &what) { notes.push_back(what); }

    // The word for one of Halide's choices, or a note where directives have none, as of what
    // later versions add.
    template<typename T, size_t N>
    std::string word(const Word<T> (&words)[N], T value, const std::string &otherwise) {
        std::string found = word_of(words, value);
        if (found.empty()) note(otherwise);
        return found;
    }

    // Funcs of the two builds belong together in order among those of one base name; what
    // Halide numbers in another way (lambda_0), in order among what is left of one stem. That
    // order is Halide's, which goes by definitions where names differ in their numbers alone.
    void match(const std::vector<std::string> &ours) {
        std::map<std::string, std::vector<std::string>> pool;
        for (const auto &n : ours) {
            pool[base_name(n)].push_back(n);
            taken.insert(n);
        }
        std::vector<std::string> alone;
        for (const auto &n : order) {
            if (partial.count(n)) continue;
            auto &candidates = pool[base_name(n)];
            if (!candidates.empty()) {
                names[n] = candidates.front();
                candidates.erase(candidates.begin());
            } else {
                alone.push_back(n);
            }
        }
        std::map<std::string, std::vector<std::string>> left;
        for (const auto &n : ours) {
            const auto &rest = pool[base_name(n)];
            if (std::find(rest.begin(), rest.end(), n) != rest.end()) left[stem(n)].push_back(n);
        }
        for (const auto &n : alone) {
            auto &candidates = left[stem(n)];
            if (candidates.empty()) {
                note(n + " is made by the schedule itself and has no counterpart");
                continue;
            }
            names[n] = candidates.front();
            candidates.erase(candidates.begin());
        }
        for (const auto &n : names) {
            const Function &f = env.at(n.first), &our = our_env.at(n.second);
            if (f.args().size() != our.args().size() || f.updates().size() != our.updates().size()) {
                note(n.first + " has other dimensions or stages than its counterpart " + n.second);
            }
        }
    }

    // Halide calls what rfactor makes after the Func, whose update then reads it. A Func that
    // is there without a schedule too is none of these, whatever it is called.
    void find_partial() {
        std::set<std::string> unscheduled;
        for (const auto &f : our_env) unscheduled.insert(base_name(f.first));
        for (const auto &f : env) {
            const std::string made_of = f.first + "_intm";
            if (unscheduled.count(base_name(f.first) + "_intm")) continue;
            for (const auto &g : env) {
                if (g.first != made_of && g.first.compare(0, made_of.size() + 1, made_of + "$") != 0) continue;
                const auto &updates = f.second.updates();
                for (size_t k = 0; k < updates.size(); k++) {
                    if (calls(updates[k], g.first)) partial[g.first] = {f.first, (int)k};
                }
            }
        }
    }

    // Vars and RDoms without a name are numbered on, too: the same dimension, and the
    // same place in the same update's domain, is the same loop.
    void match_loops(const Function &f, const Function &our) {
        Loops &of = loops[f.name()];
        for (size_t i = 0; i < f.args().size() && i < our.args().size(); i++) of[f.args()[i]] = our.args()[i];
        for (size_t k = 0; k < f.updates().size() && k < our.updates().size(); k++) {
            const auto &theirs = f.update((int)k).schedule().rvars(), &ours = our.update((int)k).schedule().rvars();
            const bool whole = std::none_of(partial.begin(), partial.end(), [&](const auto &p) {
                return p.second.func == f.name() && p.second.index == (int)k;
            });
            for (size_t i = 0; whole && i < theirs.size() && i < ours.size(); i++) of[theirs[i].var] = ours[i].var;
        }
    }

    std::string loop(const std::string &func, const std::string &name) {
        const std::string is = short_name(name);
        const auto &of = loops[func];
        auto it = of.find(is);
        return it == of.end() ? is : it->second;
    }

    // An update that rfactor took apart: its loops that are left and those of what it made
    // tell which were kept, and which one loop may have been split before.
    void factored(const Function &f) {
        for (const auto &p : partial) {
            if (p.second.func != f.name()) continue;
            const Function &g = env.at(p.first);
            if (names.count(f.name()) && factored(f, g, p.second.index)) continue;
            note(p.first + " is made by an rfactor that cannot be told from the loops there are");
            unread.emplace(f.name(), p.second.index + 1);
        }
    }

    using RVars = std::vector<Internal::ReductionVariable>;

    bool factored(const Function &f, const Function &g, int k) {
        auto our = our_env.find(names.at(f.name()));
        const bool again = std::any_of(partial.begin(), partial.end(), [&](const auto &p) { return p.second.func == g.name(); });
        if (our == our_env.end() || k >= (int)our->second.updates().size() || again) return false;
        if (g.updates().size() != 1 || g.args().size() < f.args().size()) return false;
        const RVars &before = our->second.update(k).schedule().rvars();
        const RVars &outside = f.update(k).schedule().rvars(), &inside = g.update(0).schedule().rvars();
        std::vector<std::string> vars(g.args().begin() + f.args().size(), g.args().end());
        if (vars.size() != outside.size()) return false;

        Loops of;
        std::vector<std::string> left;
        for (const auto &r : before) left.push_back(short_name(r.var));
        std::vector<std::string> in_order = left;  // the loops as rfactor found them
        const auto parts_outside = parts(outside, left, of), parts_inside = parts(inside, left, of);
        if (!left.empty() || !parts_outside.empty() || !parts_inside.empty()) {
            if (left.size() != 1 || parts_outside.size() != 1 || parts_inside.size() != 1) return false;
            auto it = std::find(in_order.begin(), in_order.end(), left[0]);
            const Expr &all = before[it - in_order.begin()].extent;
            const auto *a = parts_outside[0], *b = parts_inside[0];
            bool outer_outside = splits(all, a->extent, b->extent), inner_outside = splits(all, b->extent, a->extent);
            if (outer_outside && inner_outside) {
                const std::string &var = vars[a - outside.data()];  // what a is in what was made
                outer_outside = steps(g, var, b->var, b->extent);
                inner_outside = steps(g, b->var, var, a->extent);
            }
            if (outer_outside == inner_outside) return false;
            const auto *outer = outer_outside ? a : b, *inner = outer_outside ? b : a;
            Json d = directive("split", f, k + 1);
            d.set("vars", Json(left));
            d.set("new", Json(std::vector<std::string>{short_name(outer->var), short_name(inner->var)}));
            d.set("ints", Json(std::vector<int64_t>{*Internal::as_const_int(inner->extent)}));
            d.set("word", word_of(kTailWords, TailStrategy::GuardWithIf));
            emit(std::move(d));
            *it = short_name(inner->var);
            in_order.insert(it + 1, short_name(outer->var));
        }
        std::vector<std::string> kept;
        for (const auto &r : outside) {
            const std::string is = short_name(r.var);
            kept.push_back(of.count(is) ? of.at(is) : is);
        }
        if (!std::is_sorted(kept.begin(), kept.end(), [&](const std::string &a, const std::string &b) {
                return std::find(in_order.begin(), in_order.end(), a) < std::find(in_order.begin(), in_order.end(), b);
            })) {
            note(g.name() + " has its dimensions in another order");
        }
        names[g.name()] = fresh(base_name(names.at(f.name())) + "_intm");
        Json d = directive("rfactor", f, k + 1);
        d.set("vars", Json(kept));
        d.set("new", Json(vars));
        d.set("as", names[g.name()]);
        emit(std::move(d));
        loops[f.name()].insert(of.begin(), of.end());
        loops[g.name()] = loops[f.name()];
        return true;
    }

    // Takes out of left the loops that are there as they were, notes in of which is which,
    // and gives the others. A loop of an RDom without a name is numbered on.
    static std::vector<const Internal::ReductionVariable *> parts(const RVars &now, std::vector<std::string> &left, Loops &of) {
        std::vector<const Internal::ReductionVariable *> out;
        for (const auto &r : now) {
            const std::string name = short_name(r.var);
            auto it = std::find_if(left.begin(), left.end(), [&](const std::string &l) {
                size_t a = l.find('$'), b = name.find('$');
                return l == name || (a != std::string::npos && b != std::string::npos && stem(l) == stem(name) &&
                                     l.substr(a) == name.substr(b));
            });
            if (it == left.end()) {
                out.push_back(&r);
                continue;
            }
            of[name] = *it;
            left.erase(it);
        }
        return out;
    }

    // Whether a loop of that extent may have been split into an outer and an inner one.
    static bool splits(const Expr &all, const Expr &outer, const Expr &inner) {
        auto factor = Internal::as_const_int(inner), count = Internal::as_const_int(outer);
        auto whole = Internal::as_const_int(all);
        if (!factor) return false;
        return whole && count ? ceil_div(*whole, *factor) == *count : !whole && !count;
    }

    // Whether the loops are walked as after a split by that factor.
    static bool steps(const Function &g, const std::string &outer, const std::string &inner, const Expr &factor) {
        return Steps(g.update(0), outer, inner).ratio == *Internal::as_const_int(factor);
    }

    void promises(const std::vector<Function> &outputs, const std::vector<Function> &our_outputs) {
        auto plain = Promises(our_env, our_outputs).of;
        for (const auto &p : Promises(env, outputs).of) {
            auto it = plain.find(p.first);
            if (it != plain.end() && it->second != p.second) {
                note("the schedule sets bounds, strides or the alignment of " + p.first + ", which is left out");
            }
        }
    }

    std::string ours(const std::string &theirs) {
        auto it = names.find(theirs);
        if (it != names.end()) return it->second;
        note("Func " + theirs + " has no counterpart");
        return theirs;
    }

    Json directive(const std::string &op, const Function &f, int stage = 0) {
        Json d = Json::object();
        d.set("op", op);
        d.set("func", ours(f.name()));
        if (stage) d.set("stage", stage);
        return d;
    }
    void emit(Json d) { directives.push(std::move(d)); }

    // A clone has the base name of what it is a clone of.
    std::string fresh(const std::string &base) {
        std::string name = base;
        for (int i = 1; !taken.insert(name).second; i++) name = base + "_" + std::to_string(i);
        return name;
    }

    void wrappers(const Function &f) {
        std::map<std::string, std::vector<std::string>> consumers;
        std::map<std::string, Function> by_name;
        for (const auto &w : f.schedule().wrappers()) {
            Function g(w.second);
            by_name.emplace(g.name(), g);
            if (!w.first.empty()) consumers[g.name()].push_back(ours(w.first));
        }
        for (const auto &w : by_name) {
            names[w.first] = fresh(base_name(w.first));
            Json d = directive(w.second.is_wrapper() ? "in" : "clone_in", f);
            d.set("as", names[w.first]);
            auto it = consumers.find(w.first);
            if (it != consumers.end()) d.set("funcs", Json(it->second));
            emit(std::move(d));
            loops[w.first] = loops[f.name()];
            made.push_back(w.second);
        }
    }

    bool constant(const Expr &e, int64_t *value) {
        auto c = Internal::as_const_int(Internal::simplify(e));
        if (!c) return false;
        *value = *c;
        return true;
    }

    void stages(const Function &f) {
        if (f.has_extern_definition() || !f.has_pure_definition()) return;
        stage(f, f.definition(), 0);
        for (size_t i = 0; i < f.updates().size(); i++) stage(f, f.update((int)i), (int)i + 1);
    }

    void stage(const Function &f, const Internal::Definition &def, int index) {
        const auto &sched = def.schedule();
        if (unread.count({f.name(), index})) return;
        if (!def.specializations().empty()) note(f.name() + " is specialized, which is left out");
        for (const auto &s : sched.splits()) {
            if (description::is_purified(s)) continue;
            Json d;
            if (s.split_type == Internal::Split::SplitVar) {
                int64_t factor = 0;
                if (!constant(s.factor, &factor)) {
                    note(f.name() + " is split by a factor that is no constant");
                    continue;
                }
                d = directive("split", f, index);
                d.set("vars", Json(std::vector<std::string>{loop(f.name(), s.old_var)}));
                d.set("new", Json(std::vector<std::string>{loop(f.name(), s.outer), loop(f.name(), s.inner)}));
                d.set("ints", Json(std::vector<int64_t>{factor}));
                d.set("word", word(kTailWords, s.tail, f.name() + " is split with a tail that directives have no word for"));
            } else if (s.split_type == Internal::Split::FuseVars) {
                d = directive("fuse", f, index);
                d.set("vars", Json(std::vector<std::string>{loop(f.name(), s.inner), loop(f.name(), s.outer)}));
                d.set("new", Json(std::vector<std::string>{loop(f.name(), s.old_var)}));
            } else {
                d = directive("rename", f, index);
                d.set("vars", Json(std::vector<std::string>{loop(f.name(), s.old_var)}));
                d.set("new", Json(std::vector<std::string>{loop(f.name(), s.outer)}));
            }
            emit(std::move(d));
        }
        std::vector<std::string> in_order;
        for (const auto &dim : sched.dims()) {
            if (dim.var != Var::outermost().name()) in_order.push_back(loop(f.name(), dim.var));
        }
        if (in_order.size() > 1) emit(directive("reorder", f, index).set("vars", Json(in_order)));
        // Before the loop types: a vectorised or parallel reduction loop may need it.
        if (sched.atomic()) {
            emit(directive("atomic", f, index).set("flag", sched.override_atomic_associativity_test()));
        }
        if (sched.allow_race_conditions()) emit(directive("allow_race_conditions", f, index));
        for (const auto &dim : sched.dims()) {
            const char *op = dim.for_type == Internal::ForType::Parallel   ? "parallel" :
                             dim.for_type == Internal::ForType::Vectorized ? "vectorize" :
                             dim.for_type == Internal::ForType::Unrolled   ? "unroll" :
                                                                             nullptr;
            if (!op) continue;
            emit(directive(op, f, index).set("vars", Json(std::vector<std::string>{loop(f.name(), dim.var)})));
        }
        if (std::any_of(sched.dims().begin(), sched.dims().end(),
                        [](const Internal::Dim &d) { return d.partition_policy != Partition::Auto; })) {
            note(f.name() + " says which of its loops are partitioned, which is left out");
        }
        for (const auto &p : sched.prefetches()) {
            int64_t offset = 0;
            if (p.param.defined() || !constant(p.offset, &offset)) {
                note(f.name() + " prefetches an input or by a distance that is no constant");
                continue;
            }
            Json d = directive("prefetch", f, index);
            d.set("funcs", Json(std::vector<std::string>{ours(p.name)}));
            d.set("vars", Json(std::vector<std::string>{loop(f.name(), p.at), loop(f.name(), p.from)}));
            d.set("ints", Json(std::vector<int64_t>{offset}));
            d.set("word", word(kPrefetchWords, p.strategy, f.name() + " prefetches with bounds that directives have no word for"));
            emit(std::move(d));
        }
    }

    // A level that leaves the stage open has none to ask for.
    static int stage_of(const LoopLevel &level) {
        try {
            return level.stage_index();
        } catch (const Error &) {
            return -1;
        }
    }

    Json level_json(const LoopLevel &level) {
        Json at = Json::object();
        at.set("func", ours(level.func()));
        at.set("stage", stage_of(level));
        at.set("loop", loop(level.func(), level.var().name()));
        return at;
    }

    void level(const Function &f, const char *at_op, const char *root_op, LoopLevel l) {
        if (l.is_root()) {
            emit(directive(root_op, f));
        } else if (!l.is_inlined() && !names.count(l.func())) {
            note(f.name() + " is computed or stored in " + l.func() + ", which has no counterpart");
        } else if (!l.is_inlined()) {
            emit(directive(at_op, f).set("at", level_json(l)));
        }
    }

    void levels(const Function &f) {
        const auto &sched = f.schedule();
        LoopLevel compute = sched.compute_level(), store = sched.store_level(), hoist = sched.hoist_storage_level();
        for (LoopLevel *l : {&compute, &store, &hoist}) l->lock();
        level(f, "compute_at", "compute_root", compute);
        // A level never set means the one before it.
        if (store.defined() && !store.match(compute)) level(f, "store_at", "store_root", store);
        if (hoist.defined() && !hoist.match(store)) level(f, "hoist_storage", "hoist_storage_root", hoist);
        if (sched.async() || sched.memoized() || sched.ring_buffer().defined()) {
            note(f.name() + " is asynchronous, memoized or in a ring buffer, which is left out");
        }
        if (sched.memory_type() != MemoryType::Auto) {
            const std::string in = word(kMemoryWords, sched.memory_type(),
                                        f.name() + " is stored in memory that directives have no word for, which is left out");
            if (!in.empty()) emit(directive("store_in", f).set("word", in));
        }
        storage(f);
        bounds(f);
    }

    void storage(const Function &f) {
        std::vector<std::string> dims;
        for (const auto &d : f.schedule().storage_dims()) dims.push_back(d.var);
        if (dims != f.args() && !dims.empty()) {
            for (auto &d : dims) d = loop(f.name(), d);
            emit(directive("reorder_storage", f).set("vars", Json(dims)));
        }
        for (const auto &d : f.schedule().storage_dims()) {
            auto one = [&](const char *op, const Expr &e) {
                int64_t v = 0;
                if (!e.defined()) return;
                if (!constant(e, &v)) {
                    note(f.name() + "'s storage of " + d.var + " depends on more than constants");
                    return;
                }
                Json j = directive(op, f);
                j.set("vars", Json(std::vector<std::string>{loop(f.name(), d.var)}));
                j.set("ints", Json(std::vector<int64_t>{v}));
                if (std::string(op) == "fold_storage") j.set("flag", d.fold_forward);
                emit(std::move(j));
            };
            one("align_storage", d.alignment);
            one("bound_storage", d.bound);
            one("fold_storage", d.fold_factor);
        }
    }

    void bounds(const Function &f) {
        for (const auto &b : f.schedule().bounds()) {
            int64_t x = 0, y = 0;
            Json d;
            if (b.extent.defined() && b.min.defined() && constant(b.min, &x) && constant(b.extent, &y)) {
                d = directive("bound", f).set("ints", Json(std::vector<int64_t>{x, y}));
            } else if (b.extent.defined() && !b.min.defined() && constant(b.extent, &y)) {
                d = directive("bound_extent", f).set("ints", Json(std::vector<int64_t>{y}));
            } else if (b.modulus.defined() && b.remainder.defined() && constant(b.modulus, &x) &&
                       constant(b.remainder, &y)) {
                d = directive("align_bounds", f).set("ints", Json(std::vector<int64_t>{x, y}));
            } else if (b.modulus.defined() && constant(b.modulus, &x)) {
                d = directive("align_extent", f).set("ints", Json(std::vector<int64_t>{x}));
            } else {
                note(f.name() + " is bound in " + b.var + " by more than constants");
                continue;
            }
            emit(d.set("vars", Json(std::vector<std::string>{loop(f.name(), b.var)})));
        }
    }

    void fusions(const Function &f) {
        if (f.has_extern_definition() || !f.has_pure_definition()) return;
        for (int i = 0; i <= (int)f.updates().size(); i++) {
            const auto &def = i == 0 ? f.definition() : f.update(i - 1);
            const auto &fuse = def.schedule().fuse_level();
            LoopLevel l = fuse.level;
            l.lock();
            if (!l.defined() || l.is_inlined() || l.is_root()) continue;
            Json d = directive("compute_with", f, i);
            d.set("at", level_json(l));
            std::set<std::string> words;
            for (const auto &a : fuse.align) {
                words.insert(word(kAlignWords, a.second, f.name() + " aligns its fused loops in a way that directives have no word for"));
            }
            if (words.size() > 1) note(f.name() + " aligns its fused loops in several ways");
            if (!words.empty()) d.set("word", *words.begin());
            emit(std::move(d));
        }
    }
};

}  // namespace

OwnPipeline build_own(const Json &hello, const Target &target) {
    OwnPipeline own;
    std::string name = hello["generator"].as_string();
    own.generator = Internal::GeneratorRegistry::create(name, GeneratorContext(target));
    if (!own.generator) throw JsonError("no Generator named " + name);
    for (const Json &p : hello.items_or_empty("generator_params")) {
        if (p["name"].as_string() == "target") continue;  // the context has it, and a second is refused
        own.generator->set_generatorparam_value(p["name"].as_string(), p["value"].as_string());
    }
    own.pipeline = own.generator->build_pipeline();
    return own;
}

void own(const Session &session, const Pipeline &pipeline, const Target &target) {
    OwnPipeline theirs = build_own(session.hello, target);
    send_message(session.out, Reader(pipeline, theirs.pipeline).answer());
}

}  // namespace protuner
