// The second half of a candidate's life, in the runner: checked and timed on request,
// in a process as fresh as one that runs an ahead-of-time build. What compiling leaves
// behind (a heap of pieces, an allocator that has learned other habits, pages shared
// with the server) changed the times of schedules that allocate by up to 1.8.
#pragma once

namespace protuner {

// Evaluates the candidate that the job file describes and returns the exit code.
int evaluate(const char *job);

}  // namespace protuner
