// The autoscheduler named ProTuner. protuner loads it into a Generator with
//   -p libautoschedule_protuner.so autoscheduler=ProTuner
//   autoscheduler.fd_in=N autoscheduler.fd_out=M
// and speaks to it over the two inherited descriptors.

#include "modes.h"

#include <cstdlib>
#include <exception>
#include <iostream>
#include <unistd.h>

namespace protuner {

namespace {

int descriptor(const Halide::AutoschedulerParams &params, const char *key) {
    auto it = params.extra.find(key);
    if (it == params.extra.end()) {
        std::cerr << "protuner: the ProTuner autoscheduler is loaded by the protuner command; "
                     "run `protuner tune GENERATOR`, then build with the .schedule.h it writes\n";
        _exit(2);
    }
    return atoi(it->second.c_str());
}

[[noreturn]] void give_up(const Session &session, const char *why) {
    send_message(session.out, Json::object().set("type", "error").set("message", why));
    _exit(1);
}

void run(const Halide::Pipeline &pipeline, const Halide::Target &target,
         const Halide::AutoschedulerParams &params, Halide::AutoSchedulerResults *results) {
    Session session;
    session.in = descriptor(params, "fd_in");
    session.out = descriptor(params, "fd_out");
    try {
        auto hello = receive_message(session.in);
        if (!hello) _exit(0);
        session.hello = *hello;
        const std::string mode = session.hello.string_or("mode", "");
        if (mode == "serve") expect_runs_here(target);
        int64_t theirs = session.hello.int_or("protocol", 0);
        send_message(session.out, Json::object().set("type", "hello").set("protocol", kProtocol));
        if (theirs != kProtocol) _exit(2);
        if (mode == "describe") {
            describe(session, pipeline, target);
        } else if (mode == "own") {
            own(session, pipeline, target);
        } else if (mode == "serve") {
            serve(session, pipeline, target);
        } else if (mode == "apply") {
            apply(session, pipeline, target, results);
            return;
        } else {
            throw JsonError("unknown mode " + mode);
        }
    } catch (const Halide::Error &e) {  // no std::exception
        give_up(session, e.what());
    } catch (const std::exception &e) {
        give_up(session, e.what());
    }
    // Nothing of the Generator's own outputs is wanted in these modes.
    _exit(0);
}

struct Register {
    Register() {
        Halide::Pipeline::add_autoscheduler("ProTuner", run);
    }
} registration;

}  // namespace

}  // namespace protuner
