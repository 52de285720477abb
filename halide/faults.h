// Faults on purpose, for the tests of everything that must survive them. They exist
// only in a plugin and a runner built with -DPROTUNER_FAULTS; in any other a request
// for one is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "harness.h"

namespace protuner {

// Does what `fault` names to the calling child; an empty name does nothing, nor
// does one that spoils results.
void inject(const std::string &fault, int fd, int64_t id);

// An entry point that computes what `entry` does and then spoils the outputs, the
// last `outputs` of its `arguments` arguments, as `fault` says:
//   wrong-element:SEED  one element
//   wrong-border:SEED   the first or last row of one dimension
//   wrong-tile:SEED     a block of at most 8 elements a side
//   wrong-tail:SEED     one element, and only where the first extent is odd, as where the
//                       remainder of a vector loop is wrong
//   wrong-race:SEED     a block, in about a quarter of the executions
// Integers are off by one, floats by a hundredth of the output's largest magnitude.
// Any other fault gives `entry` back. It may be called once in a process.
EntryPoint corrupt(const std::string &fault, EntryPoint entry, size_t arguments, size_t outputs);

}  // namespace protuner
