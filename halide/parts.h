// Compiling what a search has compiled before only once.
#pragma once

#define HALIDE_KEEP_MACROS
#include "Halide.h"

#include <string>
#include <vector>

namespace protuner {

// Both return what a linker is to be told. `stem` is a path that begins the names of what
// is this call's alone; they throw what Halide throws.

// Compiles a module as an ahead-of-time build does, to `stem`.o.
std::vector<std::string> compile_whole(const Halide::Module &module, const std::string &stem);

// Compiles a module to an object for the body of each parallel loop and one for the rest,
// in `folder`, which must exist and where those of equal loops and rests are found again.
// Processes may share it.
std::vector<std::string> compile_parts(const Halide::Module &module, const std::string &stem, const std::string &folder);

}  // namespace protuner
