// The hash of an algorithm. Every expression is hashed bottom-up with names
// replaced by positions: a Func by the order in which a walk from the outputs
// first meets it, a pure variable by its dimension, a reduction variable by its
// place in its domain, a let-bound name by the value it stands for. Inputs keep
// their names, which are part of the interface.

#include "describe_graph.h"

#include <cstring>
#include <map>

namespace protuner::description {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// FNV-1a over 64-bit words, each stirred, so that small numbers spread.
class Hash {
    uint64_t state = 14695981039346656037ull;

public:
    Hash &word(uint64_t w) {
        w *= 0x9e3779b97f4a7c15ull;
        w ^= w >> 32;
        state = (state ^ w) * 1099511628211ull;
        state ^= state >> 29;
        return *this;
    }
    Hash &str(const std::string &s) {
        word(s.size());
        for (char c : s) word((unsigned char)c);
        return *this;
    }
    Hash &type(Type t) { return word((uint64_t)t.code() << 32 | (uint64_t)t.bits() << 16 | (uint64_t)t.lanes()); }
    uint64_t value() const { return state; }
};

class Canonical : public IRVisitor {
    using IRVisitor::visit;

    std::map<std::string, uint64_t> funcs;  // Halide's name -> number
    std::vector<Function> queue;
    std::map<std::string, uint64_t> variables;  // of the definition at hand
    // Likewise, by address: the Expr is kept alive, so that no other gets its address.
    std::map<Expr, uint64_t, ExprCompare> known;
    uint64_t result = 0;

    uint64_t number(const FunctionPtr &f) {
        Function func(f);
        auto at = funcs.find(func.name());
        if (at != funcs.end()) return at->second;
        queue.push_back(func);
        return funcs[func.name()] = queue.size() - 1;
    }

    Hash start(const char *kind, Type t) { return Hash().str(kind).type(t); }

    template<typename T>
    void binary(const char *kind, const T *op) {
        Hash h = start(kind, op->type);
        h.word(expr(op->a));
        result = h.word(expr(op->b)).value();
    }

    void visit(const IntImm *op) override { result = start("int", op->type).word(op->value).value(); }
    void visit(const UIntImm *op) override { result = start("uint", op->type).word(op->value).value(); }
    void visit(const FloatImm *op) override {
        uint64_t bits;
        memcpy(&bits, &op->value, sizeof(bits));
        result = start("float", op->type).word(bits).value();
    }
    void visit(const StringImm *op) override { result = start("string", op->type).str(op->value).value(); }
    void visit(const Cast *op) override { result = start("cast", op->type).word(expr(op->value)).value(); }
    void visit(const Reinterpret *op) override { result = start("reinterpret", op->type).word(expr(op->value)).value(); }
    void visit(const Add *op) override { binary("+", op); }
    void visit(const Sub *op) override { binary("-", op); }
    void visit(const Mul *op) override { binary("*", op); }
    void visit(const Div *op) override { binary("/", op); }
    void visit(const Mod *op) override { binary("%", op); }
    void visit(const Min *op) override { binary("min", op); }
    void visit(const Max *op) override { binary("max", op); }
    void visit(const EQ *op) override { binary("==", op); }
    void visit(const NE *op) override { binary("!=", op); }
    void visit(const LT *op) override { binary("<", op); }
    void visit(const LE *op) override { binary("<=", op); }
    void visit(const GT *op) override { binary(">", op); }
    void visit(const GE *op) override { binary(">=", op); }
    void visit(const And *op) override { binary("&&", op); }
    void visit(const Or *op) override { binary("||", op); }
    void visit(const Not *op) override { result = start("!", op->type).word(expr(op->a)).value(); }
    void visit(const Select *op) override {
        Hash h = start("select", op->type);
        h.word(expr(op->condition)).word(expr(op->true_value));
        result = h.word(expr(op->false_value)).value();
    }
    void visit(const Let *op) override {
        variables[op->name] = expr(op->value);
        result = expr(op->body);
    }
    void visit(const Variable *op) override {
        auto bound = variables.find(op->name);
        if (bound != variables.end()) {
            result = bound->second;
            return;
        }
        Hash h = start("variable", op->type).str(op->name);
        if (op->param.defined() && !op->param.is_buffer()) range(h, op->param);
        result = h.value();
    }
    void visit(const Call *op) override {
        Hash h = start("call", op->type);
        h.word(op->call_type).word(op->value_index);
        if (op->call_type == Call::Halide) {
            h.word(number(op->func));
        } else if (op->call_type == Call::Image && op->image.defined()) {
            buffer(h, op->image);
        } else {
            h.str(op->name);
            if (op->param.defined()) constraints(h, op->param);
        }
        for (const Expr &a : op->args) h.word(expr(a));
        result = h.value();
    }

    void buffer(Hash &h, Buffer<> b) {
        h.type(b.type());
        for (int d = 0; d < b.dimensions(); d++) h.word(b.dim(d).min()).word(b.dim(d).extent()).word(b.dim(d).stride());
        if (!b.data()) return;
        const auto *bytes = (const unsigned char *)b.raw_buffer()->begin();
        for (size_t i = 0; i < b.size_in_bytes(); i++) h.word(bytes[i]);
    }

    // What the Generator promises of a buffer decides which code is right for it.
    void constraints(Hash &h, const Parameter &p) {
        if (!p.is_buffer()) return;
        for (int d = 0; d < p.dimensions(); d++) {
            for (const Expr &e : {p.min_constraint(d), p.extent_constraint(d), p.stride_constraint(d)}) {
                h.word(e.defined() ? expr(e) : 0);
            }
        }
        alignment(h, p);
    }

    // Alignments, ranges and requirements are hashed only where there are any: pipelines without
    // keep the hash by which schedule files and databases know them.
    void alignment(Hash &h, const Parameter &p) {
        if (p.host_alignment() != p.type().bytes()) h.str("alignment").word(p.host_alignment());
    }
    void range(Hash &h, const Parameter &p) {
        const Expr least = p.min_value(), most = p.max_value();
        if (least.defined() || most.defined()) h.str("range").word(expr(least)).word(expr(most));
    }

    uint64_t expr(const Expr &e) {
        if (!e.defined()) return 0;
        auto seen = known.find(e);
        if (seen != known.end()) return seen->second;
        e.accept(this);
        return known[e] = result;
    }

    void name_variables(const Function &f, const StageSchedule &schedule) {
        variables.clear();
        known.clear();
        for (size_t d = 0; d < f.args().size(); d++) variables[f.args()[d]] = Hash().str("pure").word(d).value();
        for (size_t r = 0; r < schedule.rvars().size(); r++) {
            variables[schedule.rvars()[r].var] = Hash().str("reduction").word(r).value();
        }
    }

    void definition(Hash &h, const Function &f, const Definition &def) {
        name_variables(f, def.schedule());
        h.word(def.schedule().rvars().size());
        for (const ReductionVariable &rv : def.schedule().rvars()) h.word(expr(rv.min)).word(expr(rv.extent));
        h.word(expr(def.predicate()));
        for (const Expr &e : def.args()) h.word(expr(e));
        for (const Expr &e : def.values()) h.word(expr(e));
    }

    void extern_call(Hash &h, const Function &f) {
        h.str(f.extern_function_name());
        for (const ExternFuncArgument &a : f.extern_arguments()) {
            h.word(a.arg_type);
            if (a.is_func()) h.word(number(a.func));
            if (a.is_expr()) h.word(expr(a.expr));
            if (a.is_buffer()) buffer(h, a.buffer);
            if (a.is_image_param()) {
                h.str(a.image_param.name());
                alignment(h, a.image_param);
            }
        }
    }

    void function(Hash &h, const Function &f) {
        h.word(f.dimensions());
        for (const Type &t : f.output_types()) h.type(t);
        definition(h, f, f.definition());
        if (f.has_extern_definition()) extern_call(h, f);
        h.word(f.updates().size());
        for (const Definition &u : f.updates()) definition(h, f, u);
        name_variables(f, f.definition().schedule());
        for (const auto &b : f.schedule().bounds()) {
            h.word(variables[b.var]).word(expr(b.min)).word(expr(b.extent)).word(expr(b.modulus)).word(expr(b.remainder));
        }
        for (const Parameter &p : f.output_buffers()) constraints(h, p);
    }

public:
    uint64_t pipeline(const Pipeline &p) {
        Hash h;
        for (const Function &f : output_functions(p)) h.word(number(f.get_contents()));
        for (size_t i = 0; i < queue.size(); i++) {
            Function f = queue[i];
            function(h, f);
        }
        variables.clear();
        known.clear();
        for (const Stmt &s : p.requirements()) {
            if (const AssertStmt *required = s.as<AssertStmt>()) h.str("requirement").word(expr(required->condition));
        }
        return h.value();
    }
};

}  // namespace

std::string algorithm_hash(const Pipeline &pipeline) {
    char out[17];
    snprintf(out, sizeof(out), "%016llx", (unsigned long long)Canonical().pipeline(pipeline));
    return out;
}

}  // namespace protuner::description
