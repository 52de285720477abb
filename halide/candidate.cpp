#include "candidate.h"

#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <new>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "describe_graph.h"
#include "directives.h"
#include "failure.h"
#include "faults.h"
#include "fill.h"
#include "own.h"
#include "parts.h"

extern char **environ;

namespace protuner {

namespace {

using Clock = std::chrono::steady_clock;

int64_t since(Clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

constexpr const char *kEntry = "candidate_argv";

// Whether a Func has definitions that leave points as they are, as those that are updated
// in place begin with.
bool leaves_undefined(const Halide::Internal::Function &f) {
    class Find : public Halide::Internal::IRGraphVisitor {
        using IRGraphVisitor::visit;
        void visit(const Halide::Internal::Call *op) override {
            found |= op->is_intrinsic(Halide::Internal::Call::undef);
            IRGraphVisitor::visit(op);
        }

    public:
        bool found = false;
    } find;
    f.accept(&find);
    return find.found;
}

class Candidate {
public:
    Candidate(const Session &session, const Halide::Pipeline &pipeline, const Halide::Target &target,
              const Json &request, int fd)
        : session_(session), pipeline_(pipeline), target_(target), request_(request), fd_(fd),
          id_(request["id"].as_int()) {
        stem_ = session.hello["scratch"].as_string() + "/c" + std::to_string(id_);
    }

    // Returns where the candidate failed; one that was built goes on in the runner.
    void run() {
        try {
            build();
            if (request_["type"].as_string() == "reference") {
                reference();
            } else {
                go_on_in_runner();
            }
        } catch (const Failure &e) {
            answer_failure(e.status, e.what());
        } catch (const RunError &e) {
            answer_failure(status_of_code(e.code), e.what());
        } catch (const description::DescribeError &e) {
            answer_failure(status::build_failed, e.what());
        } catch (const std::bad_alloc &) {
            answer_failure(status::out_of_memory, "memory limit reached");
        } catch (const Halide::Error &e) {  // no std::exception
            fail(e.what());
        } catch (const std::exception &e) {
            fail(e.what());
        }
    }

private:
    void fail(const std::string &what) {
        std::string why = built_ ? "" : unwritable(session_.hello["scratch"].as_string());
        if (!why.empty()) return answer_failure(status::infra_failed, why);
        answer_failure(built_ ? status::crashed : status::build_failed, what);
    }

    const Session &session_;
    Halide::Pipeline pipeline_;
    Halide::Target target_;
    const Json &request_;
    int fd_;
    int64_t id_;
    std::string stem_;
    int64_t lower_ns_ = 0, link_ns_ = 0;
    bool built_ = false;
    OwnPipeline own_;

    std::string library() const { return stem_ + ".so"; }

    void build() {
        auto start = Clock::now();
        if (request_.bool_or("own", false)) {
            own_ = build_own(session_.hello, target_);
            pipeline_ = own_.pipeline;
        } else {
            Scheduler(pipeline_, request_.bool_or("only_special", false)).apply(request_.items_or_empty("directives"));
        }
        inject(request_.string_or("fault", ""), fd_, id_);
        // The runtime is compiled once and linked in; what is left is the pipeline itself,
        // by the same code generator and for the same target as an ahead-of-time build.
        Halide::Target target = target_.with_feature(Halide::Target::NoRuntime);
        Halide::Module module = pipeline_.compile_to_module(pipeline_.infer_arguments(), "candidate", target);
        std::string folder = parts_folder(session_, id_);
        std::filesystem::create_directory(folder);
        bool whole = request_.bool_or("whole", false);
        std::vector<std::string> parts = whole ? compile_whole(module, stem_) : compile_parts(module, stem_, folder);
        lower_ns_ = since(start);

        start = Clock::now();
        link(parts);
        unlink((stem_ + ".o").c_str());
        link_ns_ = since(start);
        built_ = true;
    }

    // Runs a program, whose words go to the child's log, and returns whether all went well.
    static bool succeeds(const std::vector<std::string> &program) {
        std::vector<const char *> argv;
        for (const std::string &a : program) argv.push_back(a.c_str());
        argv.push_back(nullptr);
        pid_t pid = 0;
        int err = posix_spawnp(&pid, argv[0], nullptr, nullptr, (char *const *)argv.data(), environ);
        if (err != 0) throw Failure(status::infra_failed, "cannot start " + program[0] + ": " + strerror(err));
        int state = 0;
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
        }
        return state == 0;
    }

    void link(const std::vector<std::string> &parts) {
        std::vector<std::string> program = {session_.hello["linker"].as_string(), "-shared", "-o", library()};
        program.insert(program.end(), parts.begin(), parts.end());
        program.insert(program.end(), {session_.hello["runtime"].as_string(), "-lpthread", "-ldl", "-lm"});
        if (!succeeds(program)) throw Failure(status::infra_failed, program[0] + " failed: " + last_line());
    }

    // Of the child's log, which goes with the child: whoever reads of a failure finds it no more.
    std::string last_line() const {
        std::ifstream log(stem_ + ".log");
        std::string last;
        for (std::string line; std::getline(log, line);) last = line;
        return last;
    }

    // Candidates are loaded by the runner, which has nothing of the Generator's program; that
    // would lend its functions to the reference. What else keeps a library from being loaded
    // is the machine's.
    void expect_whole() {
        if (succeeds({session_.hello["runner"].as_string(), "--load", library()})) return;
        unlink(library().c_str());
        std::string words = last_line();  // the runner's
        const std::string of = library() + ": ";
        if (words.compare(0, of.size(), of) == 0) words.erase(0, of.size());
        if (words.find("undefined symbol") == std::string::npos && words.find("symbol not found") == std::string::npos) {
            throw Failure(status::infra_failed, "what was built cannot be loaded: " + words + "; set TMPDIR to a folder that programs can be loaded from");
        }
        throw Failure(status::build_failed, "it cannot be measured, for what is measured is loaded without your program (" + words +
                                                "): pipelines that call functions of your own (HalideExtern, define_extern) cannot be tuned");
    }

    // The arguments of the entry point: inputs as Halide infers them, then outputs.
    std::vector<Argument> arguments() {
        std::map<std::string, Json> given;
        for (const Json &j : session_.hello.items_or_empty("inputs")) given[j["name"].as_string()] = j;
        std::vector<Argument> out;
        for (const auto &in : description::inputs_of(pipeline_)) out.push_back(input(in, given));
        std::map<std::string, Halide::Expr> sizes;
        for (const Argument &a : out) {
            for (size_t d = 0; d < a.extents.size(); d++) {
                sizes[a.name + ".min." + std::to_string(d)] = (int32_t)a.mins[d];
                sizes[a.name + ".extent." + std::to_string(d)] = (int32_t)a.extents[d];
            }
        }
        for (const Halide::Func &f : pipeline_.outputs()) {
            for (size_t i = 0; i < f.types().size(); i++) out.push_back(output(f, i, sizes));
        }
        return out;
    }

    int64_t constant(const Halide::Expr &e, const std::string &what) {
        if (!e.defined()) throw Failure(status::build_failed, "no estimate for " + what);
        auto c = Halide::Internal::as_const_int(Halide::Internal::simplify(e));
        if (!c) throw Failure(status::build_failed, "the estimate for " + what + " is no constant");
        return *c;
    }

    // Sizes and values are those of the description (Halide's own list of arguments knows
    // neither constraints nor defaults).
    static Argument input(const Halide::Internal::InferredArgument &in, const std::map<std::string, Json> &given) {
        Argument a;
        a.name = in.arg.name;
        a.buffer = in.arg.is_buffer();
        a.type = halide_type_t(in.arg.type.code(), (uint8_t)in.arg.type.bits());
        auto it = given.find(a.name);
        if (!a.buffer) {
            if (it != given.end() && !it->second["value"].is_null()) {
                const std::string value = it->second["value"].as_string();
                a.set_scalar(strtod(value.c_str(), nullptr), whole_number(value));
            } else {
                number(description::Estimates::scalar(in.param), &a);
            }
            return a;
        }
        a.fill = "random:0";
        const size_t n = in.arg.dimensions;
        for (size_t d = 0; d < n; d++) {
            const auto span = description::Estimates::span(in.param, (int)d);
            a.mins.push_back(span.first);
            a.extents.push_back(span.second);
        }
        if (it != given.end()) {
            const Json &j = it->second;
            a.fill = j.string_or("fill", a.fill);
            std::vector<Json> extents = j.items_or_empty("extents");
            if (!extents.empty() && extents.size() != n) {
                throw Failure(status::build_failed, "input " + a.name + " has " + std::to_string(n) + " dimensions, " +
                                                        std::to_string(extents.size()) + " were given");
            }
            for (size_t d = 0; d < extents.size(); d++) a.extents[d] = extents[d].as_int();
        }
        return a;
    }

    static void number(const Halide::Expr &e, Argument *a) {
        Halide::Expr s = Halide::Internal::simplify(e);
        if (auto i = Halide::Internal::as_const_int(s)) {
            a->set_scalar((double)*i, *i);
        } else if (auto u = Halide::Internal::as_const_uint(s)) {
            a->set_scalar((double)*u, (int64_t)*u);
        } else if (auto f = Halide::Internal::as_const_float(s)) {
            a->set_scalar(*f, 0);
        } else {
            throw Failure(status::build_failed, "the estimate for " + a->name + " is no constant");
        }
    }

    // Bounds may be told by the inputs' sizes.
    Argument output(const Halide::Func &f, size_t element, const std::map<std::string, Halide::Expr> &sizes) {
        Argument a;
        a.name = f.name();
        if (f.types().size() > 1) a.name += "." + std::to_string(element);
        a.buffer = a.output = true;
        a.in_place = leaves_undefined(f.function());
        Halide::Type t = f.types()[element];
        a.type = halide_type_t(t.code(), (uint8_t)t.bits());
        const auto &schedule = f.function().schedule();
        for (const std::string &dim : f.function().args()) {
            std::string what = f.name() + ", dimension " + dim;
            Halide::Expr min, extent;
            for (const auto &b : schedule.bounds()) {
                if (b.var == dim && b.extent.defined()) min = b.min, extent = b.extent;
            }
            if (!(extent.defined() && min.defined())) {
                for (const auto &b : schedule.estimates()) {  // the last counts, as where it is described
                    if (b.var == dim) min = b.min, extent = b.extent;
                }
            }
            auto sized = [&](const Halide::Expr &e) {
                return e.defined() ? description::Estimates::apply(Halide::Internal::substitute(sizes, e)) : e;
            };
            a.mins.push_back(constant(sized(min.defined() ? min : Halide::Expr(0)), what));
            a.extents.push_back(constant(sized(extent), what));
        }
        return a;
    }

    void reference() {
        expect_whole();
        std::string path = session_.hello["scratch"].as_string() + "/data";
        void *loaded = dlopen(library().c_str(), RTLD_NOW | RTLD_LOCAL);
        unlink(library().c_str());
        if (!loaded) throw Failure(status::infra_failed, std::string("cannot load the reference: ") + dlerror());
        catch_errors(loaded);
        auto entry = (EntryPoint)dlsym(loaded, kEntry);
        if (!entry) throw Failure(status::infra_failed, "the reference has no entry point");
        GuardedMemory memory(loaded);
        DataSet data = make_data_set(entry, arguments(), path);
        if (!memory.intact()) {
            throw Failure(status::wrong_output, "the algorithm writes outside the memory of what it computes in between, "
                                                "without any schedule: does it promise (unsafe_promise_clamped) what "
                                                "does not hold?");
        }
        send_message(fd_, Json::object()
                              .set("type", "referenced")
                              .set("id", id_)
                              .set("data", data.to_json())
                              .set("lower_ns", lower_ns_)
                              .set("link_ns", link_ns_));
    }

    // The same process under another program: its number, limits, connection and group
    // stay. See evaluate.h.
    void go_on_in_runner() {
        DataSet data = DataSet::from_json(request_["data"]);
        match_slots(&data);
        Json job = Json::object()
                       .set("fd", (int64_t)fd_)
                       .set("id", id_)
                       .set("library", library())
                       .set("entry", kEntry)
                       .set("data", data.to_json())
                       .set("check", request_["check"])
                       .set("cpus", session_.hello["cpus"])
                       .set("fault", request_.string_or("fault", ""))
                       .set("lower_ns", lower_ns_)
                       .set("link_ns", link_ns_);
        std::string path = stem_ + ".job", runner = session_.hello["runner"].as_string();
        std::ofstream out(path, std::ios::binary);
        out << job.dump();
        out.close();
        if (!out) throw Failure(status::infra_failed, "cannot write " + path);
        fcntl(fd_, F_SETFD, 0);  // it was to be closed in every other program
        const char *argv[] = {runner.c_str(), "--candidate", path.c_str(), nullptr};
        execv(argv[0], (char *const *)argv);
        throw Failure(status::infra_failed, "cannot start " + runner + ": " + strerror(errno));
    }

    // The entry point takes its arguments in an order that follows from names; a second
    // build of a Generator may name and so order them differently.
    void match_slots(DataSet *data) {
        std::vector<DataSet::Slot> sorted;
        size_t outputs = 0;
        for (const Argument &a : arguments()) {
            const DataSet::Slot *found = nullptr;
            size_t nth = 0;
            for (const auto &s : data->slots) {
                if (a.output ? (s.argument.output && nth++ == outputs) : s.argument.name == a.name) {
                    found = &s;
                    break;
                }
            }
            if (!found) throw Failure(status::infra_failed, "the data set has no " + a.name);
            outputs += a.output;
            sorted.push_back(*found);
        }
        data->slots = std::move(sorted);
    }
};

}  // namespace

std::string parts_folder(const Session &session, int64_t id) {
    return session.hello["scratch"].as_string() + "/parts" + std::to_string(id / kPartsTogether);
}

void run_candidate(const Session &session, const Halide::Pipeline &pipeline, const Halide::Target &target,
                   const Json &request, int fd) {
    become_candidate(fd, request.int_or("id", 0));
    Candidate(session, pipeline, target, request, fd).run();
    _exit(0);
}

}  // namespace protuner
