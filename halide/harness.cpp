#include "harness.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare.h"
#include "failure.h"
#include "fill.h"

namespace protuner {

namespace {

// Wider than any vector, so that an overrun by one store is seen.
constexpr size_t kGuard = 256;
// Rows of a tile that is not full, as far as that goes: what is beyond breaks the heap.
constexpr size_t kBeside = 4096;
// As a number of any type so small that what is added to it shows.
constexpr uint8_t kGuardByte = 3;
// Halide's own Buffer aligns to 128 bytes; timings of ahead-of-time builds rest on it.
constexpr size_t kAlignment = 128;
static_assert(kAlignment <= kGuard, "guarded_free takes the zone for where the memory begins");
// As large as any machine's pages: who promises more is told that it does not hold.
constexpr size_t kMostAlignment = 1 << 16;

// Of the buffers that are made from here on. No more than this pipeline asks for: arrays
// that all begin with a page are in each other's way in the caches.
size_t buffer_alignment = kAlignment;

// What the pipeline said last; any of its threads may say it.
std::mutex error_mutex;
std::string error_message;

void remember_error(void *, const char *message) {
    std::lock_guard<std::mutex> lock(error_mutex);
    if (error_message.empty()) error_message = message;
}

// Brings malloc into the state it is in where a large image was freed before. Until then
// glibc gives what is larger than 128 kB, or whatever was freed so far, back to the system
// each time, and a pipeline that allocates as much for every task pays for the pages anew:
// up to a quarter of camera_pipe's time. How large what was freed so far is would depend on
// the checks that came before, which are not the same for all that is compared.
void keep_memory() {
    // Through a volatile, for a compiler may leave out what is only allocated and freed.
    void *volatile image = malloc(31 << 20);
    free(image);
}

std::atomic<bool> overrun;

// Compares each byte with the next, many at once: executions that are timed pay for it.
bool is_intact(const uint8_t *at, size_t n) {
    return *at == kGuardByte && memcmp(at, at + 1, n - 1) == 0;
}

// How far before data of that alignment the memory begins that free is given.
size_t room_before(size_t alignment) {
    return std::max(kGuard, alignment);
}

// So many bytes between a zone of kGuard and one of `after`; null where there is no memory.
uint8_t *between_zones(size_t n, size_t after, size_t alignment) {
    const size_t before = room_before(alignment);
    size_t whole = (before + n + after + alignment - 1) / alignment * alignment;
    auto *memory = (uint8_t *)aligned_alloc(alignment, whole);
    if (!memory) return nullptr;
    uint8_t *data = memory + before;
    memset(data - kGuard, kGuardByte, kGuard);
    memset(data + n, kGuardByte, after);
    return data;
}

// The zone before it begins with the size.
void *guarded_malloc(void *, size_t n) {
    uint8_t *data = between_zones(n, kBeside, kAlignment);
    if (data) memcpy(data - kGuard, &n, sizeof n);
    return data;
}

void guarded_free(void *, void *p) {
    if (!p) return;
    uint8_t *memory = (uint8_t *)p - kGuard;
    size_t n;
    memcpy(&n, memory, sizeof n);
    // The size is not to be trusted where what stands beside it is not.
    if (!is_intact(memory + sizeof n, kGuard - sizeof n) || !is_intact((uint8_t *)p + n, kBeside)) overrun = true;
    free(memory);
}

[[noreturn]] void fail(int code) {
    std::lock_guard<std::mutex> lock(error_mutex);
    throw RunError(code, error_message.empty() ? "Halide's error " + std::to_string(code) : error_message);
}

}  // namespace

void Argument::set_scalar(double real, int64_t whole) {
    scalar = 0;
    store_element(type, (uint8_t *)&scalar, real, whole);
}

std::vector<uint8_t> Argument::scalar_bytes() const {
    std::vector<uint8_t> bytes(sizeof scalar);
    memcpy(bytes.data(), &scalar, sizeof scalar);
    return bytes;
}

void call(EntryPoint entry, std::vector<void *> &argv) {
    int code = entry(argv.data());
    if (code != 0) fail(code);
}

int64_t execute(EntryPoint entry, std::vector<void *> &argv, const Buffers &inputs, const Buffers &outputs) {
    using clock = std::chrono::steady_clock;
    for (;;) {
        try {
            auto start = clock::now();
            call(entry, argv);
            auto end = clock::now();
            return std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count();
        } catch (const RunError &e) {
            if (e.code != halide_error_code_unaligned_host_ptr || buffer_alignment == kMostAlignment) throw;
        }
        forget_error();
        buffer_alignment *= 2;
        for (const Buffers *all : {&inputs, &outputs}) {
            for (const auto &buffer : *all) {
                if (buffer) buffer->realign();
            }
        }
    }
}

void forget_error() {
    std::lock_guard<std::mutex> lock(error_mutex);
    error_message.clear();
}

void catch_errors(void *library) {
    using Handler = void (*)(void *, const char *);
    auto set = (Handler(*)(Handler))dlsym(library, "halide_set_error_handler");
    if (set) set(remember_error);
}

GuardedMemory::GuardedMemory(void *library)
    : set_malloc_((Malloc(*)(Malloc))dlsym(library, "halide_set_custom_malloc")),
      set_free_((Free(*)(Free))dlsym(library, "halide_set_custom_free")),
      forget_memoized_((void (*)())dlsym(library, "halide_memoization_cache_cleanup")) {
    overrun = false;
    if (!set_malloc_ || !set_free_) return;
    if (forget_memoized_) forget_memoized_();
    malloc_ = set_malloc_(guarded_malloc);
    free_ = set_free_(guarded_free);
}

GuardedMemory::~GuardedMemory() {
    if (!malloc_) return;
    if (forget_memoized_) forget_memoized_();
    set_malloc_(malloc_);
    set_free_(free_);
}

bool GuardedMemory::intact() const {
    return !overrun;
}

std::vector<int64_t> Layout::strides(const std::vector<int64_t> &extents, int64_t *all) const {
    std::vector<int64_t> out(extents.size());
    *all = 1;
    for (int d : order) {
        out[d] = std::max(*all, least[d]);
        *all = out[d] * extents[d];
    }
    return out;
}

GuardedBuffer::GuardedBuffer(halide_type_t type, const std::vector<int64_t> &mins, const std::vector<int64_t> &extents,
                             const Layout &layout) {
    dims_.resize(extents.size());
    int64_t all;
    std::vector<int64_t> strides = layout.strides(extents, &all);
    for (size_t d = 0; d < extents.size(); d++) {
        dims_[d].min = (int32_t)mins[d];
        dims_[d].extent = (int32_t)extents[d];
        dims_[d].stride = (int32_t)strides[d];
    }
    bytes_ = (size_t)all * width_of(type);
    buffer_.type = type;
    buffer_.dimensions = (int32_t)dims_.size();
    buffer_.dim = dims_.data();
    realign();
}

GuardedBuffer::~GuardedBuffer() {
    free(data_ - room_before(alignment_));
}

void GuardedBuffer::realign() {
    uint8_t *data = between_zones(bytes_, kGuard, buffer_alignment);
    if (!data) throw std::bad_alloc();
    if (data_) {
        memcpy(data, data_, bytes_);
        free(data_ - room_before(alignment_));
    }
    buffer_.host = data_ = data;
    alignment_ = buffer_alignment;
}

bool GuardedBuffer::guards_intact() const {
    return is_intact(data_ - kGuard, kGuard) && is_intact(data_ + bytes_, kGuard);
}

Tolerance Tolerance::from_json(const Json &j) {
    Tolerance t;
    t.relative = j.double_or("relative", t.relative);
    t.absolute = j.double_or("absolute", t.absolute);
    t.integer_every = j.int_or("integer_every", t.integer_every);
    t.integer = j.int_or("integer", t.integer);
    t.integer_relative = j.double_or("integer_relative", t.integer_relative);
    t.integer_share = j.double_or("integer_share", t.integer_share);
    t.stray_share = j.double_or("stray_share", t.stray_share);
    return t;
}

TimingProtocol TimingProtocol::from_json(const Json &j) {
    TimingProtocol p;
    p.min_total_ns = j.int_or("min_total_ns", p.min_total_ns);
    p.min_samples = j.int_or("min_samples", p.min_samples);
    p.max_samples = j.int_or("max_samples", p.max_samples);
    p.give_up_ns = j.int_or("give_up_ns", p.give_up_ns);
    return p;
}

Bench::Bench(void *library, EntryPoint entry, const DataSet &data) : library_(library), entry_(entry), data_(data) {
    keep_memory();
    int fd = open(data.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw Failure(status::infra_failed, "cannot open the data set " + data.path + ": " + strerror(errno));
    struct stat st = {};
    fstat(fd, &st);
    file_bytes_ = (size_t)st.st_size;
    void *map = mmap(nullptr, file_bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED) throw Failure(errno == ENOMEM ? status::out_of_memory : status::infra_failed, "cannot map the data set " + data.path + ": " + strerror(errno));
    file_ = (uint8_t *)map;

    size_t n = data.slots.size();
    scalars_.resize(n);
    inputs_.resize(n);
    outputs_.resize(n);
    argv_.resize(n);
    for (size_t i = 0; i < n; i++) {
        const auto &slot = data.slots[i];
        const Argument &a = slot.argument;
        if (!a.buffer) {
            scalars_[i] = a.scalar_bytes();
            argv_[i] = scalars_[i].data();
        } else if (!a.output) {
            // A private copy in written memory: a mapping's pages would be shared and
            // placed differently from what the pipeline's users allocate.
            std::vector<int64_t> mins = a.mins, extents = a.extents;
            for (size_t d = 0; d < slot.below.size(); d++) {
                mins[d] -= slot.below[d];
                extents[d] += slot.below[d] + slot.above[d];
            }
            inputs_[i] = std::make_unique<GuardedBuffer>(a.type, mins, extents, slot.layout);
            copy_input(slot, *inputs_[i]);
            argv_[i] = inputs_[i]->raw();
        }
    }
}

Bench::~Bench() {
    if (file_) munmap(file_, file_bytes_);
}

void Bench::copy_input(const DataSet::Slot &slot, GuardedBuffer &buffer) {
    if (slot.offset >= 0 && slot.below.empty()) {
        memcpy(buffer.data(), file_ + slot.offset, buffer.bytes());
        return;
    }
    memset(buffer.data(), 0, buffer.bytes());
    if (slot.offset < 0) return;
    // Line by line along the innermost dimension.
    const Argument &a = slot.argument;
    const size_t width = width_of(a.type);
    const halide_buffer_t *raw = buffer.raw();
    int64_t all;
    const std::vector<int64_t> strides = slot.layout.strides(a.extents, &all);
    const int inner = slot.layout.order[0];
    const int64_t step = strides[inner];  // as in the buffer, which is longer outside only
    std::vector<int64_t> position(a.extents.size(), 0);
    for (;;) {
        int64_t from = 0, to = 0;
        for (size_t d = 0; d < position.size(); d++) {
            from += position[d] * strides[d];
            to += (position[d] + slot.below[d]) * raw->dim[d].stride;
        }
        memcpy(buffer.data() + (size_t)to * width, file_ + slot.offset + (size_t)from * width,
               (size_t)((a.extents[inner] - 1) * step + 1) * width);
        size_t k = 1;
        for (; k < slot.layout.order.size(); k++) {
            int d = slot.layout.order[k];
            if (++position[d] < a.extents[d]) break;
            position[d] = 0;
        }
        if (k == slot.layout.order.size()) return;
    }
}

bool Bench::input_intact(const DataSet::Slot &slot, const GuardedBuffer &buffer) const {
    if (!buffer.guards_intact()) return false;
    if (slot.offset < 0 || !slot.below.empty()) return true;  // nothing to compare with
    return memcmp(buffer.data(), file_ + slot.offset, buffer.bytes()) == 0;
}

void Bench::allocate(size_t size) {
    if (size == size_) return;
    size_ = size;
    for (size_t i = 0; i < data_.slots.size(); i++) {
        const auto &slot = data_.slots[i];
        if (!slot.argument.output) continue;
        const auto &r = slot.regions[size];
        outputs_[i] = std::make_unique<GuardedBuffer>(slot.argument.type, r.mins, r.extents, slot.layout);
        if (!slot.argument.in_place) poison(slot, r, *outputs_[i]);
        argv_[i] = outputs_[i]->raw();
    }
}

namespace {

// Floats become NaN, or 0 where the truth is NaN; other types get the truth with its top bit
// flipped, half of the type's range away. infinity is the type's bit pattern of it, 0 for types
// that are no floats.
template<typename Bits>
void spoil(const uint8_t *truth, uint8_t *out, size_t n, Bits infinity) {
    constexpr Bits top = (Bits)((Bits)1 << (8 * sizeof(Bits) - 1));
    for (size_t i = 0; i < n; i++) {
        Bits bits;
        memcpy(&bits, truth + i * sizeof bits, sizeof bits);
        const bool number = (Bits)(bits & (Bits)~top) <= infinity;
        bits = infinity == 0 ? (Bits)(bits ^ top) : number ? (Bits)~(Bits)0 : (Bits)0;
        memcpy(out + i * sizeof bits, &bits, sizeof bits);
    }
}

void spoil(halide_type_t type, const uint8_t *truth, uint8_t *out, size_t n) {
    const bool floats = type.code == halide_type_float, brain = type.code == halide_type_bfloat;
    switch (width_of(type)) {
    case 1: return spoil<uint8_t>(truth, out, n, 0);
    case 2: return spoil<uint16_t>(truth, out, n, floats ? 0x7c00 : brain ? 0x7f80 : 0);
    case 4: return spoil<uint32_t>(truth, out, n, floats ? 0x7f800000 : 0);
    default: return spoil<uint64_t>(truth, out, n, floats ? 0x7ff0000000000000 : 0);
    }
}

}  // namespace

// An element that is never written is further off than rounding explains, as is what is written
// between elements. Only strays (Tolerance) let one pass, and an integer_every of half of what the
// type holds.
void Bench::poison(const DataSet::Slot &slot, const DataSet::Region &r, GuardedBuffer &out) const {
    const halide_type_t type = slot.argument.type;
    const size_t width = width_of(type);
    const uint8_t *truth = file_ + r.offset;
    size_t n = 1;
    for (int64_t e : r.extents) n *= (size_t)e;
    if (n * width == out.bytes()) return spoil(type, truth, out.data(), n);
    out.clear();
    each_element(r.extents, slot.layout, [&](int64_t, size_t element) {
        spoil(type, truth + element * width, out.data() + element * width, 1);
    });
}

CheckResult Bench::compare(const Tolerance &tolerance) const {
    for (size_t i = 0; i < data_.slots.size(); i++) {
        const auto &slot = data_.slots[i];
        if (slot.argument.buffer && !slot.argument.output && !input_intact(slot, *inputs_[i])) {
            return {false, slot.argument.name + ": an input was written to"};
        }
    }
    return compare_outputs(tolerance);
}

CheckResult Bench::compare_outputs(const Tolerance &tolerance) const {
    if (!intact_) return {false, "what is computed in between is written outside its memory"};
    for (size_t i = 0; i < data_.slots.size(); i++) {
        const auto &slot = data_.slots[i];
        if (!slot.argument.output) continue;
        if (!outputs_[i]->guards_intact()) return {false, slot.argument.name + ": written outside the buffer"};
        const auto &r = slot.regions[size_];
        auto bad = first_difference(slot.argument.type, outputs_[i]->data(), file_ + r.offset,
                                    outputs_[i]->bytes() / width_of(slot.argument.type), tolerance);
        if (!bad.empty()) return {false, slot.argument.name + " at size " + std::to_string(size_) + ": " + bad};
    }
    return {};
}

int64_t Bench::once() {
    for (size_t i = 0; i < data_.slots.size(); i++) {
        if (data_.slots[i].argument.in_place) outputs_[i]->clear();
    }
    return execute(entry_, argv_, inputs_, outputs_);
}

int64_t Bench::once_guarded() {
    GuardedMemory memory(library_);
    int64_t ns = once();
    intact_ = intact_ && memory.intact();
    return ns;
}

void Bench::once_smaller() {
    for (size_t size = 1;; size++) {
        allocate(size);
        try {
            once_guarded();
            return;
        } catch (const RunError &) {
            if (size + 1 >= data_.sizes) throw;
            forget_error();
        }
    }
}

std::vector<int64_t> Bench::time(const TimingProtocol &p, int64_t first) {
    int64_t total = 0, best = INT64_MAX;
    std::vector<int64_t> samples;
    auto take = [&](int64_t ns) {
        samples.push_back(ns);
        total += ns;
        best = std::min(best, ns);
    };
    // The first execution finds caches cold and has the pages of its memory made, which can
    // take several times as long as all else, if not more than ten milliseconds for what is
    // kept (keep_memory). It is a sample only where it is as long as all of them should be
    // together; who is far too slow is told by the second, or by the first where that is twice
    // as long. Caches stay cold for some time in short ones.
    const int64_t warm = p.min_total_ns / 10;
    const bool counts = first >= p.min_total_ns;
    const int64_t far = counts ? p.give_up_ns / 3 * 4 : p.give_up_ns * 2;
    if (counts) take(first);
    if (p.give_up_ns > 0 && first >= 2 * p.min_total_ns && first > far) return samples;
    // Of executions that long two that agree are as good as three.
    auto agree = [&] {
        return counts && samples.size() == 2 && std::abs(samples[0] - samples[1]) <= best / 50;
    };
    while ((int64_t)samples.size() < p.max_samples &&
           (total < p.min_total_ns || (int64_t)samples.size() < p.min_samples) && !agree()) {
        take(once());
        if (p.give_up_ns > 0 && total >= warm && best > (samples.size() == 1 ? far : p.give_up_ns)) break;
    }
    return samples;
}

}  // namespace protuner
