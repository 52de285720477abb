// The Generator's hand-written schedule. With an autoscheduler named a Generator
// skips it, so it is built a second time without one.
#pragma once

#define HALIDE_KEEP_MACROS
#include "Halide.h"

#include "json.h"

namespace protuner {

// A second pipeline of the same Generator; the Generator owns what it refers to.
struct OwnPipeline {
    Halide::Internal::AbstractGeneratorPtr generator;
    Halide::Pipeline pipeline;
};

// Builds the Generator named in the hello with its parameters set again. Throws
// JsonError where no such Generator is registered.
OwnPipeline build_own(const Json &hello, const Halide::Target &target);

}  // namespace protuner
