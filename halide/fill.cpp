#include "fill.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "compare.h"
#include "failure.h"

namespace protuner {

namespace {

uint64_t mix(uint64_t x) {  // SplitMix64's output function (Steele, Lea, Flood 2014)
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

uint64_t hash_name(const std::string &s) {
    uint64_t h = 1469598103934665603ull;  // FNV-1a
    for (unsigned char c : s) h = (h ^ c) * 1099511628211ull;
    return h;
}

void fill_random(const Argument &a, const std::string &rule, const Layout &layout, uint8_t *data) {
    char *end = nullptr;
    uint64_t base = mix(strtoull(rule.c_str(), &end, 10) ^ hash_name(a.name));
    // A type of 16 bits or fewer has as many, wider ones 16 that are not negative.
    int bits = *end == ':' ? atoi(end + 1) : std::min<int>(a.type.bits, 16);
    int above = 64 - bits;
    size_t width = width_of(a.type);
    bool is_signed = a.type.code == halide_type_int && (*end == ':' || bits == a.type.bits);
    each_element(a.extents, layout, [&](int64_t i, size_t at) {
        uint64_t r = mix(base + (uint64_t)i);
        int64_t whole = is_signed ? (int64_t)(r << above) >> above : (int64_t)(r << above >> above);
        store_element(a.type, data + at * width, (double)(r >> 11) * 0x1p-53, whole);
    });
}

void fill_raw(const Argument &a, const std::string &path, const Layout &layout, uint8_t *data) {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> raw((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (!in.good() && !in.eof()) throw Failure(status::infra_failed, "input " + a.name + ": cannot read " + path);
    size_t width = width_of(a.type), bytes = width;
    for (int64_t e : a.extents) bytes *= (size_t)e;
    if (raw.size() != bytes) {
        throw std::runtime_error("input " + a.name + ": " + path + " has " + std::to_string(raw.size()) +
                                 " bytes, " + std::to_string(bytes) + " are needed");
    }
    each_element(a.extents, layout, [&](int64_t i, size_t at) { memcpy(data + at * width, raw.data() + (size_t)i * width, width); });
}

}  // namespace

void fill_input(const Argument &a, const Layout &layout, uint8_t *data) {
    size_t colon = a.fill.find(':');
    std::string rule = a.fill.substr(0, colon), value = colon == std::string::npos ? "" : a.fill.substr(colon + 1);
    if (rule == "random") {
        fill_random(a, value, layout, data);
    } else if (rule == "constant") {
        double v = strtod(value.c_str(), nullptr);
        each_element(a.extents, layout, [&](int64_t, size_t at) {
            store_element(a.type, data + at * width_of(a.type), v, whole_number(value));
        });
    } else if (rule == "raw") {
        fill_raw(a, value, layout, data);
    } else {
        throw std::runtime_error("input " + a.name + ": unknown fill " + a.fill);
    }
}

int64_t whole_number(const std::string &text) {
    return text[0] == '-' ? strtoll(text.c_str(), nullptr, 10) : (int64_t)strtoull(text.c_str(), nullptr, 10);
}

void store_element(halide_type_t type, uint8_t *at, double real, int64_t whole) {
    if (type.code == halide_type_float && type.bits == 64) {
        memcpy(at, &real, 8);
    } else if (type.code == halide_type_float && type.bits == 32) {
        float f = (float)real;
        memcpy(at, &f, 4);
    } else if (type.code == halide_type_float) {
        uint16_t h = float_to_half((float)real);
        memcpy(at, &h, 2);
    } else if (type.code == halide_type_bfloat) {
        float f = (float)real;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        uint16_t h = (uint16_t)(bits >> 16);
        memcpy(at, &h, 2);
    } else {
        memcpy(at, &whole, width_of(type));
    }
}

}  // namespace protuner
