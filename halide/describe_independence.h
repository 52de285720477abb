// Which iterations of an update neither read nor write what others write.
#pragma once

#include "describe_graph.h"

namespace protuner::description {

// A test for loop-carried dependences: the dimension of a Func that iterations of a reduction
// loop of an update write along, so many points apart, where those that differ in the loop alone,
// or in loops of the reduction inside it too, neither read nor write what another writes; -1
// where there is none. Halide's own proof also has the loops outside differ, so that it fails for
// a state that is made of the one before. Where the loop reads what it wrote itself a while
// before, as an echo does, it is independent among iterations that are fewer than `apart` from
// each other.
Along written_along(const Halide::Internal::Function &f, const Halide::Internal::Definition &def, const std::string &loop);

}  // namespace protuner::description
