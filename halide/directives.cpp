#include "directives.h"

#include <algorithm>

namespace protuner {

using namespace Halide;
using Halide::Internal::Function;

namespace {

[[noreturn]] void refuse(const Json &d, const std::string &why) {
    throw DirectiveError(d.string_or("op", "?") + " of " + d.string_or("func", "?") + ": " + why);
}

// Says that one of the pipeline's inputs begins, ends and is dense where a directive has
// it; where the algorithm says something of its strides, nothing more is said of them.
// Undefined where there is no such input. Schedule files say the same by themselves
// (inputFunctionText in internal/schedule).
Expr lies_in(const std::vector<Internal::InferredArgument> &inputs, const Json &wanted) {
    const std::string &name = wanted["name"].as_string();
    const auto &box = wanted["box"].items();
    for (const auto &in : inputs) {
        if (in.arg.name != name || !in.arg.is_buffer() || !in.param.defined()) continue;
        if (2 * (size_t)in.param.dimensions() != box.size()) break;
        Expr same;
        auto is = [&](const char *what, int dim, int64_t value) {
            Expr symbol = Internal::Variable::make(Int(32), name + "." + what + "." + std::to_string(dim), in.param);
            Expr equal = symbol == (int)value;
            same = same.defined() ? same && equal : equal;
        };
        bool dense = Internal::is_const_one(in.param.stride_constraint(0));
        for (int dim = 1; dim < in.param.dimensions(); dim++) dense = dense && !in.param.stride_constraint(dim).defined();
        int64_t stride = 1;
        for (int dim = 0; dim < in.param.dimensions(); dim++) {
            int64_t extent = box[2 * dim + 1].as_int();
            is("min", dim, box[2 * dim].as_int());
            is("extent", dim, extent);
            if (dense && dim > 0) is("stride", dim, stride);
            stride *= extent;
        }
        return same;
    }
    return Expr();
}

// What a directive's word stands for.
template<typename T, size_t N>
T choice(const Json &d, const Word<T> (&words)[N], const char *what) {
    const std::string word = d.string_or("word", "");
    for (const Word<T> &w : words) {
        if (word == w.word) return w.value;
    }
    refuse(d, std::string("unknown ") + what + " " + word);
}

// Halide qualifies the name of a split loop by its parent's ("x.xi"), so a loop is
// meant by its whole name or by what follows a dot.
bool names_loop(const std::string &full, const std::string &name) {
    if (full == name) return true;
    return full.size() > name.size() + 1 &&
           full.compare(full.size() - name.size(), name.size(), name) == 0 &&
           full[full.size() - name.size() - 1] == '.';
}

class StageLoops {
public:
    StageLoops(const Json &d, Stage stage) : directive(d), stage(std::move(stage)) {}

    VarOrRVar loop(const std::string &name) const {
        for (const auto &dim : stage.get_schedule().dims()) {
            if (names_loop(dim.var, name)) return VarOrRVar(name, dim.is_rvar());
        }
        refuse(directive, "no loop " + name + " in " + stage.name());
    }
    std::vector<VarOrRVar> loops(const std::vector<std::string> &names) const {
        std::vector<VarOrRVar> out;
        for (const auto &n : names) out.push_back(loop(n));
        return out;
    }

private:
    const Json &directive;
    Stage stage;
};

Stage stage_of(const Json &d, Func f, int64_t index) {
    if (index == 0) return f;
    if (index < 0 || index > f.num_update_definitions()) {
        refuse(d, f.name() + " has no stage " + std::to_string(index));
    }
    return f.update((int)index - 1);
}

}  // namespace

std::vector<Function> output_functions(const Pipeline &pipeline) {
    std::vector<Function> outputs;
    for (const Func &f : pipeline.outputs()) outputs.push_back(f.function());
    return outputs;
}

Scheduler::Scheduler(const Pipeline &pipeline, bool only_special) : pipeline_(pipeline), only_special_(only_special) {
    const std::vector<Function> outputs = output_functions(pipeline);
    env_ = Internal::build_environment(outputs);
    order_ = Internal::topological_order(outputs, env_);
}

Func Scheduler::func(const std::string &name) const {
    auto alias = alias_.find(name);
    auto it = env_.find(alias == alias_.end() ? name : alias->second);
    if (it == env_.end()) throw DirectiveError("no Func " + name + " in this pipeline");
    return Func(it->second);
}

std::string Scheduler::name_of(const Function &f) const {
    auto it = alias_back_.find(f.name());
    return it == alias_back_.end() ? f.name() : it->second;
}

void Scheduler::adopt(const Func &f, const std::string &as) {
    env_.emplace(f.name(), f.function());
    if (as.empty()) return;
    alias_[as] = f.name();
    alias_back_[f.name()] = as;
}

void Scheduler::apply(const std::vector<Json> &directives) {
    for (size_t i = 0; i < directives.size(); i++) {
        try {
            apply_one(directives[i]);
        } catch (const JsonError &e) {
            throw DirectiveError("directive " + std::to_string(i + 1) + ": " + e.what());
        }
    }
}

void Scheduler::apply_one(const Json &d) {
    const std::string &op = d["op"].as_string();
    Func f = func(d["func"].as_string());
    int64_t stage_index = d.int_or("stage", 0);
    // Made only where one is meant: an extern Func has none.
    auto stage = [&] { return stage_of(d, f, stage_index); };
    auto in_stage = [&] { return StageLoops(d, stage()); };

    std::vector<std::string> vars, made, funcs;
    if (!d["vars"].is_null()) vars = d["vars"].as_strings();
    if (!d["new"].is_null()) made = d["new"].as_strings();
    if (!d["funcs"].is_null()) funcs = d["funcs"].as_strings();
    std::vector<Json> ints = d.items_or_empty("ints");

    auto need = [&](size_t n_vars, size_t n_made, size_t n_ints) {
        if (vars.size() < n_vars || made.size() < n_made || ints.size() < n_ints) refuse(d, "too few arguments");
    };
    auto number = [&](size_t i) {
        int64_t v = ints[i].as_int();
        if (v < INT32_MIN || v > INT32_MAX) refuse(d, "number out of range");
        return (int)v;
    };
    // Only compute_with tells stages apart; elsewhere Halide wants them left open, and a
    // stage that is named serves to check that the loop is there.
    auto level = [&](bool of_one_stage = false) {
        const Json &at = d["at"];
        Func consumer = func(at["func"].as_string());
        const std::string &name = at["loop"].as_string();
        int64_t at_stage = at.int_or("stage", -1);
        for (int64_t s = 0; s <= consumer.num_update_definitions(); s++) {
            if (at_stage >= 0 && s != at_stage) continue;
            for (const auto &dim : stage_of(d, consumer, s).get_schedule().dims()) {
                if (names_loop(dim.var, name)) {
                    return LoopLevel(consumer, VarOrRVar(name, dim.is_rvar()), of_one_stage ? (int)s : -1);
                }
            }
        }
        refuse(d, "no loop " + name + " in " + consumer.name());
    };
    auto dimension = [&](const std::string &name) {
        const auto &args = f.function().args();
        if (std::find(args.begin(), args.end(), name) == args.end()) {
            refuse(d, f.name() + " has no dimension " + name);
        }
        return Var(name);
    };
    auto consumers = [&]() {
        std::vector<Func> out;
        for (const auto &n : funcs) out.push_back(func(n));
        return out;
    };

    if (op == "compute_root") {
        f.compute_root();
    } else if (op == "compute_inline") {
        f.compute_inline();
    } else if (op == "compute_at") {
        f.compute_at(level());
    } else if (op == "store_root") {
        f.store_root();
    } else if (op == "store_at") {
        f.store_at(level());
    } else if (op == "hoist_storage") {
        f.hoist_storage(level());
    } else if (op == "hoist_storage_root") {
        f.hoist_storage_root();
    } else if (op == "store_in") {
        f.store_in(choice(d, kMemoryWords, "memory type"));
    } else if (op == "reorder_storage") {
        std::vector<Var> dims;
        for (const auto &v : vars) dims.push_back(dimension(v));
        f.reorder_storage(dims);
    } else if (op == "fold_storage") {
        need(1, 0, 1);
        f.fold_storage(dimension(vars[0]), number(0), d.bool_or("flag", false));
    } else if (op == "align_storage") {
        need(1, 0, 1);
        f.align_storage(dimension(vars[0]), number(0));
    } else if (op == "bound_storage") {
        need(1, 0, 1);
        f.bound_storage(dimension(vars[0]), number(0));
    } else if (op == "bound") {
        need(1, 0, 2);
        f.bound(dimension(vars[0]), number(0), number(1));
    } else if (op == "bound_extent") {
        need(1, 0, 1);
        f.bound_extent(dimension(vars[0]), number(0));
    } else if (op == "align_bounds") {
        need(1, 0, 2);
        f.align_bounds(dimension(vars[0]), number(0), number(1));
    } else if (op == "align_extent") {
        need(1, 0, 1);
        f.align_extent(dimension(vars[0]), number(0));
    } else if (op == "split") {
        need(1, 2, 1);
        VarOrRVar old = in_stage().loop(vars[0]);
        stage().split(old, VarOrRVar(made[0], old.is_rvar), VarOrRVar(made[1], old.is_rvar), number(0),
                    choice(d, kTailWords, "tail strategy"));
    } else if (op == "fuse") {
        need(2, 1, 0);
        VarOrRVar inner = in_stage().loop(vars[0]), outer = in_stage().loop(vars[1]);
        stage().fuse(inner, outer, VarOrRVar(made[0], inner.is_rvar || outer.is_rvar));
    } else if (op == "reorder") {
        stage().reorder(in_stage().loops(vars));
    } else if (op == "rename") {
        need(1, 1, 0);
        VarOrRVar old = in_stage().loop(vars[0]);
        stage().rename(old, VarOrRVar(made[0], old.is_rvar));
    } else if (op == "serial") {
        need(1, 0, 0);
        stage().serial(in_stage().loop(vars[0]));
    } else if (op == "parallel") {
        need(1, 0, 0);
        stage().parallel(in_stage().loop(vars[0]));
    } else if (op == "vectorize") {
        need(1, 0, 0);
        stage().vectorize(in_stage().loop(vars[0]));
    } else if (op == "unroll") {
        need(1, 0, 0);
        stage().unroll(in_stage().loop(vars[0]));
    } else if (op == "atomic") {
        stage().atomic(d.bool_or("flag", false));
    } else if (op == "allow_race_conditions") {
        stage().allow_race_conditions();
    } else if (op == "compute_with") {
        LoopLevel with = level(true);
        stage().compute_with(with, choice(d, kAlignWords, "align strategy"));
    } else if (op == "prefetch") {
        need(2, 0, 1);
        if (funcs.size() != 1) refuse(d, "one Func to prefetch is needed");
        stage().prefetch(func(funcs[0]), in_stage().loop(vars[0]), in_stage().loop(vars[1]), number(0),
                       choice(d, kPrefetchWords, "bound strategy"));
    } else if (op == "specialize") {
        need(1, 0, 3 * vars.size());
        const auto outputs = pipeline_.outputs();
        bool output = std::any_of(outputs.begin(), outputs.end(), [&](const Func &o) { return o.name() == f.name(); });
        if (!output || f.outputs() != 1) refuse(d, f.name() + " is no output of one value");
        Expr box;
        for (size_t i = 0; i < vars.size(); i++) {
            const auto &args = f.function().args();
            auto at = std::find(args.begin(), args.end(), dimension(vars[i]).name());
            auto dim = f.output_buffer().dim((int)(at - args.begin()));
            int step = number(3 * i + 1);
            Expr begin = step == 0 ? dim.min() : dim.min() % step;
            Expr same = begin == number(3 * i) && dim.extent() == number(3 * i + 2);
            box = box.defined() ? box && same : same;
        }
        const auto inputs = Internal::infer_arguments(Internal::Stmt(), output_functions(pipeline_));
        for (const Json &in : d.items_or_empty("inputs")) {
            Expr same = lies_in(inputs, in);
            if (!same.defined()) refuse(d, "there is no input " + in["name"].as_string() + " of so many dimensions");
            box = box && same;
        }
        stage().specialize(box);
        if (only_special_) stage().specialize_fail("compiled for the estimated sizes alone");
    } else if (op == "rfactor") {
        if (vars.size() != made.size()) refuse(d, "as many new Vars as reduction loops are needed");
        std::vector<std::pair<RVar, Var>> preserved;
        for (size_t i = 0; i < vars.size(); i++) {
            VarOrRVar r = in_stage().loop(vars[i]);
            if (!r.is_rvar) refuse(d, vars[i] + " is no reduction loop");
            preserved.emplace_back(RVar(vars[i]), Var(made[i]));
        }
        adopt(stage().rfactor(preserved), d.string_or("as", ""));
    } else if (op == "in") {
        adopt(funcs.empty() ? f.in() : f.in(consumers()), d.string_or("as", ""));
    } else if (op == "clone_in") {
        adopt(f.clone_in(consumers()), d.string_or("as", ""));
    } else {
        refuse(d, "unknown directive");
    }
}

}  // namespace protuner
