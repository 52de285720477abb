// The algorithm-specific features of Adams et al. 2019, section 4.1, and the load
// Jacobians of each edge. Where the paper leaves room, the counting is that of
// Halide's Adams2019 (its features' version 3), oddities included: casts are not
// counted, constants and variables are, each after simplification and common
// subexpression elimination.

#include "describe_graph.h"
#include "describe_stage.h"

#include <map>

namespace protuner::description {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Rows of the feature matrix.
enum Row {
    TypesInUse,
    Const,
    CastRow,
    VariableRow,
    Param,
    AddRow,
    SubRow,
    ModRow,
    MulRow,
    DivRow,
    MinRow,
    MaxRow,
    EQRow,
    NERow,
    LTRow,
    LERow,
    AndRow,
    OrRow,
    NotRow,
    SelectRow,
    ImageCall,
    FuncCall,
    SelfCall,
    ExternCall,
    LetRow,
    PointwiseAccess,
    TransposeAccess = PointwiseAccess + 4,
    BroadcastAccess = TransposeAccess + 4,
    SliceAccess = BroadcastAccess + 4,
    Rows = SliceAccess + 4,
};
static_assert(Rows == kFeatureRows);

enum Access { LoadFunc, LoadSelf, LoadImage, Store };

enum Column { Bool, Bits8, Bits16, Bits32, Bits64, Float32, Float64 };

Column column_of(Type t) {
    int bits = t.bits();
    if (t.is_float()) return bits > 32 ? Float64 : Float32;
    if (bits == 1) return Bool;
    if (bits <= 8) return Bits8;
    if (bits <= 16) return Bits16;
    return bits <= 32 ? Bits32 : Bits64;
}

// Replaces let-bound names by their values and loops by zero.
class AtOrigin : public IRGraphMutator {
    using IRGraphMutator::visit;
    const Scope<Expr> &lets;
    const std::vector<Loop> &loops;

    Expr visit(const Variable *op) override {
        for (const Loop &l : loops) {
            if (op->name == l.var) return make_zero(op->type);
        }
        if (lets.contains(op->name)) return mutate(lets.get(op->name));
        return op;
    }

public:
    AtOrigin(const Scope<Expr> &lets, const std::vector<Loop> &loops) : lets(lets), loops(loops) {}
};

// Whether a coordinate is computed from where a loop is: looked up there, or rounded to an
// integer.
class IsComputed : public IRGraphVisitor {
    using IRGraphVisitor::visit;
    const Scope<Expr> &lets;
    const std::string &loop;

    bool depends(const Expr &e) const { return expr_uses_var(e, loop, lets); }

    void visit(const Variable *op) override {
        if (lets.contains(op->name)) include(lets.get(op->name));
    }
    void visit(const Call *op) override {
        found = found || (is_load(op) && depends(op));
        if (!found) IRGraphVisitor::visit(op);
    }
    void visit(const Cast *op) override {
        found = found || (!op->type.is_float() && op->value.type().is_float() && depends(op));
        if (!found) IRGraphVisitor::visit(op);
    }

public:
    bool found = false;

    IsComputed(const Scope<Expr> &lets, const std::string &loop) : lets(lets), loop(loop) {}
};

Expr canonical(const Expr &e) {
    return common_subexpression_elimination(simplify(e));
}

class Counter : public IRVisitor {
    using IRVisitor::visit;

    const std::vector<Node> &nodes;
    const Node &node;
    Stage &stage;
    Scope<Expr> lets;
    std::map<std::pair<std::string, std::string>, Derivative> let_derivatives;

    void count(Row row, Type t) {
        Column c = column_of(t);
        stage.features[TypesInUse * kScalarTypes + c] = 1;
        stage.features[row * kScalarTypes + c]++;
    }
    template<typename T>
    void count_and_descend(Row row, const T *op) {
        count(row, op->type);
        IRVisitor::visit(op);
    }

    void visit(const Variable *op) override { count(op->param.defined() ? Param : VariableRow, op->type); }
    void visit(const IntImm *op) override { count(Const, op->type); }
    void visit(const UIntImm *op) override { count(Const, op->type); }
    void visit(const FloatImm *op) override { count(Const, op->type); }
    void visit(const Add *op) override { count_and_descend(AddRow, op); }
    void visit(const Sub *op) override { count_and_descend(SubRow, op); }
    void visit(const Mul *op) override { count_and_descend(MulRow, op); }
    void visit(const Div *op) override { count_and_descend(DivRow, op); }
    void visit(const Mod *op) override { count_and_descend(ModRow, op); }
    void visit(const Min *op) override { count_and_descend(MinRow, op); }
    void visit(const Max *op) override { count_and_descend(MaxRow, op); }
    void visit(const EQ *op) override { count_and_descend(EQRow, op); }
    void visit(const NE *op) override { count_and_descend(NERow, op); }
    // A comparison and its mirror image are the same work.
    void visit(const LT *op) override { count_and_descend(LTRow, op); }
    void visit(const GT *op) override { count_and_descend(LTRow, op); }
    void visit(const LE *op) override { count_and_descend(LERow, op); }
    void visit(const GE *op) override { count_and_descend(LERow, op); }
    void visit(const And *op) override { count_and_descend(AndRow, op); }
    void visit(const Or *op) override { count_and_descend(OrRow, op); }
    void visit(const Not *op) override { count_and_descend(NotRow, op); }
    void visit(const Select *op) override { count_and_descend(SelectRow, op); }
    void visit(const Let *op) override {
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        count_and_descend(LetRow, op);
    }
    void visit(const Call *op) override {
        IRVisitor::visit(op);
        switch (op->call_type) {
        case Call::Halide: {
            bool self = op->name == node.func.name();
            access(op->name, op->type, op->args, self ? LoadSelf : LoadFunc);
            count(self ? SelfCall : FuncCall, op->type);
            break;
        }
        case Call::Image:
            access(op->name, op->type, op->args, LoadImage);
            count(ImageCall, op->type);
            break;
        case Call::ExternCPlusPlus:
            break;
        default:
            count(ExternCall, op->type);
        }
    }

    bool is_loop(const std::string &name) const {
        for (const Loop &l : stage.loops) {
            if (l.var == name) return true;
        }
        return false;
    }

    Derivative derivative(const Expr &e, const std::string &v) {
        const Derivative zero{true, 0, 1}, unknown{};
        if (!expr_uses_var(e, v, lets)) return zero;
        if (const Variable *var = e.as<Variable>()) {
            if (var->name == v) return {true, 1, 1};
            if (is_loop(var->name) || var->param.defined()) return zero;
            if (!lets.contains(var->name)) return unknown;
            auto key = std::make_pair(v, var->name);
            auto known = let_derivatives.find(key);
            if (known != let_derivatives.end()) return known->second;
            return let_derivatives[key] = derivative(lets.get(var->name), v);
        }
        if (const Add *op = e.as<Add>()) return derivative(op->a, v).plus(derivative(op->b, v));
        if (const Sub *op = e.as<Sub>()) {
            Derivative b = derivative(op->b, v);
            b.num = -b.num;
            return derivative(op->a, v).plus(b);
        }
        if (const Mul *op = e.as<Mul>()) {
            auto factor = as_const_int(op->b);
            if (!factor) return unknown;
            Derivative a = derivative(op->a, v);
            a.num *= *factor;
            return a;
        }
        if (const Div *op = e.as<Div>()) {
            auto divisor = as_const_int(op->b);
            if (!divisor) return unknown;
            Derivative a = derivative(op->a, v);
            if (a.num != 0) a.den *= *divisor;
            return a;
        }
        // What rfactor makes of a loop that it splits is promised to stay in its bounds.
        const Call *call = e.as<Call>();
        if (call && call->is_intrinsic({Call::likely, Call::promise_clamped})) return derivative(call->args[0], v);
        return unknown;
    }

    std::optional<std::vector<int64_t>> offsets(const std::vector<Expr> &coordinates, const Matrix &m) {
        std::vector<int64_t> out;
        for (size_t i = 0; i < coordinates.size(); i++) {
            for (const Derivative &d : m[i]) {
                if (!d.exists || d.den != 1) return std::nullopt;
            }
            Expr at_origin = AtOrigin(lets, stage.loops).mutate(coordinates[i]);
            if (Estimates::used_by(at_origin)) at_origin = Estimates::apply(at_origin);
            auto value = as_const_int(simplify(substitute_in_all_lets(at_origin)));
            if (!value) return std::nullopt;
            out.push_back(*value);
        }
        return out;
    }

    // Whether a load lies where a loop over points, or one of a reduction, computes it.
    bool is_computed(const std::vector<Expr> &coordinates, bool by_reduction) const {
        for (const Loop &l : stage.loops) {
            if (l.rvar != by_reduction) continue;
            IsComputed computed(lets, l.var);
            for (const Expr &e : coordinates) e.accept(&computed);
            if (computed.found) return true;
        }
        return false;
    }

    // Classifies one load or store by how its coordinates follow the loops, and
    // notes a load's Jacobian on the edge to what it reads.
    void access(const std::string &name, Type t, const std::vector<Expr> &coordinates, Access kind) {
        const size_t rows = coordinates.size(), cols = stage.loops.size();
        Matrix m(rows, std::vector<Derivative>(cols));
        std::vector<size_t> row_zeros(rows), row_ones(rows), col_zeros(cols), col_ones(cols);
        bool identity = rows == cols;
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < cols; j++) {
                Derivative d = m[i][j] = derivative(coordinates[i], stage.loops[j].var);
                row_zeros[i] += d.is(0);
                col_zeros[j] += d.is(0);
                row_ones[i] += d.is(1);
                col_ones[j] += d.is(1);
                identity &= d.is(i == j);
            }
        }
        bool transpose = rows == cols, broadcast = true, slice = true;
        for (size_t i = 0; i < rows; i++) {
            bool one = row_ones[i] == 1 && row_zeros[i] + 1 == cols;
            bool none = row_zeros[i] == cols;
            transpose &= one;
            broadcast &= one;
            slice &= one || none;
        }
        for (size_t j = 0; j < cols; j++) {
            bool one = col_ones[j] == 1 && col_zeros[j] + 1 == rows;
            bool none = col_zeros[j] == rows;
            transpose &= one || none;
            broadcast &= one;
            slice &= one;
        }
        Column c = column_of(t);
        stage.features[(PointwiseAccess + kind) * kScalarTypes + c] += identity;
        stage.features[(TransposeAccess + kind) * kScalarTypes + c] += transpose;
        stage.features[(BroadcastAccess + kind) * kScalarTypes + c] += broadcast;
        stage.features[(SliceAccess + kind) * kScalarTypes + c] += slice;

        for (Edge &e : stage.edges) {
            if (nodes[e.producer].func.name() != name) continue;
            LoadJacobian *shared = nullptr;
            for (LoadJacobian &j : e.jacobians) {
                if (!shared && j.same(m)) shared = &j;
            }
            if (!shared) {
                e.jacobians.push_back({m, 0, 0, 0, {}});
                shared = &e.jacobians.back();
            }
            shared->count++;
            const bool looked_up = is_computed(coordinates, false);
            shared->looked_up += looked_up;
            shared->shifted += !looked_up && is_computed(coordinates, true);
            shared->offsets.push_back(offsets(coordinates, m));
        }
    }

public:
    Counter(const std::vector<Node> &nodes, const Node &node, Stage &stage)
        : nodes(nodes), node(node), stage(stage) {}

    void store(Type t, std::vector<Expr> coordinates) {
        for (Expr &e : coordinates) e = canonical(e);
        access(node.func.name(), t, coordinates, Store);
    }
};

}  // namespace

Derivative Derivative::plus(const Derivative &o) const {
    Derivative sum = *this;
    if (!exists || !o.exists) {
        sum.exists = false;
    } else if (den == o.den) {
        sum.num += o.num;
    } else {
        int64_t common = lcm(den, o.den);
        sum.num = num * (common / den) + o.num * (common / o.den);
        int64_t g = gcd(sum.num, common);
        sum.num /= g;
        sum.den = common / g;
    }
    return sum;
}

bool LoadJacobian::same(const Matrix &m) const {
    if (m.size() != coeffs.size()) return false;
    for (size_t i = 0; i < m.size(); i++) {
        if (m[i].size() != coeffs[i].size()) return false;
        for (size_t j = 0; j < m[i].size(); j++) {
            if (!coeffs[i][j].same(m[i][j])) return false;
        }
    }
    return true;
}

void featurize(const std::vector<Node> &nodes, const Node &node, Stage &stage) {
    Counter counter(nodes, node, stage);
    auto walk = [&](const Expr &e) { canonical(e).accept(&counter); };

    Expr proxy = node.func.extern_definition_proxy_expr();
    if (proxy.defined()) {
        walk(proxy);
        return;
    }
    for (const Expr &value : stage.values) {
        counter.store(value.type(), stage.args);
        walk(value);
    }
    for (const Expr &arg : stage.args) walk(arg);
    for (const Expr &arg : stage.extern_args) walk(arg);
}

}  // namespace protuner::description
