// Compares a candidate's output with the reference's.
#pragma once

#include <cstdint>
#include <string>

#include "HalideRuntime.h"
#include "harness.h"

namespace protuner {

// Empty where all n elements agree within the tolerance; else how many do not, the
// first of them (index in storage order) and the two values there.
std::string first_difference(halide_type_t type, const void *got, const void *want, size_t n,
                             const Tolerance &tolerance);

// IEEE binary16 to float and back (round to nearest even).
float half_to_float(uint16_t h);
uint16_t float_to_half(float f);

}  // namespace protuner
