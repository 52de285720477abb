// The life of one candidate in its forked child: schedule, compile, link, load, then
// check and time on request.
#pragma once

#define HALIDE_KEEP_MACROS
#include "Halide.h"

#include <memory>

#include "harness.h"
#include "json.h"
#include "modes.h"

namespace protuner {

// The outcomes of a candidate as the wire spells them.
namespace status {
constexpr const char *ok = "ok";
constexpr const char *build_failed = "build_failed";
constexpr const char *crashed = "crashed";
constexpr const char *timed_out = "timed_out";
constexpr const char *out_of_memory = "out_of_memory";
constexpr const char *wrong_output = "wrong_output";
constexpr const char *infra_failed = "infra_failed";
}  // namespace status

// Runs in the child and never returns. `request` is a build or reference request,
// `fd` the child's own connection to the server.
[[noreturn]] void run_candidate(const Session &session, const Halide::Pipeline &pipeline,
                                const Halide::Target &target, const Json &request, int fd);

}  // namespace protuner
