// Makes the data that pipelines are run on.
#pragma once

#include "harness.h"

namespace protuner {

// Fills an input by its `fill` rule, bytes in storage order:
//   random:SEED   8 and 16 bit integers over their whole range, wider ones in
//                 [0, 65536) so that signed sums do not overflow, floats in [0, 1);
//                 each element depends on seed, name and position only
//   random:SEED:BITS  the same, but integers that fit so many bits
//   constant:V    every element V
//   raw:PATH      a file of exactly these elements, dimension 0 fastest
// Throws std::runtime_error naming the input.
void fill_input(const Argument &argument, const std::vector<int> &order, uint8_t *data, size_t bytes);

// A whole number of up to 64 bits with a sign or without; of one without, the bits.
int64_t whole_number(const std::string &text);

// Writes one element of a type: a type of floats takes the real value, any other the whole
// one's low bytes.
void store_element(halide_type_t type, uint8_t *at, double real, int64_t whole);

}  // namespace protuner
