#include "candidate.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <sched.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "directives.h"
#include "faults.h"
#include "own.h"

extern char **environ;

namespace protuner {

namespace {

using Clock = std::chrono::steady_clock;

int64_t since(Clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

// Set before anything can fail, for the handler that must not allocate.
int failure_fd = -1;
int64_t failure_id = 0;

// Ends the process with words that need nothing of it any more.
[[noreturn]] void leave(const char *status, const char *message) {
    char body[192];
    int n = snprintf(body, sizeof(body), "{\"type\":\"failed\",\"id\":%lld,\"status\":\"%s\",\"message\":\"%s\"}",
                     (long long)failure_id, status, message);
    char frame[200];
    for (int i = 0; i < 4; i++) frame[i] = (char)((n >> (8 * i)) & 0xff);
    memcpy(frame + 4, body, (size_t)n);
    ssize_t written = write(failure_fd, frame, (size_t)n + 4);
    (void)written;
    _exit(3);
}

// Out of address space: everything after this point is undefined.
void no_memory() {
    leave(status::out_of_memory, "memory limit reached");
}

void out_of_time(int) {
    leave(status::timed_out, "one execution used more processor time than a candidate worth timing");
}

// Ends the process where it uses more than so much processor time while this lives.
// That, unlike the time that passes, does not grow when others compile beside it or
// when it stands still because another is timed.
class ProcessorLimit {
public:
    explicit ProcessorLimit(int64_t ns) {
        if (ns <= 0) return;
        signal(SIGPROF, out_of_time);
        set(std::max<int64_t>(ns / 1000, 1));
    }
    ~ProcessorLimit() { set(0); }

private:
    static void set(int64_t us) {
        itimerval timer = {};
        timer.it_value.tv_sec = us / 1000000;
        timer.it_value.tv_usec = us % 1000000;
        setitimer(ITIMER_PROF, &timer, nullptr);
    }
};

struct Failure : std::runtime_error {
    const char *status;
    Failure(const char *s, const std::string &what) : std::runtime_error(what), status(s) {}
};

const char *status_of_code(int code) {
    return code == halide_error_code_out_of_memory ? status::out_of_memory : status::crashed;
}

class Candidate {
public:
    Candidate(const Session &session, const Halide::Pipeline &pipeline, const Halide::Target &target,
              const Json &request, int fd)
        : session_(session), pipeline_(pipeline), target_(target), request_(request), fd_(fd),
          id_(request["id"].as_int()) {
        stem_ = session.hello["scratch"].as_string() + "/c" + std::to_string(id_);
    }

    // Nothing of this may outlive the loop: the child leaves by _exit.
    void run() {
        try {
            build();
            if (request_["type"].as_string() == "reference") {
                reference();
                return;
            }
            prepare();
            answer(Json::object()
                       .set("type", "built")
                       .set("lower_ns", lower_ns_)
                       .set("link_ns", link_ns_)
                       .set("check_ns", check_ns_));
            serve();
        } catch (const Failure &e) {
            fail(e.status, e.what());
        } catch (const RunError &e) {
            fail(status_of_code(e.code), e.what());
        } catch (const std::bad_alloc &) {
            fail(status::out_of_memory, "memory limit reached");
        } catch (const Halide::Error &e) {  // no std::exception
            fail(built_ ? status::crashed : status::build_failed, e.what());
        } catch (const std::exception &e) {
            fail(built_ ? status::crashed : status::build_failed, e.what());
        }
    }

private:
    const Session &session_;
    Halide::Pipeline pipeline_;
    Halide::Target target_;
    const Json &request_;
    int fd_;
    int64_t id_;
    std::string stem_;
    int64_t lower_ns_ = 0, link_ns_ = 0, check_ns_ = 0;
    bool built_ = false;
    bool checked_ = true;  // at the size that is timed; false where a check was asked for
    EntryPoint entry_ = nullptr;
    OwnPipeline own_;
    std::vector<Halide::Argument> inputs_;
    DataSet data_;
    std::unique_ptr<Bench> bench_;

    void answer(Json j) {
        j.set("id", id_);
        send_message(fd_, j);
    }
    void fail(const char *status, const std::string &message) {
        answer(Json::object().set("type", "failed").set("status", status).set("message", message));
    }

    void build() {
        auto start = Clock::now();
        if (request_.bool_or("own", false)) {
            own_ = build_own(session_.hello, target_);
            pipeline_ = own_.pipeline;
        } else {
            Scheduler(pipeline_).apply(request_.items_or_empty("directives"));
        }
        inject(request_.string_or("fault", ""), fd_, id_);
        inputs_ = pipeline_.infer_arguments();
        // The runtime is compiled once and linked in; what is left is the pipeline itself,
        // by the same code generator and for the same target as an ahead-of-time build.
        Halide::Target target = target_.with_feature(Halide::Target::NoRuntime)
                                    .without_feature(Halide::Target::CPlusPlusMangling);
        pipeline_.compile_to({{Halide::OutputFileType::object, stem_ + ".o"}}, inputs_, "candidate", target);
        lower_ns_ = since(start);

        start = Clock::now();
        link();
        void *library = dlopen((stem_ + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
        unlink((stem_ + ".so").c_str());
        unlink((stem_ + ".o").c_str());
        if (!library) throw Failure(status::infra_failed, std::string("cannot load the candidate: ") + dlerror());
        catch_errors(library);
        entry_ = (EntryPoint)dlsym(library, "candidate_argv");
        if (!entry_) throw Failure(status::infra_failed, "the candidate has no entry point");
        size_t outputs = 0;
        for (const Halide::Func &f : pipeline_.outputs()) outputs += f.types().size();
        entry_ = corrupt(request_.string_or("fault", ""), entry_, inputs_.size() + outputs, outputs);
        link_ns_ = since(start);
        built_ = true;
    }

    void link() {
        std::string linker = session_.hello["linker"].as_string(), runtime = session_.hello["runtime"].as_string();
        std::string object = stem_ + ".o", library = stem_ + ".so";
        const char *argv[] = {linker.c_str(), "-shared", "-o",     library.c_str(), object.c_str(),
                              runtime.c_str(), "-lpthread", "-ldl", "-lm",          nullptr};
        pid_t pid = 0;
        int err = posix_spawnp(&pid, argv[0], nullptr, nullptr, (char *const *)argv, environ);
        if (err != 0) throw Failure(status::infra_failed, "cannot start " + linker + ": " + strerror(err));
        int state = 0;
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
        }
        if (state != 0) throw Failure(status::infra_failed, linker + " failed; its words are in the child's log");
    }

    // The arguments of the entry point: inputs as Halide inferred them, then outputs.
    std::vector<Argument> arguments() {
        std::map<std::string, Json> given;
        for (const Json &j : session_.hello.items_or_empty("inputs")) given[j["name"].as_string()] = j;
        std::vector<Argument> out;
        for (const auto &in : inputs_) out.push_back(input(in, given));
        for (const Halide::Func &f : pipeline_.outputs()) {
            for (size_t i = 0; i < f.types().size(); i++) out.push_back(output(f, i));
        }
        return out;
    }

    int64_t constant(const Halide::Expr &e, const std::string &what) {
        if (!e.defined()) throw Failure(status::build_failed, "no estimate for " + what);
        auto c = Halide::Internal::as_const_int(Halide::Internal::simplify(e));
        if (!c) throw Failure(status::build_failed, "the estimate for " + what + " is no constant");
        return *c;
    }

    Argument input(const Halide::Argument &in, const std::map<std::string, Json> &given) {
        Argument a;
        a.name = in.name;
        a.buffer = in.is_buffer();
        a.type = halide_type_t(in.type.code(), (uint8_t)in.type.bits());
        auto it = given.find(in.name);
        if (!a.buffer) {
            Halide::Expr e = in.argument_estimates.scalar_estimate;
            if (!e.defined()) e = in.argument_estimates.scalar_def;
            if (it != given.end() && !it->second["value"].is_null()) {
                a.value = it->second["value"].as_double();
                a.int_value = (int64_t)a.value;
            } else if (e.defined()) {
                number(e, &a);
            } else if (in.name == "__user_context") {
                a.type = halide_type_t(halide_type_handle, 64);
            } else {
                throw Failure(status::build_failed, "no estimate for " + in.name);
            }
            return a;
        }
        a.fill = "random:0";
        size_t n = (size_t)in.dimensions;
        for (size_t d = 0; d < n; d++) {
            std::string what = in.name + ", dimension " + std::to_string(d);
            const auto &estimates = in.argument_estimates.buffer_estimates;
            bool there = d < estimates.size();
            a.mins.push_back(there && estimates[d].min.defined() ? constant(estimates[d].min, what) : 0);
            a.extents.push_back(constant(there ? estimates[d].extent : Halide::Expr(), what));
        }
        if (it != given.end()) {
            const Json &j = it->second;
            a.fill = j.string_or("fill", a.fill);
            std::vector<Json> extents = j.items_or_empty("extents");
            if (!extents.empty() && extents.size() != n) {
                throw Failure(status::build_failed, "input " + in.name + " has " + std::to_string(n) + " dimensions, " +
                                                        std::to_string(extents.size()) + " were given");
            }
            for (size_t d = 0; d < extents.size(); d++) a.extents[d] = extents[d].as_int();
        }
        return a;
    }

    static void number(const Halide::Expr &e, Argument *a) {
        Halide::Expr s = Halide::Internal::simplify(e);
        if (auto i = Halide::Internal::as_const_int(s)) {
            a->int_value = *i;
            a->value = (double)*i;
        } else if (auto u = Halide::Internal::as_const_uint(s)) {
            a->int_value = (int64_t)*u;
            a->value = (double)*u;
        } else if (auto f = Halide::Internal::as_const_float(s)) {
            a->value = *f;
        } else {
            throw Failure(status::build_failed, "the estimate for " + a->name + " is no constant");
        }
    }

    Argument output(const Halide::Func &f, size_t element) {
        Argument a;
        a.name = f.name();
        if (f.types().size() > 1) a.name += "." + std::to_string(element);
        a.buffer = a.output = true;
        Halide::Type t = f.types()[element];
        a.type = halide_type_t(t.code(), (uint8_t)t.bits());
        const auto &schedule = f.function().schedule();
        for (const std::string &dim : f.function().args()) {
            std::string what = f.name() + ", dimension " + dim;
            Halide::Expr min, extent;
            for (const auto &b : schedule.bounds()) {
                if (b.var == dim && b.extent.defined()) min = b.min, extent = b.extent;
            }
            for (const auto &b : schedule.estimates()) {
                if (b.var == dim && !(extent.defined() && min.defined())) min = b.min, extent = b.extent;
            }
            a.mins.push_back(constant(min.defined() ? min : Halide::Expr(0), what));
            a.extents.push_back(constant(extent, what));
        }
        return a;
    }

    void reference() {
        std::string path = session_.hello["scratch"].as_string() + "/data";
        answer(Json::object()
                   .set("type", "referenced")
                   .set("data", make_data_set(entry_, arguments(), path).to_json())
                   .set("lower_ns", lower_ns_)
                   .set("link_ns", link_ns_));
    }

    // Runs are asked for one at a time until the server closes the connection.
    void serve() {
        while (auto message = receive_message(fd_)) run_once(*message);
    }

    // Fills the buffers and, where the request asks for it, checks at every size but the
    // one that is timed: that is checked with its first execution.
    void prepare() {
        data_ = DataSet::from_json(request_["data"]);
        match_slots(&data_);
        pin();
        bench_ = std::make_unique<Bench>(entry_, data_);
        const Json &check = request_["check"];
        if (check.is_null()) return;
        auto start = Clock::now();
        for (size_t size = data_.sizes; size-- > (data_.sizes > 1 ? 1 : 0);) {
            bench_->allocate(size);
            {
                ProcessorLimit limit(check.int_or("hopeless_cpu_ns", 0));
                bench_->once();
            }
            compare(check);
        }
        checked_ = data_.sizes <= 1;
        check_ns_ = since(start);
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

    // Timing threads inherit the mask; compiling used all processors.
    void pin() {
        std::vector<Json> cpus = session_.hello.items_or_empty("cpus");
        if (cpus.empty()) return;
        cpu_set_t set;
        CPU_ZERO(&set);
        for (const Json &c : cpus) CPU_SET((int)c.as_int(), &set);
        sched_setaffinity(0, sizeof(set), &set);
    }

    static Tolerance tolerance(const Json &message) {
        Tolerance t;
        t.relative = message.double_or("relative", t.relative);
        t.absolute = message.double_or("absolute", t.absolute);
        t.integer = message.int_or("integer", t.integer);
        t.integer_share = message.double_or("integer_share", t.integer_share);
        return t;
    }

    void compare(const Json &message) {
        CheckResult r = bench_->compare(tolerance(message));
        if (!r.ok) throw Failure(status::wrong_output, r.message);
    }

    void run_once(const Json &message) {
        TimingProtocol protocol;
        protocol.min_total_ns = message.int_or("min_total_ns", protocol.min_total_ns);
        protocol.min_samples = message.int_or("min_samples", protocol.min_samples);
        protocol.max_samples = message.int_or("max_samples", protocol.max_samples);
        protocol.give_up_ns = message.int_or("give_up_ns", 0);

        auto start = Clock::now();
        bench_->allocate(0);
        int64_t first = bench_->once();
        if (!checked_) compare(message);
        checked_ = true;
        std::vector<int64_t> samples = bench_->time(protocol, first);
        int64_t time_ns = since(start);
        compare(message);  // what is wrong only now and then
        answer(Json::object().set("type", "ran").set("samples", Json(samples)).set("time_ns", time_ns));
    }
};

}  // namespace

void run_candidate(const Session &session, const Halide::Pipeline &pipeline, const Halide::Target &target,
                   const Json &request, int fd) {
    failure_fd = fd;
    failure_id = request.int_or("id", 0);
    std::set_new_handler(no_memory);
    Candidate(session, pipeline, target, request, fd).run();
    _exit(0);
}

}  // namespace protuner
