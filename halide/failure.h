// How a candidate's process says that it failed, while it is compiled as well as while
// it runs.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

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
constexpr const char *bad_input = "bad_input";  // of the reference alone: the user's to mend
}  // namespace status

// The outcome that one of Halide's error codes stands for.
const char *status_of_code(int code);

struct Failure : std::runtime_error {
    const char *status;
    Failure(const char *s, const std::string &what) : std::runtime_error(what), status(s) {}
};

// What keeps a folder from being written to, where it is gone or nearly full; "" where nothing
// does. What fails then says nothing of a candidate.
std::string unwritable(const std::string &folder);

// From here on this process is candidate `id`, connected to the server by `fd`. Where
// it runs out of address space it says so and ends.
void become_candidate(int fd, int64_t id);

// Answers for the candidate that it failed.
void answer_failure(const char *status, const std::string &message);

// Does the same in a state where nothing may be allocated or relied on, and ends the
// process. `message` is plain text of at most 100 bytes.
[[noreturn]] void leave(const char *status, const char *message);

}  // namespace protuner
