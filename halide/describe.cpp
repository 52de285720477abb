// Mode describe: the pipeline as internal/pipeline's Pipeline in JSON.

#include "modes.h"

#include <sstream>

#include "describe_expr.h"
#include "describe_graph.h"
#include "directives.h"

namespace protuner {

using namespace Halide;
using namespace Halide::Internal;
using namespace description;

namespace {

using description::Bound;
using description::Stage;

constexpr int kDescriptionVersion = 1;

std::string halide_version() {
    return std::to_string(HALIDE_VERSION_MAJOR) + "." + std::to_string(HALIDE_VERSION_MINOR) + "." +
           std::to_string(HALIDE_VERSION_PATCH);
}

template<typename T>
std::string text(const T &value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

Json pair_json(int64_t a, int64_t b) {
    return Json::array().push(a).push(b);
}

void set_if(Json &j, const char *key, bool value) {
    if (value) j.set(key, true);
}

void set_if(Json &j, const char *key, int64_t value) {
    if (value != 0) j.set(key, value);
}

void set_if(Json &j, const char *key, const std::string &value) {
    if (!value.empty()) j.set(key, value);
}

Json bound_json(const Bound &b, const Symbols &symbols) {
    Json j = Json::object();
    if (b.affine) {
        set_if(j, "coeff", b.coeff);
        set_if(j, "const", b.constant);
        if (b.coeff != 0) {
            set_if(j, "dim", (int64_t)b.loop);
            set_if(j, "uses_max", b.uses_max);
        }
    } else {
        j.set("expr", expr_json(b.formula, symbols));
    }
    set_if(j, "depends_on_estimate", b.depends_on_estimate);
    set_if(j, "uses_parameter", b.uses_parameter);
    return j;
}

Json jacobian_json(const LoadJacobian &jac) {
    Json coeffs = Json::array();
    for (const auto &row : jac.coeffs) {
        Json r = Json::array();
        for (const Derivative &d : row) r.push(d.exists ? pair_json(d.num, d.den) : pair_json(0, 0));
        coeffs.push(r);
    }
    Json offsets = Json::array();
    bool any = false;
    for (const auto &load : jac.offsets) {
        any |= load.has_value();
        offsets.push(load ? Json(*load) : Json());
    }
    Json j = Json::object();
    j.set("count", jac.count).set("coeffs", coeffs);
    set_if(j, "looked_up", jac.looked_up);
    set_if(j, "shifted", jac.shifted);
    if (any) j.set("offsets", offsets);
    return j;
}

Json edge_json(const Node &n, const Stage &s, const Edge &e) {
    const Symbols symbols = loop_symbols(n, s);
    Json bounds = Json::array(), jacobians = Json::array();
    for (const auto &b : e.bounds) {
        bounds.push(Json::object().set("min", bound_json(b.first, symbols)).set("max", bound_json(b.second, symbols)));
    }
    for (const LoadJacobian &j : e.jacobians) jacobians.push(jacobian_json(j));
    Json j = Json::object();
    j.set("producer", e.producer).set("calls", e.calls);
    if (e.points < e.calls) j.set("points", e.points);
    return j.set("bounds", bounds)
        .set("jacobians", jacobians);
}

Json loop_json(const Node &n, const Stage &s, const Loop &l) {
    Json j = Json::object();
    j.set("var", l.var);
    set_if(j, "pure", l.pure);
    set_if(j, "rvar", l.rvar);
    set_if(j, "scatters", l.scatters);
    set_if(j, "ragged", l.ragged);
    set_if(j, "chooses", l.chooses);
    set_if(j, "period", l.period);
    if (l.along.dim >= 0) j.set("along", l.along.dim);
    if (l.along.stride > 1) j.set("stride", l.along.stride);
    set_if(j, "apart", l.along.apart);
    j.set("pure_dim", l.pure_dim).set("computed_dim", l.computed_dim);
    if (l.computed_dim >= 0) return j;
    if (l.constant) {
        set_if(j, "uses_parameter", l.uses_parameter);
        return j.set("const", pair_json(l.constant->first, l.constant->second));
    }
    try {
        const Symbols symbols = region_symbols(n);
        return j.set("min", expr_json(l.min, symbols)).set("max", expr_json(l.max, symbols));
    } catch (const DescribeError &e) {
        throw DescribeError("loop " + l.var + " of " + s.name + ": " + e.what() +
                            "; give its RDom a constant size, or one that only parameters determine");
    }
}

Json stage_json(const Node &n, const Stage &s) {
    Json loops = Json::array(), edges = Json::array(), features = Json::array();
    for (const Loop &l : s.loops) loops.push(loop_json(n, s, l));
    for (const Edge &e : s.edges) edges.push(edge_json(n, s, e));
    for (int32_t f : s.features) features.push(f);
    Json j = Json::object();
    j.set("name", s.name).set("loops", loops).set("vector_size", s.vector_size);
    set_if(j, "predicate", s.predicate.defined() && !is_const_one(s.predicate));
    set_if(j, "trusts", s.trusts);
    set_if(j, "associative", s.associative);
    if (s.summed_at_once > 0) j.set("summed_at_once", s.summed_at_once);
    return j.set("features", features).set("edges", edges);
}

Json computed_json(const Node &n, size_t d) {
    const Computed &c = n.computed[d];
    Json j = Json::object();
    if (c.equals_required) {
        j.set("equals_required", true);
    } else if (c.united) {
        j.set("union", pair_json(c.united->first, c.united->second));
    } else {
        try {
            const Symbols symbols = region_symbols(n);
            j.set("min", expr_json(c.in.min, symbols)).set("max", expr_json(c.in.max, symbols));
        } catch (const DescribeError &e) {
            throw DescribeError("region computed of " + n.name + " in dimension " + n.func.args()[d] + ": " + e.what() +
                                "; clamp the coordinate it writes to constants or parameters");
        }
    }
    set_if(j, "depends_on_estimate", c.depends_on_estimate);
    return j;
}

Json func_json(const Scheduler &scheduler, const Node &n) {
    const Function &f = n.func;
    int position = -1;
    for (size_t i = 0; i < scheduler.order().size(); i++) {
        if (scheduler.order()[i] == f.name()) position = (int)i;
    }
    std::vector<std::string> types;
    for (const Type &t : f.output_types()) types.push_back(text(t));

    Json j = Json::object();
    j.set("name", n.name)
        .set("index", position)
        .set("args", f.args())
        .set("types", types)
        .set("bytes_per_point", n.bytes_per_point)
        .set("vector_size", n.vector_size);
    set_if(j, "input", n.input);
    const Call *wrapped = n.input ? f.is_wrapper() : nullptr;
    if (wrapped && wrapped->param.defined()) j.set("param", wrapped->param.name());
    set_if(j, "output", n.output);
    set_if(j, "wrapper", n.wrapper);
    set_if(j, "pointwise", n.pointwise);
    set_if(j, "boundary_condition", n.boundary_condition);
    set_if(j, "copy", n.copy);
    set_if(j, "extern", f.has_extern_definition());
    set_if(j, "must_root", n.must_root);
    set_if(j, "must_inline", n.must_inline);
    if (!n.innermost_dims.empty()) j.set("innermost_dims", n.innermost_dims);
    if (n.output) {
        Json estimate = Json::array();
        for (const auto &e : n.estimate) {
            Json span = Json::object();
            span.set("min", e[0]).set("max", e[1]);
            set_if(span, "constant", e[2] != 0);
            estimate.push(span);
        }
        j.set("estimate", estimate);
    }
    Json computed = Json::array(), stages = Json::array();
    for (size_t d = 0; d < n.computed.size(); d++) computed.push(computed_json(n, d));
    for (const Stage &s : n.stages) stages.push(stage_json(n, s));
    return j.set("computed", computed).set("stages", stages);
}

std::string scalar_text(const Parameter &p) {
    Expr e = simplify(Estimates::scalar(p));
    if (auto i = as_const_int(e)) return std::to_string(*i);
    if (auto u = as_const_uint(e)) return std::to_string(*u);
    if (auto f = as_const_float(e)) {
        char buf[40];
        snprintf(buf, sizeof(buf), "%.17g", *f);
        return buf;
    }
    throw DescribeError("input " + p.name() + ": its estimate is no constant; give set_estimate a number");
}

Json params_json(const Pipeline &pipeline) {
    Json params = Json::array();
    for (const InferredArgument &a : inputs_of(pipeline)) {
        const Parameter &p = a.param;
        if (p.type().is_handle()) continue;  // its value is no number
        Json j = Json::object();
        j.set("name", p.name()).set("type", text(p.type())).set("buffer", p.is_buffer());
        if (p.is_buffer()) {
            std::vector<int64_t> mins, extents;
            for (int d = 0; d < p.dimensions(); d++) {
                const auto span = Estimates::span(p, d);
                mins.push_back(span.first);
                extents.push_back(span.second);
            }
            if (!mins.empty()) j.set("mins", mins).set("extents", extents);
        } else {
            j.set("value", scalar_text(p));
        }
        params.push(j);
    }
    return params;
}

Json pipeline_json(const Session &session, const Pipeline &pipeline, const Target &target) {
    // Directives change definitions, and the hash is of what the user wrote.
    const std::string hash = algorithm_hash(pipeline);

    Scheduler scheduler(pipeline);
    const std::vector<Json> structure = session.hello.items_or_empty("structure");
    scheduler.apply(structure);
    Graph graph = analyse(scheduler, pipeline, target, !structure.empty());

    Json funcs = Json::array();
    for (const Node &n : graph.nodes) funcs.push(func_json(scheduler, n));
    Json j = Json::object();
    j.set("version", kDescriptionVersion)
        .set("generator", session.hello.string_or("generator", ""))
        .set("halide", halide_version())
        .set("target", target.to_string())
        .set("algorithm", hash)
        .set("funcs", funcs)
        .set("params", params_json(pipeline));
    Pipeline handle = pipeline;
    set_if(j, "custom_passes", (int64_t)handle.custom_lowering_passes().size());
    return j;
}

}  // namespace

void describe(const Session &session, const Pipeline &pipeline, const Target &target) {
    Json description;
    try {
        description = pipeline_json(session, pipeline, target);
    } catch (const InternalError &e) {
        throw DescribeError(std::string("Halide's own analysis of this pipeline fails: ") + e.what());
    }
    send_message(session.out, Json::object().set("type", "description").set("pipeline", description));
}

}  // namespace protuner
