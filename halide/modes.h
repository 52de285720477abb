// The plugin's modes, one source file each. A mode gets the session that protuner
// opened, the pipeline as the Generator built it, and the target.
#pragma once

#define HALIDE_KEEP_MACROS
#include "Halide.h"

#include "json.h"
#include "wire.h"

namespace protuner {

struct Session {
    int in = -1;    // requests from protuner
    int out = -1;   // answers to it
    Json hello;     // protuner's first message: mode and the mode's settings
};

// Answers with the pipeline's description (internal/pipeline is its reader).
void describe(const Session &session, const Halide::Pipeline &pipeline, const Halide::Target &target);

// Rebuilds the Generator with its own schedule and answers with that schedule as
// directives over the names of `pipeline`.
void own(const Session &session, const Halide::Pipeline &pipeline, const Halide::Target &target);

// Applies a schedule and returns, so that Halide goes on to write its outputs.
void apply(const Session &session, const Halide::Pipeline &pipeline, const Halide::Target &target,
           Halide::AutoSchedulerResults *results);

// Throws where code for the target cannot run on this machine: nothing could be said of it but
// that it crashes.
void expect_runs_here(const Halide::Target &target);

// Serves build and run requests, each candidate in a forked child, until the
// session's input ends.
void serve(const Session &session, const Halide::Pipeline &pipeline, const Halide::Target &target);

}  // namespace protuner
