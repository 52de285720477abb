#include "evaluate.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <sched.h>
#include <sys/time.h>
#include <unistd.h>

#include "failure.h"
#include "faults.h"
#include "harness.h"
#include "wire.h"

namespace protuner {

namespace {

using Clock = std::chrono::steady_clock;

int64_t since(Clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

void out_of_time(int signal) {
    leave(status::timed_out, signal == SIGPROF ? "one execution used more processor time than a candidate worth timing"
                                               : "one execution took longer than a candidate worth timing");
}

// Ends the process where it uses more than so much time while this lives, by one of
// setitimer's clocks. Processor time, unlike the time that passes, does not grow when
// others compile beside it or when it stands still because another is timed.
class Limit {
public:
    Limit(__itimer_which clock, int64_t ns) : clock_(clock) {
        if (ns <= 0) return;
        signal(clock == ITIMER_PROF ? SIGPROF : SIGALRM, out_of_time);
        set(std::max<int64_t>(ns / 1000, 1));
    }
    ~Limit() { set(0); }
    Limit(const Limit &) = delete;
    Limit &operator=(const Limit &) = delete;

private:
    __itimer_which clock_;

    void set(int64_t us) {
        itimerval timer = {};
        timer.it_value.tv_sec = us / 1000000;
        timer.it_value.tv_usec = us % 1000000;
        setitimer(clock_, &timer, nullptr);
    }
};

Json read_job(const char *path) {
    std::ifstream in(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    unlink(path);
    return Json::parse(text);
}

class Evaluation {
public:
    explicit Evaluation(const Json &job)
        : job_(job), fd_((int)job["fd"].as_int()), id_(job["id"].as_int()), data_(DataSet::from_json(job["data"])) {}

    void run() {
        load();
        pin(job_.items_or_empty("cpus"));
        bench_ = std::make_unique<Bench>(library_, entry_, data_);
        int64_t check_ns = job_["check"].is_null() ? 0 : check(job_["check"]);
        bench_->allocate(0);  // now, while others may compile
        answer(Json::object()
                   .set("type", "built")
                   .set("lower_ns", job_["lower_ns"].as_int())
                   .set("link_ns", job_["link_ns"].as_int())
                   .set("check_ns", check_ns));
        // Runs are asked for one at a time until the server closes the connection.
        while (auto message = receive_message(fd_)) time(*message);
    }

private:
    const Json &job_;
    int fd_;
    int64_t id_;
    DataSet data_;
    void *library_ = nullptr;
    EntryPoint entry_ = nullptr;
    std::unique_ptr<Bench> bench_;
    bool checked_ = true;  // at the size that is timed; false where a check was asked for

    void answer(Json j) {
        j.set("id", id_);
        send_message(fd_, j);
    }

    void load() {
        std::string path = job_["library"].as_string();
        library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        unlink(path.c_str());
        if (!library_) throw Failure(status::infra_failed, std::string("cannot load the candidate: ") + dlerror());
        catch_errors(library_);
        entry_ = (EntryPoint)dlsym(library_, job_["entry"].as_string().c_str());
        if (!entry_) throw Failure(status::infra_failed, "the candidate has no entry point");
        size_t outputs = 0;
        for (const auto &s : data_.slots) outputs += s.argument.output;
        entry_ = corrupt(job_.string_or("fault", ""), entry_, data_.slots.size(), outputs);
    }

    // Checks at a smaller size, if there is any: the size that is timed is checked with
    // its first execution.
    int64_t check(const Json &message) {
        checked_ = false;
        if (data_.sizes <= 1) return 0;
        auto start = Clock::now();
        {
            Limit limit(ITIMER_PROF, message.int_or("hopeless_cpu_ns", 0));
            bench_->once_smaller();
        }
        compare(message);
        return since(start);
    }

    void compare(const Json &message) { expect(bench_->compare(Tolerance::from_json(message))); }
    void compare_outputs(const Json &message) { expect(bench_->compare_outputs(Tolerance::from_json(message))); }

    static void expect(const CheckResult &r) {
        if (!r.ok) throw Failure(status::wrong_output, r.message);
    }

    int64_t warm_up(int64_t hopeless_ns) {
        Limit limit(ITIMER_REAL, hopeless_ns);  // it has the host to itself
        return bench_->once_guarded();
    }

    void time(const Json &message) {
        auto start = Clock::now();
        int64_t first = warm_up(message.int_or("hopeless_ns", 0));
        if (!checked_) compare_outputs(message);
        checked_ = true;
        std::vector<int64_t> samples = bench_->time(TimingProtocol::from_json(message), first);
        int64_t time_ns = since(start);
        answer(Json::object().set("type", "timed"));
        compare(message);  // what is wrong only now and then
        answer(Json::object().set("type", "ran").set("samples", Json(samples)).set("time_ns", time_ns));
    }
};

}  // namespace

void pin(const std::vector<Json> &cpus) {
    if (cpus.empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const Json &c : cpus) CPU_SET((int)c.as_int(), &set);
    sched_setaffinity(0, sizeof(set), &set);
}

int evaluate(const char *path) {
    Json job = read_job(path);
    become_candidate((int)job["fd"].as_int(), job["id"].as_int());
    try {
        Evaluation(job).run();
        return 0;
    } catch (const Failure &e) {
        answer_failure(e.status, e.what());
    } catch (const RunError &e) {
        answer_failure(status_of_code(e.code), e.what());
    } catch (const std::bad_alloc &) {
        answer_failure(status::out_of_memory, "memory limit reached");
    } catch (const std::exception &e) {
        answer_failure(status::crashed, e.what());
    }
    return 1;
}

}  // namespace protuner
