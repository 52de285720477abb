#include "compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <vector>

namespace protuner {

namespace {

template<typename T>
struct Direct {
    using Stored = T;
    static double value(T v) { return (double)v; }
};
struct Half {
    using Stored = uint16_t;
    static double value(uint16_t v) { return half_to_float(v); }
};
struct BFloat {
    using Stored = uint16_t;
    static double value(uint16_t v) {
        uint32_t bits = (uint32_t)v << 16;
        float f;
        memcpy(&f, &bits, 4);
        return f;
    }
};

std::string report(size_t bad, size_t n, size_t first, double got, double want) {
    std::ostringstream s;
    s.precision(9);
    s << bad << " of " << n << " elements differ, the first at " << first << ": " << got << ", reference " << want;
    return s.str();
}

// Of how many elements, and more, one may be off by anything if any share may.
constexpr size_t kManyForOne = 100;

// So few that they may be off by anything.
bool strays(size_t bad, size_t n, const Tolerance &t) {
    const double one = t.stray_share > 0 && n >= kManyForOne ? 1 : 0;
    return (double)bad <= std::max(t.stray_share * (double)n, one);
}

// Elements that are looked at together, without a branch between them.
constexpr size_t kBlock = 512;

template<typename Access>
std::string floats(const void *got, const void *want, size_t n, const Tolerance &t, double epsilon) {
    auto *g = (const typename Access::Stored *)got;
    auto *w = (const typename Access::Stored *)want;
    // A type that cannot hold the asked-for precision is held to a few of its own steps.
    const double relative = std::max(t.relative, 8 * epsilon), of_largest = std::max(t.absolute, 8 * epsilon);
    double largest = 0, absolute = 0;
    auto close = [&](size_t i) {
        double a = Access::value(g[i]), b = Access::value(w[i]);
        const double size = std::fabs(b);
        // By the measure of an infinite value everything is close.
        return (a == b) | ((size <= std::numeric_limits<double>::max()) & (std::fabs(a - b) <= absolute + relative * size));
    };
    // What is close by the largest element so far is so by the largest of all.
    std::vector<size_t> doubtful;
    for (size_t begin = 0; begin < n; begin += kBlock) {
        const size_t end = std::min(begin + kBlock, n);
        for (size_t i = begin; i < end; i++) {
            double v = std::fabs(Access::value(w[i]));
            largest = v <= std::numeric_limits<double>::max() && v > largest ? v : largest;
        }
        absolute = of_largest * largest;
        int apart = 0;
        for (size_t i = begin; i < end; i++) apart += !close(i);
        if (apart > 0) doubtful.push_back(begin);
    }
    size_t bad = 0, first = 0;
    for (size_t begin : doubtful) {
        for (size_t i = begin; i < std::min(begin + kBlock, n); i++) {
            bool same = close(i) || (std::isnan(Access::value(g[i])) && std::isnan(Access::value(w[i])));
            if (!same && bad++ == 0) first = i;
        }
    }
    return strays(bad, n, t) ? "" : report(bad, n, first, Access::value(g[first]), Access::value(w[first]));
}

template<typename T>
std::string integers(const void *got, const void *want, size_t n, const Tolerance &t) {
    auto *g = (const T *)got;
    auto *w = (const T *)want;
    double largest = 0;
    for (size_t i = 0; i < n && t.integer_relative > 0; i++) largest = std::max(largest, std::fabs((double)w[i]));
    uint64_t allowed = std::max((uint64_t)t.integer, (uint64_t)(t.integer_relative * largest));
    size_t bad = 0, off = 0, first = 0, first_off = 0;
    for (size_t i = 0; i < n; i++) {
        if (g[i] == w[i]) continue;
        uint64_t apart = g[i] > w[i] ? (uint64_t)g[i] - (uint64_t)w[i] : (uint64_t)w[i] - (uint64_t)g[i];
        if (apart <= (uint64_t)t.integer_every) continue;
        if (off++ == 0) first_off = i;
        if (apart > allowed && bad++ == 0) first = i;
    }
    if (!strays(bad, n, t)) return report(bad, n, first, (double)g[first], (double)w[first]);
    if (strays(off, n, t) || (double)off <= t.integer_share * (double)n) return "";
    return report(off, n, first_off, (double)g[first_off], (double)w[first_off]);
}

}  // namespace

std::string first_difference(halide_type_t type, const void *got, const void *want, size_t n, const Tolerance &t) {
    size_t width = width_of(type);
    if (memcmp(got, want, n * width) == 0) return "";
    if (type.code == halide_type_float) {
        if (type.bits == 64) return floats<Direct<double>>(got, want, n, t, 0x1p-52);
        if (type.bits == 32) return floats<Direct<float>>(got, want, n, t, 0x1p-23);
        return floats<Half>(got, want, n, t, 0x1p-10);
    }
    if (type.code == halide_type_bfloat) return floats<BFloat>(got, want, n, t, 0x1p-7);
    bool is_signed = type.code == halide_type_int;
    switch (width) {
    case 1: return is_signed ? integers<int8_t>(got, want, n, t) : integers<uint8_t>(got, want, n, t);
    case 2: return is_signed ? integers<int16_t>(got, want, n, t) : integers<uint16_t>(got, want, n, t);
    case 4: return is_signed ? integers<int32_t>(got, want, n, t) : integers<uint32_t>(got, want, n, t);
    default: return is_signed ? integers<int64_t>(got, want, n, t) : integers<uint64_t>(got, want, n, t);
    }
}

float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    int exponent = (h >> 10) & 31;
    uint32_t mantissa = h & 1023;
    if (exponent == 0) {
        float f = std::ldexp((float)mantissa, -24);
        return sign ? -f : f;
    }
    uint32_t bits = sign | (exponent == 31 ? 0x7f800000u : (uint32_t)(exponent + 112) << 23) | (mantissa << 13);
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

uint16_t float_to_half(float f) {
    uint16_t sign = std::signbit(f) ? 0x8000 : 0;
    float a = std::fabs(f);
    if (std::isnan(f)) return sign | 0x7e00;
    if (a >= 65520.0f) return sign | 0x7c00;
    if (a < 0x1p-14f) return sign | (uint16_t)std::nearbyint(a * 0x1p24f);
    int e = 0;
    float m = std::frexp(a, &e);  // a = m * 2^e, m in [0.5, 1)
    uint32_t mantissa = (uint32_t)std::nearbyint(m * 2048.0f);
    // A mantissa that rounds up to the next power carries into the exponent by itself.
    return sign | (uint16_t)(((uint32_t)(e + 13) << 10) + mantissa);
}

}  // namespace protuner
