// The first half of a candidate's life, in its forked child: schedule, compile, link.
// The second is the runner's, see evaluate.h.
#pragma once

#define HALIDE_KEEP_MACROS
#include "Halide.h"

#include <memory>

#include "harness.h"
#include "json.h"
#include "modes.h"

namespace protuner {

// How many candidates keep what they compile in one folder. The folder before theirs may
// still be read by those under way.
constexpr int64_t kPartsTogether = 1000;
std::string parts_folder(const Session &session, int64_t id);

// Runs in the child and never returns. `request` is a build or reference request,
// `fd` the child's own connection to the server.
[[noreturn]] void run_candidate(const Session &session, const Halide::Pipeline &pipeline,
                                const Halide::Target &target, const Json &request, int fd);

}  // namespace protuner
