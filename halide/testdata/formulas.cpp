// Writes internal/pipeline/testdata/formulas.json: random formulas in the form of
// describe, each with what Halide's simplifier makes of it for concrete numbers.
// Build it with describe_expr.cpp and json.cpp against Halide. One JSON object a
// line: {"expr": formula, "cases": [[min0, max0, min1, max1, value], ...]}.

#include <iostream>
#include <random>

#include "../describe_expr.h"

using namespace Halide;
using namespace Halide::Internal;
using protuner::Json;

namespace {

constexpr int kFormulas = 400, kCases = 6, kSpans = 2;

std::mt19937 rng(20190705);

int draw(int n) {
    return (int)(rng() % (unsigned)n);
}

const char *ends[] = {"f.x.min", "f.x.max", "f.y.min", "f.y.max"};

Expr formula(Type t, int depth);

Expr leaf(Type t) {
    if (draw(3)) {
        Expr end = Variable::make(Int(32), ends[draw(2 * kSpans)]);
        // Floats that are no integers, so that rounding shows.
        return t.is_float() ? cast(t, end) * make_const(t, 0.37) : cast(t, end);
    }
    if (t.is_float()) return make_const(t, (draw(4001) - 2000) / 64.0);
    if (t.is_uint()) return make_const(t, draw(t.bits() == 1 ? 2 : 100));
    return make_const(t, draw(201) - 100);
}

Expr condition(int depth) {
    static const Type types[] = {Int(32), Int(32), UInt(8), Float(32), Int(16), UInt(32)};
    Type t = types[draw(6)];
    Expr a = formula(t, depth - 1), b = formula(t, depth - 1);
    switch (draw(8)) {
    case 0: return a == b;
    case 1: return a != b;
    case 2: return a <= b;
    case 3: return a > b;
    case 4: return a >= b;
    case 5: return a < b && b < formula(t, depth - 1);
    case 6: return a < b || !(b < formula(t, depth - 1));
    default: return a < b;
    }
}

Expr converted(Type t, int depth) {
    static const Type from[] = {Int(32),   Int(32),   Int(8),    UInt(8),   Int(16),   UInt(16),  UInt(32),
                                Int(64),   UInt(64),  Float(32), Float(32), Float(32), Float(16), Float(64)};
    return cast(t, formula(from[draw(14)], depth - 1));
}

Expr formula(Type t, int depth) {
    if (depth <= 0) return leaf(t);
    if (t.is_bool()) return condition(depth);
    auto sub = [&]() { return formula(t, depth - 1); };
    int which = draw(20);
    if (t.is_float()) {
        switch (which) {
        case 0: return floor(sub());
        case 1: return ceil(sub());
        case 2: return round(sub());
        case 3: return trunc(sub());
        case 4: return t == Float(32) ? sqrt(abs(sub())) : sub();
        default: break;
        }
    } else {
        switch (which) {
        case 0: return sub() % sub();
        case 1: return sub() >> cast(t, draw(4));
        case 2: return sub() << cast(t, draw(3));
        case 3: return sub() & leaf(t);
        case 4: return t.is_int() ? cast(t, abs(sub())) : ~sub();
        case 5: return cast(t, absd(sub(), sub()));
        default: break;
        }
    }
    switch (which) {
    case 6: return sub() + sub();
    case 7: return sub() - sub();
    case 8: return sub() * leaf(t);
    case 9: return sub() / sub();
    case 10: return min(sub(), sub());
    case 11: return max(sub(), sub());
    case 12: return select(condition(depth), sub(), sub());
    case 13: return t.is_int() ? likely(sub()) + leaf(t) : sub() + leaf(t);
    default: return converted(t, depth);
    }
}

}  // namespace

int main() {
    const protuner::description::Symbols symbols = {
        {ends[0], "min:0"}, {ends[1], "max:0"}, {ends[2], "min:1"}, {ends[3], "max:1"}};
    for (int done = 0; done < kFormulas;) {
        Expr e = simplify(formula(Int(32), 2 + draw(5)));
        if (is_const(e) || protuner::description::why_not_json(e, symbols)) continue;
        Json cases = Json::array();
        int known = 0;
        for (int c = 0; c < kCases; c++) {
            std::map<std::string, Expr> at;
            Json one = Json::array();
            for (const char *end : ends) {
                int v = draw(2001) - 1000;
                at[end] = v;
                one.push(v);
            }
            // Without a constant here the formula overflows, which a valid
            // program does not.
            auto value = as_const_int(simplify(substitute(at, e)));
            if (!value) continue;
            cases.push(one.push(*value));
            known++;
        }
        if (known < kCases / 2) continue;
        done++;
        std::cout << Json::object().set("expr", protuner::description::expr_json(e, symbols)).set("cases", cases).dump() << "\n";
    }
    return 0;
}
