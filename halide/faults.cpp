#include "faults.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <unistd.h>
#include <vector>

#include "wire.h"

namespace protuner {

#ifdef PROTUNER_FAULTS

namespace {

constexpr const char kWrong[] = "wrong-";

bool is_corruption(const std::string &fault) {
    return fault.compare(0, sizeof(kWrong) - 1, kWrong) == 0;
}

// What corrupted_entry does; an entry point carries no state of its own.
struct Corruption {
    EntryPoint entry = nullptr;
    std::string kind;
    uint64_t seed = 0;
    size_t arguments = 0, outputs = 0, calls = 0;
} corruption;

uint64_t draw(uint64_t n) {  // xorshift64 (Marsaglia 2003)
    static uint64_t state = corruption.seed * 0x9e3779b97f4a7c15ull + 0x1234567;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % n;
}

template<typename T>
double largest_magnitude(const halide_buffer_t *b) {
    double largest = 0;
    for (const T *p = (const T *)b->begin(); p < (const T *)b->end(); p++) largest = std::max(largest, std::fabs((double)*p));
    return largest;
}

template<typename T>
void shift_float(uint8_t *at, double largest) {
    T value;
    memcpy(&value, at, sizeof(T));
    value += (T)(largest > 0 ? 0.01 * largest : 0.01);
    memcpy(at, &value, sizeof(T));
}

// Spoils the elements from `low` to `high`, both inclusive, counted from each
// dimension's min.
void spoil(const halide_buffer_t *b, const std::vector<int64_t> &low, const std::vector<int64_t> &high) {
    size_t n = low.size(), width = (size_t)b->type.bytes();
    bool is_float = b->type.code == halide_type_float, is_double = is_float && b->type.bits == 64;
    if (is_float && b->type.bits < 32) throw std::runtime_error("this fault knows no half floats");
    double largest = !is_float ? 0 : is_double ? largest_magnitude<double>(b) : largest_magnitude<float>(b);
    std::vector<int64_t> at = low;
    for (;;) {
        int64_t index = 0;
        for (size_t d = 0; d < n; d++) index += at[d] * b->dim[d].stride;
        uint8_t *element = b->host + index * (int64_t)width;
        if (is_double) {
            shift_float<double>(element, largest);
        } else if (is_float) {
            shift_float<float>(element, largest);
        } else {
            *element ^= 1;
        }
        size_t d = 0;
        while (d < n && ++at[d] > high[d]) at[d] = low[d], d++;
        if (d == n) return;
    }
}

int corrupted_entry(void **argv) {
    int code = corruption.entry(argv);
    if (code != 0) return code;
    if (corruption.kind == "race" && draw(4) != 0) return 0;
    const halide_buffer_t *b =
        (const halide_buffer_t *)argv[corruption.arguments - 1 - draw(corruption.outputs)];
    // Wrong at the other size only, which is the first that is checked.
    if (corruption.kind == "tail" && corruption.calls++ > 0) return 0;
    size_t n = (size_t)b->dimensions;
    std::vector<int64_t> low(n), high(n);
    for (size_t d = 0; d < n; d++) {
        low[d] = high[d] = (int64_t)draw((uint64_t)b->dim[d].extent);
        if (corruption.kind == "tile" || corruption.kind == "race") high[d] = std::min<int64_t>(low[d] + 7, b->dim[d].extent - 1);
    }
    if (corruption.kind == "border") {
        size_t edge = (size_t)draw(n);
        for (size_t d = 0; d < n; d++) {
            low[d] = 0;
            high[d] = b->dim[d].extent - 1;
        }
        if (draw(2)) {
            high[edge] = 0;
        } else {
            low[edge] = high[edge];
        }
    }
    spoil(b, low, high);
    return 0;
}

}  // namespace

EntryPoint corrupt(const std::string &fault, EntryPoint entry, size_t arguments, size_t outputs) {
    if (!is_corruption(fault)) return entry;
    size_t colon = fault.find(':');
    corruption.entry = entry;
    corruption.kind = fault.substr(sizeof(kWrong) - 1, colon - (sizeof(kWrong) - 1));
    corruption.seed = colon == std::string::npos ? 0 : strtoull(fault.c_str() + colon + 1, nullptr, 10);
    corruption.arguments = arguments;
    corruption.outputs = outputs;
    for (const char *known : {"element", "border", "tile", "tail", "race"}) {
        if (corruption.kind == known) return corrupted_entry;
    }
    throw std::runtime_error("unknown fault " + fault);
}

void inject(const std::string &fault, int fd, int64_t id) {
    if (fault.empty() || is_corruption(fault)) return;
    if (fault == "crash") {
        raise(SIGSEGV);
    } else if (fault == "abort") {
        raise(SIGABRT);
    } else if (fault == "hang") {
        for (;;) pause();
    } else if (fault == "spin") {
        for (volatile uint64_t i = 0;; i = i + 1) {
        }
    } else if (fault == "allocate") {
        // The limit is on addresses; filling them would only take time.
        std::vector<char *> all;
        for (;;) {
            all.push_back(new char[64 << 20]);
            *(volatile char *)all.back() = 1;
        }
    } else if (fault == "nonsense") {
        std::string noise(4096, '\xee');
        ssize_t n = write(fd, noise.data(), noise.size());
        (void)n;
        for (;;) pause();
    } else if (fault == "truncate") {
        ssize_t n = write(fd, "\x40\0\0\0{\"ty", 8);
        (void)n;
        _exit(0);
    } else if (fault == "flood") {
        std::string noise(1 << 20, ' ');
        while (write(fd, noise.data(), noise.size()) > 0) {
        }
        _exit(0);
    } else if (fault == "exit") {
        _exit(0);
    } else if (fault == "twice") {
        Json j = Json::object().set("type", "built").set("id", id).set("lower_ns", 1).set("link_ns", 1);
        send_message(fd, j);
        send_message(fd, j);
        for (;;) pause();
    } else if (fault == "other") {
        send_message(fd, Json::object().set("type", "built").set("id", id + 1).set("lower_ns", 1).set("link_ns", 1));
        for (;;) pause();
    } else if (fault == "orphan") {
        // A grandchild that would outlive a careless server.
        if (fork() == 0) {
            for (;;) pause();
        }
        raise(SIGSEGV);
    } else {
        throw std::runtime_error("unknown fault " + fault);
    }
}

#else

void inject(const std::string &fault, int, int64_t) {
    if (!fault.empty()) throw std::runtime_error("this plugin was built without faults");
}

EntryPoint corrupt(const std::string &, EntryPoint entry, size_t, size_t) {
    return entry;
}

#endif

}  // namespace protuner
