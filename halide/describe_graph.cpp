// Builds the graph. The relations are those of Adams et al. 2019, section 3.1,
// decided as Halide's Adams2019 decides them, so that features computed from them
// agree with its own. It differs where that one gives up: a Func read where no
// bound can be computed is inlined or kept at root, and one with an extern
// definition is kept at root.

#include "describe_graph.h"
#include "describe_expr.h"
#include "describe_independence.h"
#include "describe_stage.h"

#include <map>
#include <set>

namespace protuner::description {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Thrown when a relation between two Funcs has no usable bounds.
struct Unbounded {
    std::string func, reason;
};

class Analysis {
public:
    Analysis(const Scheduler &scheduler, const Pipeline &pipeline, const Target &target, bool structured)
        : scheduler(scheduler), target(target), structured(structured), outputs(output_functions(pipeline)) {
        resolve_wrappers();
        order = topological_order(outputs, env);
        for (const std::string &name : order) refuse_schedule(env.at(name), name_of(name), is_output(env.at(name)));
        value_bounds = compute_function_value_bounds(order, env);
    }

    Graph run() {
        // Each round settles one more Func.
        for (size_t round = 0; round <= order.size(); round++) {
            try {
                return attempt();
            } catch (const Unbounded &u) {
                settle(u);
            }
        }
        throw DescribeError("the pipeline's relations without bounds cannot be resolved; clamp its coordinates");
    }

private:
    const Scheduler &scheduler;
    const Target &target;
    const bool structured;  // directives have changed definitions
    std::vector<Function> outputs;
    std::map<std::string, Function> env;
    std::vector<std::string> order;  // producers first
    FuncValueBounds value_bounds;
    std::map<std::string, std::string> inlined;  // name -> why
    std::map<std::string, std::string> fixed;  // read where the estimates say; name -> why
    std::map<std::string, int> index;

    std::string name_of(const std::string &halide_name) const { return scheduler.name_of(env.at(halide_name)); }

    bool is_output(const Function &f) const {
        for (const Function &o : outputs) {
            if (o.same_as(f)) return true;
        }
        return false;
    }

    // Makes consumers call the wrappers and clones that in and clone_in made for
    // them, on copies, as lowering would.
    void resolve_wrappers() {
        env = build_environment(outputs);
        bool any = false;
        for (const auto &f : env) any |= !f.second.schedule().wrappers().empty();
        if (!any) return;
        auto copies = deep_copy(outputs, env);
        outputs = copies.first;
        env = wrap_func_calls(copies.second);
    }

    bool is_extern_argument(const std::string &name) const {
        for (const auto &f : env) {
            if (!f.second.has_extern_definition()) continue;
            for (const ExternFuncArgument &a : f.second.extern_arguments()) {
                if (a.is_func() && Function(a.func).name() == name) return true;
            }
        }
        return false;
    }

    // Inlines a Func that is read without bounds, or takes its estimates for what
    // is read of it.
    void settle(const Unbounded &u) {
        const Function &f = env.at(u.func);
        if (!input_of(f).defined() && f.can_be_inlined() && !is_output(f) && !is_extern_argument(u.func)) {
            inlined[u.func] = u.reason;
            return;
        }
        if (!input_of(f).defined()) {
            for (const std::string &arg : f.args()) {
                if (estimate_of(f, arg)) continue;
                throw DescribeError("Func " + name_of(u.func) + ": " + u.reason +
                                    ", and it cannot be inlined; clamp the coordinate, or call " +
                                    name_of(u.func) + ".set_estimate(" + arg + ", min, extent)");
            }
        }
        fixed[u.func] = u.reason;
    }

    struct Estimated {
        int64_t min, max;
        bool constant;
    };

    // The user's bound of a dimension, else the user's estimate.
    std::optional<Estimated> estimate_of(const Function &f, const std::string &arg) const {
        std::optional<Estimated> out;
        auto take = [&](const std::vector<Halide::Internal::Bound> &list, bool constant) {
            for (const auto &b : list) {
                if (b.var != arg || !b.min.defined() || !b.extent.defined()) continue;
                auto min = as_const_int(simplify(Estimates::apply(b.min)));
                auto extent = as_const_int(simplify(Estimates::apply(b.extent)));
                if (min && extent) {
                    bool sized = Estimates::used_by(b.min) || Estimates::used_by(b.extent);
                    out = Estimated{*min, *min + *extent - 1, constant && !sized};
                } else if (!constant) {
                    throw DescribeError("Func " + name_of(f.name()) + ": the estimate of dimension " + arg +
                                        " is no constant; give set_estimate numbers");
                }
            }
        };
        take(f.schedule().estimates(), false);
        take(f.schedule().bounds(), true);
        if (out && out->max < out->min) {
            throw DescribeError("Func " + name_of(f.name()) + ": the estimated extent of dimension " + arg +
                                " is not positive");
        }
        return out;
    }

    Graph attempt() {
        Graph g;
        g.outputs = outputs;
        index.clear();
        for (size_t i = 0; i < order.size(); i++) {
            Node n;
            n.func = env.at(order[order.size() - 1 - i]);
            n.name = name_of(n.func.name());
            index[n.func.name()] = (int)i;
            g.nodes.push_back(n);
        }
        for (Node &n : g.nodes) {
            auto root = fixed.find(n.func.name());
            if (root != fixed.end() && !input_of(n.func).defined()) n.must_root = root->second;
            auto in = inlined.find(n.func.name());
            if (in != inlined.end()) n.must_inline = in->second;
        }
        for (Node &n : g.nodes) describe_node(g, n);
        drop_unread(g);
        for (Node &n : g.nodes) {
            for (Stage &s : n.stages) featurize(g.nodes, n, s);
        }
        return g;
    }

    // Takes out Funcs that occur in the algorithm but of which no value is needed,
    // and what only they read.
    static void drop_unread(Graph &g) {
        std::set<int> read;
        for (size_t i = 0; i < g.nodes.size(); i++) {
            Node &n = g.nodes[i];
            if (!n.output && !read.count((int)i) && n.must_inline.empty()) {
                if (!n.must_root.empty() || !n.func.can_be_inlined()) {
                    throw DescribeError("Func " + n.name + ": no stage needs a value of it, and it cannot be inlined; "
                                        "take it out of the algorithm");
                }
                n.must_inline = "no stage needs a value of it";
                n.input = false;
                for (Stage &s : n.stages) s.edges.clear();
            }
            for (const Stage &s : n.stages) {
                for (const Edge &e : s.edges) read.insert(e.producer);
            }
        }
    }

    // The expression as it is analysed: with the Funcs that have to be inlined in
    // their places.
    Expr prepared(Expr e) const {
        if (!e.defined()) return e;
        if (structured) e = without_promises(e);
        for (auto name = order.rbegin(); name != order.rend(); ++name) {
            if (inlined.count(*name)) e = inline_calls(e, env.at(*name));
        }
        return tamed(e);
    }

    void describe_node(Graph &g, Node &n) {
        const Function &f = n.func;
        n.output = is_output(f);
        if (f.has_extern_definition()) n.must_root = "it is computed by the extern function " + f.extern_function_name();

        Scope<Interval> pure_scope;
        std::vector<Interval> required;
        for (const std::string &arg : f.args()) {
            required.emplace_back(symbol(f, arg, "min"), symbol(f, arg, "max"));
            pure_scope.push(arg, required.back());
        }
        n.computed.resize(f.dimensions());
        const int last = (int)f.updates().size();
        for (int s = 0; s <= last; s++) {
            n.stages.emplace_back();
            describe_stage(n, s, pure_scope);
            if (s == last) finish_computed(n, required);
            describe_loops(n, s, pure_scope);
            n.stages[s].trusts = trusts_values(n.stages[s]);
            describe_edges(g, n, s, pure_scope);
        }
        if (n.output) describe_output(n);
    }

    static Expr symbol(const Function &f, const std::string &var, const char *end) {
        return Variable::make(Int(32), f.name() + "." + var + "." + end);
    }

    static const Definition &definition(const Node &n, int s) {
        return s == 0 ? n.func.definition() : n.func.update(s - 1);
    }

    // The definition's expressions, and its share of the region computed.
    void describe_stage(Node &n, int s, const Scope<Interval> &pure_scope) {
        const Definition &def = definition(n, s);
        Stage &stage = n.stages[s];
        stage.name = n.name + (s > 0 ? ".update(" + std::to_string(s - 1) + ")" : "");
        for (const Expr &e : def.args()) stage.args.push_back(prepared(e));
        for (const Expr &e : def.values()) stage.values.push_back(prepared(e));
        stage.predicate = prepared(def.predicate());
        if (s == 0 && n.func.has_extern_definition()) {
            for (const ExternFuncArgument &a : n.func.extern_arguments()) {
                if (a.is_expr()) stage.extern_args.push_back(prepared(a.expr));
            }
        }
        stage.associative = s > 0 && !def.schedule().rvars().empty() && is_associative(n.func.name(), stage);
        if (stage.associative) stage.summed_at_once = summed_at_once(n.func.name(), stage);

        Scope<Interval> scope;
        scope.set_containing_scope(&pure_scope);
        for (const ReductionVariable &rv : def.schedule().rvars()) scope.push(rv.var, concrete(rv));
        for (int d = 0; d < n.func.dimensions(); d++) {
            // A reduction always runs over its whole domain, so its coordinates
            // are bounded by the domain itself.
            Interval in = bounds_of_expr_in_scope(stage.args[d], scope, value_bounds);
            if (!in.is_bounded()) {
                throw DescribeError("Func " + n.name + ": stage " + stage.name + " writes dimension " +
                                    n.func.args()[d] + " at a coordinate without bounds; clamp it");
            }
            if (s == 0) {
                n.computed[d].in = in;
            } else {
                n.computed[d].in.include(in);
            }
        }
    }

    static Interval concrete(const ReductionVariable &rv) {
        return {simplify(Estimates::apply(rv.min)), simplify(Estimates::apply(rv.min + rv.extent - 1))};
    }

    void finish_computed(Node &n, const std::vector<Interval> &required) {
        for (size_t d = 0; d < required.size(); d++) {
            Computed &c = n.computed[d];
            c.depends_on_estimate = Estimates::used_by(c.in.min) || Estimates::used_by(c.in.max);
            c.in.min = simplify(Estimates::apply(c.in.min));
            c.in.max = simplify(Estimates::apply(c.in.max));
            if (equal(c.in.min, required[d].min) && equal(c.in.max, required[d].max)) {
                c.equals_required = true;
                continue;
            }
            const Min *lo = c.in.min.as<Min>();
            const Max *hi = c.in.max.as<Max>();
            if (!lo || !hi || !equal(lo->a, required[d].min) || !equal(hi->a, required[d].max)) continue;
            auto lo_const = as_const_int(lo->b), hi_const = as_const_int(hi->b);
            if (lo_const && hi_const) c.united = std::make_pair(*lo_const, *hi_const);
        }
    }

    // The loops, innermost first. A loop is matched with the region computed as
    // far as it is known at this stage: before the last stage, without what later
    // stages add to it.
    void describe_loops(Node &n, int s, const Scope<Interval> &pure_scope) {
        const StageSchedule &schedule = definition(n, s).schedule();
        std::map<std::string, Interval> domain;
        std::set<std::string> by_parameter;
        for (const ReductionVariable &rv : schedule.rvars()) {
            domain[rv.var] = concrete(rv);
            if (Estimates::used_by(rv.min) || Estimates::used_by(rv.extent)) by_parameter.insert(rv.var);
        }
        for (const Dim &dim : schedule.dims()) {
            Interval in;
            if (domain.count(dim.var)) {
                in = domain[dim.var];
            } else if (pure_scope.contains(dim.var)) {
                in = pure_scope.get(dim.var);
            } else {
                continue;  // Halide's synthetic outermost loop
            }
            Loop l;
            l.var = dim.var;
            l.pure = dim.is_pure();
            l.rvar = dim.is_rvar();
            l.min = in.min;
            l.max = in.max;
            if (l.rvar) l.along = written_along(n.func, definition(n, s), l.var);
            for (const Expr &e : n.stages[s].args) l.scatters = l.scatters || follows_data(e, l.var);
            if (n.stages[s].predicate.defined() && l.pure) l.ragged = is_ragged(n.stages[s].predicate, l.var, schedule.rvars());
            for (int d = 0; d < n.func.dimensions(); d++) {
                if (l.var == n.func.args()[d]) l.pure_dim = d;
                if (equal(l.min, n.computed[d].in.min) && equal(l.max, n.computed[d].in.max)) {
                    l.computed_dim = d;
                    break;
                }
            }
            if (l.computed_dim < 0) {
                auto lo = as_const_int(l.min), hi = as_const_int(l.max);
                if (lo && hi) l.constant = std::make_pair(*lo, *hi);
                l.uses_parameter = by_parameter.count(l.var) > 0;
                if (lo && hi && *hi < *lo) {
                    throw DescribeError("Func " + n.name + ": stage " + n.stages[s].name + " has an empty loop " + l.var +
                                        "; leave the stage out, or estimate parameters so that its RDom is not empty");
                }
            }
            n.stages[s].loops.push_back(l);
        }
    }

    void describe_edges(Graph &g, Node &n, int s, const Scope<Interval> &pure_scope) {
        const Definition &def = definition(n, s);
        Stage &stage = n.stages[s];
        std::vector<Expr> all = stage.args;
        all.insert(all.end(), stage.values.begin(), stage.values.end());
        if (stage.predicate.defined()) all.push_back(stage.predicate);
        all.insert(all.end(), stage.extern_args.begin(), stage.extern_args.end());
        Expr body = Call::make(Int(32), "protuner_stage", all, Call::Extern);

        const Uses uses = uses_of(body, n.func.args());
        for (Loop &l : stage.loops) {
            l.chooses = uses.choosing.count(l.var) > 0;
            auto period = uses.periods.find(l.var);
            if (period != uses.periods.end()) l.period = period->second;
        }
        stage.vector_size = target.natural_vector_size(uses.narrowest);
        if (s == 0) {
            for (const Expr &v : stage.values) n.bytes_per_point += v.type().bytes();
            n.vector_size = stage.vector_size;
        }
        n.vector_size = std::max(n.vector_size, stage.vector_size);
        n.pointwise = !n.func.has_update_definition();
        n.boundary_condition = n.pointwise && starts_with(n.func.name(), "repeat_edge");
        n.copy = is_copy(n.func);

        Scope<Interval> scope;
        scope.set_containing_scope(&pure_scope);
        for (const ReductionVariable &rv : def.schedule().rvars()) {
            scope.push(rv.var, Interval(symbol(n.func, rv.var, "min"), symbol(n.func, rv.var, "max")));
        }
        if (n.must_inline.empty()) {
            // Applying estimates first, as Adams2019 does, hides what parameters decide.
            std::map<std::string, Box> as_compiled;
            const bool parametric = Estimates::used_by(body);
            if (parametric) as_compiled = boxes_required(body, scope, value_bounds);
            for (const auto &box : boxes_required(Estimates::apply(body), scope, value_bounds)) {
                auto producer = index.find(box.first);
                if (producer == index.end() || box.first == n.func.name()) continue;
                Edge e;
                e.producer = producer->second;
                auto calls = uses.calls.find(box.first);
                if (calls != uses.calls.end()) {
                    e.calls = calls->second;
                    e.points = uses.points.at(box.first);
                }
                const Node &p = g.nodes[e.producer];
                for (size_t d = 0; d < box.second.size(); d++) {
                    e.bounds.push_back(edge_bounds(n, stage, p, (int)d, box.second[d]));
                    if (!parametric) continue;
                    const Box &open = as_compiled[box.first];
                    const Interval end = d < open.size() ? open[d] : Interval::everything();
                    mark_parameter(e.bounds.back().first, end.min);
                    mark_parameter(e.bounds.back().second, end.max);
                }
                stage.edges.push_back(e);
                n.pointwise &= uses.pointwise;
            }
            if (s == 0) describe_extern_inputs(g, n);
        }
        n.wrapper = !n.func.has_extern_definition() && n.func.is_wrapper() != nullptr;
        n.input = !n.output && !n.func.has_update_definition() && n.wrapper && stage.edges.empty() &&
                  n.must_root.empty() && n.must_inline.empty();
    }

    std::pair<Bound, Bound> edge_bounds(const Node &consumer, const Stage &stage, const Node &producer, int d,
                                        const Interval &in) const {
        if (fixed.count(producer.func.name())) return fixed_bounds(producer.func, d);
        const std::string where = stage.name + " reads dimension " + producer.func.args()[d] + " at a coordinate ";
        if (!in.is_bounded()) throw Unbounded{producer.func.name(), where + "without bounds"};
        auto end = [&](const Expr &e) {
            Bound b;
            b.depends_on_estimate = Estimates::used_by(e);
            b.formula = simplify(Estimates::apply(e));
            if (!find_affine(consumer.func.name(), stage, &b)) {
                // Asked for here, because only here something can be done about it.
                auto reason = why_not_json(b.formula, loop_symbols(consumer, stage));
                if (reason) throw Unbounded{producer.func.name(), where + "whose bounds use " + *reason};
            }
            return b;
        };
        return {end(in.min), end(in.max)};
    }

    // The input buffer that a Func stands for, if it does.
    static Parameter input_of(const Function &f) {
        const Call *c = f.has_extern_definition() || f.has_update_definition() ? nullptr : f.is_wrapper();
        return c && c->call_type == Call::Image ? c->param : Parameter();
    }

    // A formula's extent is no constant anyway.
    static void mark_parameter(Bound &b, const Expr &as_compiled) {
        const bool known = !as_compiled.same_as(Interval::pos_inf()) && !as_compiled.same_as(Interval::neg_inf());
        b.uses_parameter = b.affine && (!known || Estimates::used_by(simplify(as_compiled)));
    }

    // The whole of a Func as estimated.
    std::pair<Bound, Bound> fixed_bounds(const Function &f, int d) const {
        Bound lo, hi;
        lo.affine = hi.affine = true;
        lo.depends_on_estimate = hi.depends_on_estimate = true;
        if (Parameter input = input_of(f); input.defined()) {
            const auto span = Estimates::span(input, d);
            lo.constant = span.first;
            hi.constant = span.first + span.second - 1;
        } else {
            Estimated e = *estimate_of(f, f.args()[d]);
            lo.constant = e.min;
            hi.constant = e.max;
        }
        return {lo, hi};
    }

    // An extern stage asks for regions of its inputs when it runs. Until then we
    // suppose that it reads the same region as it computes.
    void describe_extern_inputs(Graph &g, Node &n) {
        if (!n.func.has_extern_definition()) return;
        Stage &stage = n.stages[0];
        for (const ExternFuncArgument &a : n.func.extern_arguments()) {
            if (!a.is_func()) continue;
            Function f(a.func);
            auto producer = index.find(f.name());
            if (producer == index.end()) continue;
            Node &p = g.nodes[producer->second];
            p.must_root = "the extern stage " + n.name + " reads it whole";
            bool known = false;
            for (const Edge &e : stage.edges) known |= e.producer == producer->second;
            if (known) continue;
            Edge e;
            e.producer = producer->second;
            e.calls = 1;
            e.points = 1;
            for (int d = 0; d < f.dimensions(); d++) {
                Bound lo, hi;
                lo.affine = hi.affine = true;
                lo.depends_on_estimate = hi.depends_on_estimate = true;
                if (auto est = estimate_of(f, f.args()[d])) {
                    lo.constant = est->min;
                    hi.constant = est->max;
                } else if (d < (int)stage.loops.size()) {
                    lo.coeff = hi.coeff = 1;
                    lo.loop = hi.loop = d;
                    hi.uses_max = true;
                }
                e.bounds.emplace_back(lo, hi);
            }
            e.jacobians.push_back({Matrix(f.dimensions(), std::vector<Derivative>(stage.loops.size())), 1, 0, 0, {}});
            stage.edges.push_back(e);
            n.pointwise = false;
        }
    }

    void describe_output(Node &n) const {
        for (const std::string &arg : n.func.args()) {
            auto e = estimate_of(n.func, arg);
            if (!e) {
                throw DescribeError("output " + n.name + ": dimension " + arg + " has no estimate; in the Generator, call " +
                                    n.name + ".set_estimate(" + arg + ", min, extent)");
            }
            n.estimate.push_back({e->min, e->max, e->constant});
        }
        if (n.func.output_buffers().empty()) return;
        const Parameter &buffer = n.func.output_buffers()[0];
        for (int d = 0; d < buffer.dimensions(); d++) {
            Expr stride = buffer.stride_constraint(d);
            if (stride.defined() && is_const_one(stride)) n.innermost_dims.push_back(d);
        }
    }
};

}  // namespace

Graph analyse(const Scheduler &scheduler, const Pipeline &pipeline, const Target &target, bool structured) {
    return Analysis(scheduler, pipeline, target, structured).run();
}

}  // namespace protuner::description
