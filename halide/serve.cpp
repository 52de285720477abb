// Mode serve: the fork server. The pipeline is built once; every candidate is a child
// in a process group of its own with limits on memory and time. This process starts
// no thread and compiles nothing, so that a fork of it is always whole.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "candidate.h"
#include "failure.h"
#include "modes.h"

namespace protuner {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// A child that floods the wire is cut off here; its largest honest message is the
// samples of one run.
constexpr size_t kMaxChildBytes = 1 << 20;
// No file that a candidate writes is longer, its log above all. Code reaches no farther, so
// neither objects nor libraries are.
constexpr rlim_t kMaxChildFile = (rlim_t)2 << 30;
// What is told of a child's log.
constexpr std::streamoff kLastWords = 500;

enum class Phase { Building,     // compiling and checking, may share the machine
                   Ready,        // built, waiting for a run
                   Running,      // timing, alone
                   Comparing };  // timed, may share the machine

struct Child {
    int64_t id = 0;
    pid_t pid = 0;
    int fd = -1;
    int exit_fd = -1;  // readable once the process is gone, whoever still holds its socket
    Phase phase = Phase::Building;
    bool reference = false;
    bool stopped = false;
    MessageBuffer buffer;
    size_t received = 0;
    Clock::time_point deadline;
    std::string log;
};

class Server {
public:
    Server(const Session &session, const Halide::Pipeline &pipeline, const Halide::Target &target)
        : session_(session), pipeline_(pipeline), target_(target),
          scratch_(session.hello["scratch"].as_string()),
          memory_bytes_(session.hello.int_or("memory_bytes", 0)),
          build_ns_(session.hello.int_or("build_ns", 60000000000)),
          reference_ns_(session.hello.int_or("reference_ns", 600000000000)) {}

    void run() {
        signal(SIGPIPE, SIG_IGN);
        while (!ended_) {
            start_pending();
            wait_for_events();
            expire();
        }
        kill_all();
        remove_scratch();
    }

private:
    const Session &session_;
    const Halide::Pipeline &pipeline_;
    const Halide::Target &target_;
    std::string scratch_;
    int64_t memory_bytes_, build_ns_, reference_ns_;
    MessageBuffer requests_;
    std::map<int64_t, Child> children_;
    std::deque<Json> pending_builds_, pending_runs_;
    int64_t running_ = -1;
    Json data_;
    int64_t data_bytes_ = 0;
    bool ended_ = false;

    void tell(const Json &j) {
        if (!send_message(session_.out, j)) ended_ = true;
    }
    void tell_failed(int64_t id, const char *status, const std::string &message) {
        tell(Json::object().set("type", "failed").set("id", id).set("status", status).set("message", message));
    }

    // Nothing compiles or compares while something is timed: builds wait, and who is under
    // way is stopped. Their time limit is moved by as long as they stood still.
    void start_pending() {
        while (running_ < 0 && !pending_runs_.empty()) {
            Json request = pending_runs_.front();
            pending_runs_.pop_front();
            start_run(request);
        }
        while (running_ < 0 && !pending_builds_.empty()) {
            Json request = pending_builds_.front();
            pending_builds_.pop_front();
            start_child(request);
        }
    }

    void start_run(const Json &request) {
        auto it = children_.find(request["id"].as_int());
        if (it == children_.end() || it->second.phase != Phase::Ready) return;  // died meanwhile, and was reported
        Child &child = it->second;
        running_ = child.id;
        run_started_ = Clock::now();
        for (auto &p : children_) {
            if (p.second.phase == Phase::Building || p.second.phase == Phase::Comparing) {
                kill(-p.second.pid, SIGSTOP);
                p.second.stopped = true;
            }
        }
        child.phase = Phase::Running;
        child.received = 0;
        child.deadline = run_started_ + nanoseconds(request.int_or("timeout_ns", 60000000000));
        send_message(child.fd, request);
    }
    Clock::time_point run_started_;

    void finish_run() {
        running_ = -1;
        auto stood_still = Clock::now() - run_started_;
        for (auto &p : children_) {
            if (!p.second.stopped) continue;
            p.second.stopped = false;
            p.second.deadline += stood_still;
            kill(-p.second.pid, SIGCONT);
        }
    }

    void start_child(Json request) {
        int64_t id = request["id"].as_int();
        bool reference = request["type"].as_string() == "reference";
        if (!reference) {
            if (data_.is_null()) return tell_failed(id, status::infra_failed, "no reference was made yet");
            request.set("data", data_);
        }
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
            return tell_failed(id, status::infra_failed, std::string("socketpair: ") + strerror(errno));
        }
        if (id >= 2 * kPartsTogether) remove_all(parts_folder(session_, id - 2 * kPartsTogether));
        Child child;
        child.id = id;
        child.reference = reference;
        child.log = scratch_ + "/c" + std::to_string(id) + ".log";
        pid_t server = getpid();
        pid_t pid = fork();
        if (pid < 0) {
            close(pair[0]);
            close(pair[1]);
            return tell_failed(id, status::infra_failed, std::string("fork: ") + strerror(errno));
        }
        if (pid == 0) {
            become_child(server, child.log, pair, reference);
            run_candidate(session_, pipeline_, target_, request, pair[1]);
        }
        setpgid(pid, pid);  // in the parent too, so that no signal can come before it
        close(pair[1]);
        child.pid = pid;
        child.fd = pair[0];
        child.exit_fd = (int)syscall(SYS_pidfd_open, pid, 0);
        child.deadline = Clock::now() + nanoseconds(reference ? reference_ns_ : request.int_or("build_ns", build_ns_));
        children_.emplace(id, std::move(child));
    }

    void become_child(pid_t server, const std::string &log, int *pair, bool reference) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != server) _exit(1);
        signal(SIGPIPE, SIG_DFL);
        int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
        if (out >= 0) {
            dup2(out, 1);
            dup2(out, 2);
            if (out > 2) close(out);
        }
        close(session_.in);
        close(session_.out);
        close(pair[0]);
        for (auto &p : children_) {
            close(p.second.fd);
            close(p.second.exit_fd);
        }
        if (!reference) limit_candidate();
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
    }

    // The reference keeps everything at root and writes the data set; what it needs is not the
    // candidates' fault.
    void limit_candidate() {
        struct rlimit file = {kMaxChildFile, kMaxChildFile};
        setrlimit(RLIMIT_FSIZE, &file);
        if (memory_bytes_ > 0) {
            // Inputs and outputs are mapped, and copied: what they take is not the candidates' fault either.
            rlim_t bytes = (rlim_t)(memory_bytes_ + 2 * data_bytes_);
            struct rlimit limit = {bytes, bytes};
            setrlimit(RLIMIT_AS, &limit);
        }
    }

    void wait_for_events() {
        std::vector<pollfd> fds;
        std::vector<int64_t> ids;
        if (!ended_) fds.push_back({session_.in, POLLIN, 0});
        for (auto &p : children_) {
            fds.push_back({p.second.fd, POLLIN, 0});
            fds.push_back({p.second.exit_fd, POLLIN, 0});
            ids.push_back(p.first);
        }
        poll(fds.data(), fds.size(), milliseconds_to_deadline());
        size_t first = ended_ ? 0 : 1;
        for (size_t i = 0; i < ids.size(); i++) {
            // What it said before it went comes first.
            if (fds[first + 2 * i].revents) {
                read_child(ids[i]);
            } else if (fds[first + 2 * i + 1].revents) {
                explain_death(ids[i]);
            }
        }
        if (!ended_ && fds[0].revents) read_requests();
    }

    int milliseconds_to_deadline() {
        auto now = Clock::now();
        int64_t least = 60000;
        for (auto &p : children_) {
            if (p.second.phase == Phase::Ready || p.second.stopped) continue;
            auto left = std::chrono::duration_cast<std::chrono::milliseconds>(p.second.deadline - now).count();
            least = std::min<int64_t>(least, std::max<int64_t>(left + 1, 0));
        }
        return (int)least;
    }

    void read_requests() {
        char bytes[65536];
        ssize_t n = read(session_.in, bytes, sizeof(bytes));
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
        if (n <= 0) {
            ended_ = true;
            return;
        }
        requests_.append(bytes, (size_t)n);
        while (auto request = requests_.next()) accept(*request);
    }

    void accept(const Json &request) {
        const std::string &type = request["type"].as_string();
        if (type == "build" || type == "reference") {
            pending_builds_.push_back(request);
        } else if (type == "run") {
            pending_runs_.push_back(request);
        } else if (type == "drop") {
            drop(request["id"].as_int());
        } else {
            throw JsonError("unknown request " + type);
        }
    }

    void drop(int64_t id) {
        auto same = [&](const Json &j) { return j["id"].as_int() == id; };
        pending_builds_.erase(std::remove_if(pending_builds_.begin(), pending_builds_.end(), same),
                              pending_builds_.end());
        pending_runs_.erase(std::remove_if(pending_runs_.begin(), pending_runs_.end(), same), pending_runs_.end());
        if (children_.count(id)) reap(id);
    }

    void read_child(int64_t id) {
        Child &child = children_.at(id);
        char bytes[65536];
        ssize_t n = read(child.fd, bytes, sizeof(bytes));
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
        if (n <= 0) return explain_death(id);
        child.received += (size_t)n;
        try {
            if (child.received > kMaxChildBytes) throw JsonError("more than " + std::to_string(kMaxChildBytes) + " bytes");
            child.buffer.append(bytes, (size_t)n);
            while (auto message = child.buffer.next()) {
                if (!hear(child, *message)) return;
            }
        } catch (const JsonError &e) {
            std::string why = std::string("nonsense on the wire: ") + e.what();
            reap(id);
            tell_failed(id, status::crashed, why);
        }
    }

    // False when the child is gone afterwards.
    bool hear(Child &child, const Json &message) {
        const std::string &type = message["type"].as_string();
        if (message["id"].as_int() != child.id) throw JsonError("an answer for another candidate");
        if (type == "failed") {
            message["status"].as_string();
            message["message"].as_string();
            Json copy = message;
            reap(child.id);
            tell(copy);
            return false;
        }
        if (type == "referenced" && child.reference && child.phase == Phase::Building) {
            data_ = message["data"];
            struct stat st = {};
            if (stat(data_["path"].as_string().c_str(), &st) == 0) data_bytes_ = st.st_size;
            Json copy = message;
            reap(child.id);
            tell(copy);
            return false;
        }
        if (type == "built" && !child.reference && child.phase == Phase::Building) {
            message["lower_ns"].as_int();
            child.phase = Phase::Ready;
        } else if (type == "timed" && child.phase == Phase::Running) {
            child.phase = Phase::Comparing;
            finish_run();
            return true;
        } else if (type == "ran" && child.phase == Phase::Comparing) {
            if (message["samples"].items().empty()) throw JsonError("no samples");
            for (const Json &s : message["samples"].items()) s.as_int();
            child.phase = Phase::Ready;
        } else {
            throw JsonError("an answer nobody asked for");
        }
        tell(message);
        return true;
    }

    void expire() {
        auto now = Clock::now();
        std::vector<int64_t> late;
        for (auto &p : children_) {
            if (p.second.phase != Phase::Ready && !p.second.stopped && now >= p.second.deadline) late.push_back(p.first);
        }
        for (int64_t id : late) {
            bool building = children_.at(id).phase == Phase::Building;
            reap(id);
            tell_failed(id, status::timed_out, building ? "compiling and checking took too long" : "running took too long");
        }
    }

    // The child closed its end without an answer.
    void explain_death(int64_t id) {
        Phase phase = children_.at(id).phase;
        std::string words = last_words(children_.at(id).log);
        // Dying may take a moment longer than closing; whatever still lives after that
        // will not leave by itself.
        int state = 0;
        bool gone = false;
        for (int i = 0; i < 100 && !gone; i++) {
            gone = waitpid(children_.at(id).pid, &state, WNOHANG) != 0;
            if (!gone) usleep(1000);
        }
        reap(id, gone);
        std::string why = phase == Phase::Building ? unwritable(scratch_) : "";
        if (!why.empty()) return tell_failed(id, status::infra_failed, why);
        std::string when = phase == Phase::Building ? "while compiling or checking" : phase == Phase::Ready ? "while waiting" : "while running";
        if (gone && WIFSIGNALED(state)) {
            int sig = WTERMSIG(state);
            // Nobody here sends SIGKILL before reporting; the kernel does when memory ends.
            tell_failed(id, sig == SIGKILL ? status::out_of_memory : status::crashed,
                        std::string(strsignal(sig)) + " " + when + words);
        } else {
            tell_failed(id, status::crashed, "left without an answer " + when + words);
        }
    }

    static std::string last_words(const std::string &log) {
        std::ifstream in(log, std::ios::binary | std::ios::ate);
        const std::streamoff length = in.tellg();  // -1 where there is none
        std::string text((size_t)std::clamp<std::streamoff>(length, 0, kLastWords), '\0');
        in.seekg(-(std::streamoff)text.size(), std::ios::end);
        in.read(text.data(), (std::streamsize)text.size());
        text.resize((size_t)in.gcount());
        return text.empty() ? "" : ": " + text;
    }

    // Ends a child with its whole process group and everything it left.
    void reap(int64_t id, bool waited = false) {
        auto it = children_.find(id);
        Child &child = it->second;
        kill(-child.pid, SIGKILL);
        if (!waited) {
            while (waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
            }
        }
        close(child.fd);
        close(child.exit_fd);
        unlink(child.log.c_str());
        std::string stem = scratch_ + "/c" + std::to_string(id);
        unlink((stem + ".o").c_str());
        unlink((stem + ".so").c_str());
        unlink((stem + ".job").c_str());
        bool was_running = running_ == id;
        children_.erase(it);
        if (was_running) finish_run();
    }

    void kill_all() {
        while (!children_.empty()) reap(children_.begin()->first);
    }

    // The server is the last to leave, also when protuner itself was killed.
    void remove_scratch() { remove_all(scratch_); }

    static void remove_all(const std::string &folder) {
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
    }
};

}  // namespace

void expect_runs_here(const Halide::Target &target) {
    using Halide::Target;
    const Target here = Halide::get_host_target();
    const std::string what = "code for " + target.to_string() + " cannot be timed here, on " + here.to_string() + ": ";
    if (target.arch != here.arch || target.bits != here.bits || target.os != here.os) {
        throw std::runtime_error(what + "name a target of this machine, or none");
    }
    if (here.arch != Target::X86) return;  // Halide asks others for few of their features
    // Nor does it find AVX10_1, for which it looks in the wrong register, or AVXVNNI, which it
    // looks for beside AVX-512 alone: that these are missing says nothing.
    for (auto f : {Target::SSE41, Target::AVX, Target::AVX2, Target::FMA, Target::FMA4, Target::F16C,
                   Target::AVX512, Target::AVX512_KNL, Target::AVX512_Skylake, Target::AVX512_Cannonlake,
                   Target::AVX512_SapphireRapids, Target::AVX512_Zen4,
#if HALIDE_VERSION_MAJOR >= 21
                   Target::AVX512_Zen5,
#endif
                   Target::X86APX}) {
        if (target.has_feature(f) && !here.has_feature(f)) {
            throw std::runtime_error(what + "it has no " + Target::feature_to_name(f));
        }
    }
}

void serve(const Session &session, const Halide::Pipeline &pipeline, const Halide::Target &target) {
    Server(session, pipeline, target).run();
}

}  // namespace protuner
