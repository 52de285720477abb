// Faults on purpose, for the tests of everything that must survive them. They exist
// only in a plugin built with -DPROTUNER_FAULTS; in any other a request for one is
// refused.
#pragma once

#include <cstdint>
#include <string>

namespace protuner {

// Does what `fault` names to the calling child; an empty name does nothing.
void inject(const std::string &fault, int fd, int64_t id);

}  // namespace protuner
