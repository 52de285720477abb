// The second half of a candidate's life, in the runner: checked and timed on request,
// in a process as fresh as one that runs an ahead-of-time build: the times of schedules
// that allocate depend on what was allocated and freed in a process before.
#pragma once

#include <vector>

#include "json.h"

namespace protuner {

// Keeps the process to some processors, and the threads that it starts; compiling used all.
// None: any.
void pin(const std::vector<Json> &cpus);

// Evaluates the candidate that the job file describes and returns the exit code.
int evaluate(const char *job);

}  // namespace protuner
