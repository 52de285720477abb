#include "parts.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

namespace protuner {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Names follow from counters of all that was lowered before, so that equal loops have
// other names in other schedules. They are numbered in the order in which they are met.
class Renamer : public IRMutator {
    using IRMutator::visit;

    std::map<std::string, std::string> names_;

    Expr visit(const Variable *op) override { return Variable::make(op->type, of(op->name)); }
    Expr visit(const Load *op) override {
        return Load::make(op->type, of(op->name), mutate(op->index), op->image, op->param, mutate(op->predicate),
                          op->alignment);
    }
    Stmt visit(const Store *op) override {
        Expr value = mutate(op->value), index = mutate(op->index);
        return Store::make(of(op->name), value, index, op->param, mutate(op->predicate), op->alignment);
    }
    Expr visit(const Let *op) override {
        Expr value = mutate(op->value);
        return Let::make(of(op->name), value, mutate(op->body));
    }
    Stmt visit(const LetStmt *op) override {
        Expr value = mutate(op->value);
        return LetStmt::make(of(op->name), value, mutate(op->body));
    }
    Stmt visit(const For *op) override {
        Expr min = mutate(op->min), extent = mutate(op->extent);
        return For::make(of(op->name), min, extent, op->for_type, op->partition_policy, op->device_api, mutate(op->body));
    }
    Stmt visit(const Allocate *op) override {
        std::vector<Expr> extents;
        for (const Expr &e : op->extents) extents.push_back(mutate(e));
        Expr condition = mutate(op->condition), made = mutate(op->new_expr);
        return Allocate::make(of(op->name), op->type, op->memory_type, extents, condition, mutate(op->body), made,
                              op->free_function, op->padding);
    }
    Stmt visit(const Free *op) override { return Free::make(of(op->name)); }
    Stmt visit(const ProducerConsumer *op) override {
        return ProducerConsumer::make(of(op->name), op->is_producer, mutate(op->body));
    }
    Stmt visit(const Atomic *op) override {
        std::string mutex = op->mutex_name.empty() ? "" : of(op->mutex_name);
        return Atomic::make(of(op->producer_name), mutex, mutate(op->body));
    }

public:
    std::string of(const std::string &name) {
        if (name == "__user_context") return name;  // which Halide looks up itself
        return names_.emplace(name, "n" + std::to_string(names_.size())).first->second;
    }

    LoweredFunc of(const LoweredFunc &f, const std::string &name, LinkageType linkage) {
        std::vector<LoweredArgument> args = f.args;
        for (LoweredArgument &a : args) a.name = of(a.name);
        return LoweredFunc(name, args, mutate(f.body), linkage, NameMangling::C);
    }
};

// What Halide's text of a statement does not say, or not always: of which type what is
// loaded and stored is, and which memory is the user's, whose alignment is not Halide's.
class Unsaid : public IRVisitor {
    using IRVisitor::visit;

    std::ostream &out_;

    void say(const std::string &name, Type type, const Parameter &p) {
        out_ << name << " " << type;
        if (p.defined()) out_ << " " << p.host_alignment();
        out_ << "\n";
    }
    void visit(const Load *op) override {
        say(op->name, op->type, op->param);
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        say(op->name, op->value.type(), op->param);
        IRVisitor::visit(op);
    }

public:
    explicit Unsaid(std::ostream &out) : out_(out) {}
};

// All that the code of a function follows from.
std::string text(const LoweredFunc &f) {
    std::ostringstream out;
    out.precision(25);  // decimals, from where on Halide writes exponents in place of zeros
    out << f.name << " " << (int)f.linkage << "\n";
    for (const LoweredArgument &a : f.args) {
        out << a.type << " " << (int)a.dimensions << " " << a.alignment.modulus << " " << a.alignment.remainder << "\n";
    }
    out << f.body;
    Unsaid unsaid(out);
    f.body.accept(&unsaid);
    return out.str();
}

// Whether a function starts loops whose bodies are other functions.
bool starts_others(const Stmt &body) {
    class Find : public IRVisitor {
        using IRVisitor::visit;
        void visit(const Variable *op) override { found |= op->name.compare(0, 2, "::") == 0; }

    public:
        bool found = false;
    } find;
    body.accept(&find);
    return find.found;
}

// In the place of a function one that calls it by another name.
LoweredFunc call_of(const LoweredFunc &f, const std::string &name) {
    std::vector<Expr> args;
    for (const LoweredArgument &a : f.args) args.push_back(Variable::make(a.type, a.name));
    Expr result = Variable::make(Int(32), "result");
    Stmt body = LetStmt::make("result", Call::make(Int(32), name, args, Call::Extern), AssertStmt::make(result == 0, result));
    return LoweredFunc(f.name, f.args, body, f.linkage, NameMangling::C);
}

std::string name_of(const std::string &kind, const std::string &text) {
    std::ostringstream name;
    name << kind << std::hex << std::hash<std::string>()(text);
    return name.str();
}

// Objects by what is in them: links in a folder, so that one may have several names.
class Objects {
    std::string folder_, stem_;
    int made_ = 0;

public:
    Objects(const std::string &folder, const std::string &stem)
        : folder_(folder), stem_(folder + "/" + std::filesystem::path(stem).filename().string()) {}

    // Empty where no process has one.
    std::string find(const std::string &name) const {
        std::error_code none;
        return std::filesystem::read_symlink(folder_ + "/" + name, none).string();
    }

    // Compiles functions of a module as one object, of which each of the names tells.
    std::string compile(const Module &of, const std::vector<LoweredFunc> &functions, const std::vector<std::string> &names) {
        Module m(names[0], of.target(), of.get_metadata_name_map());
        m.set_any_strict_float(of.any_strict_float());
        for (const LoweredFunc &f : functions) m.append(f);
        std::string object = stem_ + "." + std::to_string(made_++) + ".o";
        m.compile({{OutputFileType::object, object}});
        for (const std::string &n : names) {
            std::error_code there;  // another process was sooner
            std::filesystem::create_symlink(object, folder_ + "/" + n, there);
        }
        return object;
    }
};

}  // namespace

std::vector<std::string> compile_whole(const Module &module, const std::string &stem) {
    module.compile({{OutputFileType::object, stem + ".o"}});
    return {stem + ".o"};
}

std::vector<std::string> compile_parts(const Module &module, const std::string &stem, const std::string &folder) {
    if (!module.buffers().empty()) return compile_whole(module, stem);  // images, which its text only names
    Objects objects(folder, stem);
    std::vector<std::string> link = {"--allow-multiple-definition"};  // objects may share some of their loops
    std::set<std::string> needed;
    std::vector<LoweredFunc> parts, rest;
    std::vector<std::string> missing;
    Renamer renamer;
    std::string all;
    auto keep = [&](const LoweredFunc &f) {
        rest.push_back(f);
        all += text(renamer.of(f, renamer.of("::" + f.name), f.linkage));
        if (f.linkage == LinkageType::Internal) return;
        for (const LoweredArgument &a : f.args) all += a.name + "\n";  // which users can ask for
    };
    int place = 0;
    for (const LoweredFunc &f : module.functions()) {
        if (f.linkage != LinkageType::Internal || starts_others(f.body)) {
            keep(f);
            continue;
        }
        LoweredFunc part = Renamer().of(f, "", LinkageType::External);
        part.name = name_of("part_", text(part));
        std::string object = objects.find(part.name);
        if (!object.empty()) {
            needed.insert(object);
        } else if (std::find(missing.begin(), missing.end(), part.name) == missing.end()) {
            missing.push_back(part.name);
            parts.push_back(part);
        }
        // The rest calls it by its place, so that it stays what it is where only bodies
        // of loops change.
        std::string at = "part_at_" + std::to_string(place++);
        link.push_back("--defsym=" + at + "=" + part.name);
        keep(call_of(f, at));
    }
    if (!missing.empty()) needed.insert(objects.compile(module, parts, missing));
    std::string name = name_of("rest_", all), object = objects.find(name);
    needed.insert(object.empty() ? objects.compile(module, rest, {name}) : object);
    link.insert(link.end(), needed.begin(), needed.end());
    return link;
}

}  // namespace protuner
