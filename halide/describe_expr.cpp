#include "describe_expr.h"

#include <cmath>

namespace protuner::description {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Larger formulas than this would make every evaluation slow, and a chain of lets
// written out can grow without bound.
constexpr int kMaxNodes = 20000;

struct CannotWrite {
    std::string what;
};

std::string type_name(Type t) {
    if (t.is_bool()) return "bool";
    std::string kind = t.is_int() ? "int" : t.is_uint() ? "uint" : t.is_bfloat() ? "bfloat" : t.is_float() ? "float" : "";
    if (kind.empty() || kind == "bfloat" || !t.is_scalar()) {
        throw CannotWrite{"a value of a type that bounds cannot have"};
    }
    return kind + std::to_string(t.bits());
}

class Writer {
    const Symbols &symbols;
    int nodes = 0;

    Json op(const char *name, std::initializer_list<Expr> args) {
        Json j = Json::array();
        j.push(name);
        for (const Expr &a : args) j.push(write(a));
        return j;
    }
    template<typename T>
    Json binary(const char *name, const T *o) {
        return op(name, {o->a, o->b});
    }

    Json typed(Type t, std::string digits) {
        Json j = Json::array();
        j.push("const").push(type_name(t)).push(std::move(digits));
        return j;
    }

    static std::string digits(double d) {
        char buf[40];
        snprintf(buf, sizeof(buf), "%.17g", d);
        return buf;
    }

    Json call(const Call *c) {
        static const std::map<std::string, const char *> by_name = {
            {"floor", "floor"}, {"ceil", "ceil"},   {"trunc", "trunc"}, {"sqrt", "sqrt"}, {"exp", "exp"},
            {"log", "log"},     {"sin", "sin"},     {"cos", "cos"},     {"tan", "tan"},   {"asin", "asin"},
            {"acos", "acos"},   {"atan", "atan"},   {"sinh", "sinh"},   {"cosh", "cosh"}, {"tanh", "tanh"},
            {"asinh", "asinh"}, {"acosh", "acosh"}, {"atanh", "atanh"}, {"pow", "pow"},   {"atan2", "atan2"},
        };
        static const std::vector<std::pair<Call::IntrinsicOp, const char *>> by_intrinsic = {
            {Call::abs, "abs"},
            {Call::absd, "absd"},
            {Call::round, "round"},
            {Call::shift_left, "<<"},
            {Call::shift_right, ">>"},
            {Call::bitwise_and, "&"},
            {Call::bitwise_or, "|"},
            {Call::bitwise_xor, "^"},
            {Call::bitwise_not, "~"},
        };
        // Halide up to 20 marks a formula as strict_float, later ones each operation in it.
        static const std::map<std::string, const char *> by_strict_name = {
            {"strict_add", "+"},   {"strict_sub", "-"},   {"strict_mul", "*"}, {"strict_div", "/"},  {"strict_min", "min"},
            {"strict_max", "max"}, {"strict_eq", "=="},   {"strict_lt", "<"},  {"strict_le", "<="},
        };
        const auto &a = c->args;
        if (c->call_type == Call::Halide) throw CannotWrite{"values of the Func " + c->name};
        if (c->call_type == Call::Image) throw CannotWrite{"values of the input " + c->name};
        // Marks for the compiler, without meaning for the value.
        if (c->is_intrinsic({Call::likely, Call::likely_if_innermost})) return write(a[0]);
        if (c->is_intrinsic({Call::promise_clamped, Call::unsafe_promise_clamped})) {
            return write(Max::make(Min::make(a[0], a[2]), a[1]));
        }
        if (c->is_intrinsic() && c->name == "strict_float") return write(a[0]);
        auto strict = c->is_intrinsic() ? by_strict_name.find(c->name) : by_strict_name.end();
        if (strict != by_strict_name.end()) return op(strict->second, {a[0], a[1]});
        if (c->is_intrinsic(Call::if_then_else) && a.size() == 3) return op("select", {a[0], a[1], a[2]});
        for (const auto &i : by_intrinsic) {
            if (!c->is_intrinsic(i.first)) continue;
            return a.size() == 1 ? op(i.second, {a[0]}) : op(i.second, {a[0], a[1]});
        }
        if (c->call_type == Call::PureExtern) {
            auto suffix = c->name.rfind("_f");
            auto known = by_name.find(suffix == std::string::npos ? c->name : c->name.substr(0, suffix));
            if (known != by_name.end()) {
                return a.size() == 1 ? op(known->second, {a[0]}) : op(known->second, {a[0], a[1]});
            }
        }
        throw CannotWrite{"the function " + c->name};
    }

public:
    explicit Writer(const Symbols &symbols) : symbols(symbols) {}

    Json write(const Expr &e) {
        if (++nodes > kMaxNodes) throw CannotWrite{"a formula of more than " + std::to_string(kMaxNodes) + " operations"};
        if (auto o = e.as<IntImm>()) {
            return o->type == Int(32) ? Json(o->value) : typed(o->type, std::to_string(o->value));
        }
        if (auto o = e.as<UIntImm>()) return typed(o->type, std::to_string(o->value));
        if (auto o = e.as<FloatImm>()) return typed(o->type, digits(o->value));
        if (auto o = e.as<Variable>()) {
            auto symbol = symbols.find(o->name);
            if (symbol == symbols.end()) throw CannotWrite{"the variable " + o->name};
            return symbol->second;
        }
        if (auto o = e.as<Cast>()) {
            Json j = Json::array();
            j.push("cast").push(type_name(o->type)).push(write(o->value));
            return j;
        }
        if (auto o = e.as<Add>()) return binary("+", o);
        if (auto o = e.as<Sub>()) return binary("-", o);
        if (auto o = e.as<Mul>()) return binary("*", o);
        if (auto o = e.as<Div>()) return binary("/", o);
        if (auto o = e.as<Mod>()) return binary("%", o);
        if (auto o = e.as<Min>()) return binary("min", o);
        if (auto o = e.as<Max>()) return binary("max", o);
        if (auto o = e.as<EQ>()) return binary("==", o);
        if (auto o = e.as<NE>()) return binary("!=", o);
        if (auto o = e.as<LT>()) return binary("<", o);
        if (auto o = e.as<LE>()) return binary("<=", o);
        if (auto o = e.as<GT>()) return binary(">", o);
        if (auto o = e.as<GE>()) return binary(">=", o);
        if (auto o = e.as<And>()) return binary("&&", o);
        if (auto o = e.as<Or>()) return binary("||", o);
        if (auto o = e.as<Not>()) return op("!", {o->a});
        if (auto o = e.as<Select>()) return op("select", {o->condition, o->true_value, o->false_value});
        if (auto o = e.as<Let>()) return write(substitute(o->name, o->value, o->body));
        if (auto o = e.as<Call>()) return call(o);
        throw CannotWrite{"an operation that bounds cannot have"};
    }
};

}  // namespace

Symbols loop_symbols(const Node &n, const Stage &s) {
    Symbols out;
    for (size_t i = 0; i < s.loops.size(); i++) {
        const std::string prefix = n.func.name() + "." + s.loops[i].var;
        out[prefix + ".min"] = "min:" + std::to_string(i);
        out[prefix + ".max"] = "max:" + std::to_string(i);
    }
    return out;
}

Symbols region_symbols(const Node &n) {
    Symbols out;
    for (int d = 0; d < n.func.dimensions(); d++) {
        const std::string prefix = n.func.name() + "." + n.func.args()[d];
        out[prefix + ".min"] = "min:" + std::to_string(d);
        out[prefix + ".max"] = "max:" + std::to_string(d);
    }
    return out;
}

Json expr_json(const Expr &e, const Symbols &symbols) {
    try {
        return Writer(symbols).write(e);
    } catch (const CannotWrite &c) {
        throw DescribeError("its bounds use " + c.what);
    }
}

std::optional<std::string> why_not_json(const Expr &e, const Symbols &symbols) {
    try {
        Writer(symbols).write(e);
        return std::nullopt;
    } catch (const CannotWrite &c) {
        return c.what;
    }
}

}  // namespace protuner::description
