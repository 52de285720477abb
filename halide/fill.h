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
void fill_input(const Argument &argument, const Layout &layout, uint8_t *data);

// Visits the elements with dimension 0 fastest, however they are stored, so that a value
// depends on its coordinates and not on the strides a pipeline asks for: f(how many came
// before, where it is stored, in elements).
template<typename F>
void each_element(const std::vector<int64_t> &extents, const Layout &layout, F f) {
    int64_t all, n = 1;
    const std::vector<int64_t> strides = layout.strides(extents, &all);
    for (int64_t e : extents) n *= e;
    std::vector<int64_t> position(extents.size(), 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (size_t d = 0; d < extents.size(); d++) at += position[d] * strides[d];
        f(i, (size_t)at);
        for (size_t d = 0; d < extents.size(); d++) {
            if (++position[d] < extents[d]) break;
            position[d] = 0;
        }
    }
}

// A whole number of up to 64 bits with a sign or without; of one without, the bits.
int64_t whole_number(const std::string &text);

// Writes one element of a type: a type of floats takes the real value, any other the whole
// one's low bytes.
void store_element(halide_type_t type, uint8_t *at, double real, int64_t whole);

}  // namespace protuner
