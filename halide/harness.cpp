#include "harness.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <numeric>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare.h"
#include "fill.h"

namespace protuner {

namespace {

// Wider than any vector, so that an overrun by one store is seen.
constexpr size_t kGuard = 256;
constexpr uint8_t kGuardByte = 0x5a;
// Halide's own Buffer aligns to 128 bytes; timings of ahead-of-time builds rest on it.
constexpr size_t kAlignment = 128;
// Dimensions shorter than this keep their extent at the second size: they are
// channels or kernels, which algorithms take as given.
constexpr int64_t kCropFrom = 32;
// What is left of an extent that tiles divide is then divided by no tile of four or
// more, but still even, which some algorithms need.
constexpr int64_t kCrop = 10;

size_t element_count(const std::vector<int64_t> &extents) {
    size_t n = 1;
    for (int64_t e : extents) n *= (size_t)e;
    return n;
}

std::vector<uint8_t> scalar_bytes(const Argument &a) {
    std::vector<uint8_t> bytes(8, 0);
    if (a.type.code == halide_type_float && a.type.bits == 32) {
        float f = (float)a.value;
        memcpy(bytes.data(), &f, 4);
    } else if (a.type.code == halide_type_float && a.type.bits == 64) {
        memcpy(bytes.data(), &a.value, 8);
    } else {
        memcpy(bytes.data(), &a.int_value, 8);  // little-endian: the low bytes serve any width
    }
    return bytes;
}

// What the pipeline said last; any of its threads may say it.
std::mutex error_mutex;
std::string error_message;

void remember_error(void *, const char *message) {
    std::lock_guard<std::mutex> lock(error_mutex);
    if (error_message.empty()) error_message = message;
}

void forget_error() {
    std::lock_guard<std::mutex> lock(error_mutex);
    error_message.clear();
}

[[noreturn]] void fail(int code) {
    std::lock_guard<std::mutex> lock(error_mutex);
    throw RunError(code, error_message.empty() ? "Halide's error " + std::to_string(code) : error_message);
}

void checked_call(EntryPoint entry, std::vector<void *> &argv) {
    int code = entry(argv.data());
    if (code != 0) fail(code);
}

}  // namespace

void catch_errors(void *library) {
    using Handler = void (*)(void *, const char *);
    auto set = (Handler(*)(Handler))dlsym(library, "halide_set_error_handler");
    if (set) set(remember_error);
}

DenseBuffer::DenseBuffer(halide_type_t type, const std::vector<int64_t> &mins, const std::vector<int64_t> &extents,
                         const std::vector<int> &order) {
    dims_.resize(extents.size());
    int64_t stride = 1;
    for (int d : order) {
        dims_[d].min = (int32_t)mins[d];
        dims_[d].extent = (int32_t)extents[d];
        dims_[d].stride = (int32_t)stride;
        stride *= extents[d];
    }
    bytes_ = (size_t)stride * ((type.bits + 7) / 8);
    size_t whole = (bytes_ + 2 * kGuard + kAlignment - 1) / kAlignment * kAlignment;
    memory_ = (uint8_t *)aligned_alloc(kAlignment, whole);
    if (!memory_) throw std::bad_alloc();
    data_ = memory_ + kGuard;
    memset(memory_, kGuardByte, kGuard);
    memset(data_ + bytes_, kGuardByte, kGuard);
    buffer_.host = data_;
    buffer_.type = type;
    buffer_.dimensions = (int32_t)dims_.size();
    buffer_.dim = dims_.data();
}

DenseBuffer::~DenseBuffer() {
    free(memory_);
}

bool DenseBuffer::guards_intact() const {
    for (size_t i = 0; i < kGuard; i++) {
        if (memory_[i] != kGuardByte || data_[bytes_ + i] != kGuardByte) return false;
    }
    return true;
}

Tolerance Tolerance::from_json(const Json &j) {
    Tolerance t;
    t.relative = j.double_or("relative", t.relative);
    t.absolute = j.double_or("absolute", t.absolute);
    t.integer = j.int_or("integer", t.integer);
    t.integer_share = j.double_or("integer_share", t.integer_share);
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

Bench::Bench(EntryPoint entry, const DataSet &data) : entry_(entry), data_(data) {
    int fd = open(data.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw std::runtime_error("cannot open the data set " + data.path);
    struct stat st = {};
    fstat(fd, &st);
    file_bytes_ = (size_t)st.st_size;
    void *map = mmap(nullptr, file_bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED) throw std::runtime_error("cannot map the data set " + data.path);
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
            scalars_[i] = scalar_bytes(a);
            argv_[i] = scalars_[i].data();
        } else if (!a.output) {
            // A private copy in written memory: a mapping's pages would be shared and
            // placed differently from what the pipeline's users allocate.
            std::vector<int64_t> mins = a.mins, extents = a.extents;
            for (size_t d = 0; d < slot.below.size(); d++) {
                mins[d] -= slot.below[d];
                extents[d] += slot.below[d] + slot.above[d];
            }
            inputs_[i] = std::make_unique<DenseBuffer>(a.type, mins, extents, slot.order);
            copy_input(slot, *inputs_[i]);
            argv_[i] = inputs_[i]->raw();
        }
    }
}

Bench::~Bench() {
    if (file_) munmap(file_, file_bytes_);
}

void Bench::copy_input(const DataSet::Slot &slot, DenseBuffer &buffer) {
    if (slot.offset >= 0 && slot.below.empty()) {
        memcpy(buffer.data(), file_ + slot.offset, buffer.bytes());
        return;
    }
    memset(buffer.data(), 0, buffer.bytes());
    if (slot.offset < 0) return;
    // Line by line along the innermost dimension.
    const Argument &a = slot.argument;
    size_t width = (a.type.bits + 7) / 8;
    const halide_buffer_t *raw = buffer.raw();
    int inner = slot.order[0];
    size_t line = (size_t)a.extents[inner] * width;
    std::vector<int64_t> position(a.extents.size(), 0);
    for (const uint8_t *from = file_ + slot.offset;; from += line) {
        int64_t at = 0;
        for (size_t d = 0; d < position.size(); d++) at += (position[d] + slot.below[d]) * raw->dim[d].stride;
        memcpy(buffer.data() + (size_t)at * width, from, line);
        size_t k = 1;
        for (; k < slot.order.size(); k++) {
            int d = slot.order[k];
            if (++position[d] < a.extents[d]) break;
            position[d] = 0;
        }
        if (k == slot.order.size()) return;
    }
}

bool Bench::input_intact(const DataSet::Slot &slot, const DenseBuffer &buffer) const {
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
        outputs_[i] = std::make_unique<DenseBuffer>(slot.argument.type, r.mins, r.extents, slot.order);
        // The complement of the truth: an element that is never written cannot pass.
        poison(outputs_[i]->data(), file_ + r.offset, outputs_[i]->bytes());
        argv_[i] = outputs_[i]->raw();
    }
}

void Bench::poison(uint8_t *out, const uint8_t *truth, size_t n) {
    for (size_t b = 0; b < n; b++) out[b] = (uint8_t)~truth[b];
}

CheckResult Bench::compare(const Tolerance &tolerance) const {
    for (size_t i = 0; i < data_.slots.size(); i++) {
        const auto &slot = data_.slots[i];
        if (slot.argument.output) {
            if (!outputs_[i]->guards_intact()) return {false, slot.argument.name + ": written outside the buffer"};
            const auto &r = slot.regions[size_];
            auto bad = first_difference(slot.argument.type, outputs_[i]->data(), file_ + r.offset,
                                        element_count(r.extents), tolerance);
            if (!bad.empty()) return {false, slot.argument.name + " at size " + std::to_string(size_) + ": " + bad};
        } else if (slot.argument.buffer && !input_intact(slot, *inputs_[i])) {
            return {false, slot.argument.name + ": an input was written to"};
        }
    }
    return {};
}

int64_t Bench::once() {
    using clock = std::chrono::steady_clock;
    auto start = clock::now();
    int code = entry_(argv_.data());
    auto end = clock::now();
    if (code != 0) fail(code);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count();
}

std::vector<int64_t> Bench::time(const TimingProtocol &p, int64_t first) {
    int64_t total = 0, best = INT64_MAX;
    std::vector<int64_t> samples;
    auto take = [&](int64_t ns) {
        samples.push_back(ns);
        total += ns;
        best = std::min(best, ns);
    };
    // The first execution finds caches cold. That does not show in one as long as all
    // samples should be together, which is then the first of them.
    bool counts = first >= p.min_total_ns;
    bool hopeless = p.give_up_ns > 0 && first > (counts ? p.give_up_ns / 3 * 4 : p.give_up_ns * 2);
    if (counts || hopeless) take(first);
    if (hopeless) return samples;
    // Of executions that long two that agree are as good as three.
    auto agree = [&] {
        return counts && samples.size() == 2 && std::abs(samples[0] - samples[1]) <= best / 50;
    };
    while ((int64_t)samples.size() < p.max_samples &&
           (total < p.min_total_ns || (int64_t)samples.size() < p.min_samples) && !agree()) {
        take(once());
        if (p.give_up_ns > 0 && samples.size() >= 2 && best > p.give_up_ns) break;
    }
    return samples;
}

namespace {

// A pipeline called with buffers that have no memory writes into them which region
// and strides it needs, and computes nothing.
struct Query {
    std::vector<std::vector<halide_dimension_t>> dims;
    std::vector<halide_buffer_t> buffers;
};

Query query_bounds(EntryPoint entry, const std::vector<Argument> &arguments, std::vector<std::vector<uint8_t>> &scalars) {
    Query q;
    q.dims.resize(arguments.size());
    q.buffers.resize(arguments.size());
    std::vector<void *> argv(arguments.size());
    for (size_t i = 0; i < arguments.size(); i++) {
        const Argument &a = arguments[i];
        if (!a.buffer) {
            argv[i] = scalars[i].data();
            continue;
        }
        q.dims[i].resize(a.extents.size());
        int64_t stride = 1;
        for (size_t d = 0; d < a.extents.size(); d++) {
            q.dims[i][d].min = (int32_t)a.mins[d];
            q.dims[i][d].extent = (int32_t)a.extents[d];
            q.dims[i][d].stride = (int32_t)stride;
            stride *= a.extents[d];
        }
        q.buffers[i].type = a.type;
        q.buffers[i].dimensions = (int32_t)a.extents.size();
        q.buffers[i].dim = q.dims[i].data();
        argv[i] = &q.buffers[i];
    }
    checked_call(entry, argv);
    return q;
}

std::vector<int> storage_order(const std::vector<halide_dimension_t> &dims) {
    std::vector<int> order(dims.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return dims[a].stride < dims[b].stride; });
    return order;
}

DataSet::Region whole_region(const Argument &a) {
    DataSet::Region r;
    r.mins = a.mins;
    r.extents = a.extents;
    return r;
}

// Dimensions of outputs by number, those of all outputs alike.
using Dimensions = std::vector<size_t>;

DataSet::Region cropped_region(const Argument &a, const Dimensions &dimensions) {
    DataSet::Region r = whole_region(a);
    for (size_t d : dimensions) {
        if (d < r.extents.size() && r.extents[d] >= kCropFrom) r.extents[d] -= kCrop;
    }
    return r;
}

// Page-aligned, so that nothing of one buffer shares a page with another.
int64_t next_offset(int64_t offset, int64_t bytes) {
    return (offset + bytes + 4095) / 4096 * 4096;
}

void write_at(int fd, int64_t offset, const uint8_t *data, size_t bytes, const std::string &path) {
    while (bytes > 0) {
        ssize_t k = pwrite(fd, data, bytes, offset);
        if (k <= 0) throw std::runtime_error("cannot write the data set " + path + ": " + strerror(errno));
        data += k;
        bytes -= (size_t)k;
        offset += k;
    }
}

}  // namespace

namespace {

// The reference at work: inputs that are filled once, outputs made for each size.
class Maker {
public:
    Maker(EntryPoint entry, const std::vector<Argument> &arguments, const std::string &path)
        : entry_(entry), argv_(arguments.size()), inputs_(arguments.size()) {
        set.path = path;
        for (const Argument &a : arguments) scalars_.push_back(scalar_bytes(a));
        // Constraints on the outputs count for more than estimates that contradict them.
        std::vector<Argument> constrained = arguments;
        Query q = query_bounds(entry, constrained, scalars_);
        for (size_t i = 0; i < constrained.size(); i++) {
            for (size_t d = 0; constrained[i].output && d < q.dims[i].size(); d++) {
                constrained[i].mins[d] = q.dims[i][d].min;
                constrained[i].extents[d] = q.dims[i][d].extent;
            }
        }
        q = query_bounds(entry, constrained, scalars_);
        fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd_ < 0) throw std::runtime_error("cannot write the data set " + path + ": " + strerror(errno));
        for (size_t i = 0; i < constrained.size(); i++) {
            DataSet::Slot slot;
            slot.argument = constrained[i];
            if (!slot.argument.buffer) {
                argv_[i] = scalars_[i].data();
            } else {
                slot.order = storage_order(q.dims[i]);
                if (!slot.argument.output) input(slot, q.dims[i], i);
            }
            set.slots.push_back(std::move(slot));
        }
    }
    ~Maker() {
        if (fd_ >= 0) close(fd_);
    }
    Maker(const Maker &) = delete;
    Maker &operator=(const Maker &) = delete;

    // Runs at a size and stores the results as the next of the set's sizes.
    void add_size(const Dimensions &cropped) {
        auto start = std::chrono::steady_clock::now();
        auto outputs = run(cropped);
        if (set.sizes == 0) {
            auto took = std::chrono::steady_clock::now() - start;
            set.reference_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
        }
        for (size_t i = 0; i < outputs.size(); i++) {
            if (!outputs[i]) continue;
            DataSet::Region r = cropped_region(set.slots[i].argument, cropped);
            r.bytes = (int64_t)outputs[i]->bytes();
            r.offset = append(*outputs[i]);
            set.slots[i].regions.push_back(r);
        }
        set.sizes++;
    }

    // Of the dimensions given, those that can be shorter; an algorithm may fix others.
    Dimensions accepted(const Dimensions &dimensions) {
        if (dimensions.empty() || runs(dimensions)) return dimensions;
        Dimensions out;
        for (size_t d : dimensions) {
            out.push_back(d);
            if (!runs(out)) out.pop_back();
        }
        return out;
    }

    // Dimensions long enough to be shorter.
    Dimensions croppable() const {
        Dimensions out;
        for (size_t d = 0;; d++) {
            bool there = false, longer = false;
            for (const auto &slot : set.slots) {
                const Argument &a = slot.argument;
                if (!a.output || d >= a.extents.size()) continue;
                there = true;
                longer |= a.extents[d] >= kCropFrom;
            }
            if (!there) return out;
            if (longer) out.push_back(d);
        }
    }

    void finish() {
        // The last region may end short of its page.
        if (ftruncate(fd_, std::max<int64_t>(offset_, 4096)) != 0) throw std::runtime_error("cannot size " + set.path);
    }

    DataSet set;

private:
    EntryPoint entry_;
    std::vector<std::vector<uint8_t>> scalars_;
    std::vector<void *> argv_;
    std::vector<std::unique_ptr<DenseBuffer>> inputs_;
    int fd_ = -1;
    int64_t offset_ = 0;

    int64_t append(const DenseBuffer &buffer) {
        int64_t at = offset_;
        write_at(fd_, at, buffer.data(), buffer.bytes(), set.path);
        offset_ = next_offset(at, (int64_t)buffer.bytes());
        return at;
    }

    // An input is as large as its estimate and as what the estimated output needs.
    void input(DataSet::Slot &slot, const std::vector<halide_dimension_t> &needed, size_t i) {
        Argument &a = slot.argument;
        bool raw = a.fill.compare(0, 4, "raw:") == 0;
        for (size_t d = 0; d < a.extents.size(); d++) {
            const auto &need = needed[d];
            int64_t lo = std::min(a.mins[d], (int64_t)need.min);
            int64_t hi = std::max(a.mins[d] + a.extents[d], (int64_t)need.min + need.extent);
            if (raw && (lo != a.mins[d] || hi != a.mins[d] + a.extents[d])) {
                throw std::runtime_error("input " + a.name + " is too small: the estimated output needs [" +
                                         std::to_string(need.min) + ", " + std::to_string(need.min + need.extent - 1) +
                                         "] in dimension " + std::to_string(d) + ", it has [" + std::to_string(a.mins[d]) +
                                         ", " + std::to_string(a.mins[d] + a.extents[d] - 1) + "]");
            }
            a.mins[d] = lo;
            a.extents[d] = hi - lo;
        }
        inputs_[i] = std::make_unique<DenseBuffer>(a.type, a.mins, a.extents, slot.order);
        fill_input(a, slot.order, inputs_[i]->data(), inputs_[i]->bytes());
        slot.offset = append(*inputs_[i]);
        argv_[i] = inputs_[i]->raw();
    }

    std::vector<std::unique_ptr<DenseBuffer>> run(const Dimensions &cropped) {
        std::vector<std::unique_ptr<DenseBuffer>> outputs(set.slots.size());
        for (size_t i = 0; i < set.slots.size(); i++) {
            const auto &slot = set.slots[i];
            if (!slot.argument.output) continue;
            auto r = cropped_region(slot.argument, cropped);
            outputs[i] = std::make_unique<DenseBuffer>(slot.argument.type, r.mins, r.extents, slot.order);
            memset(outputs[i]->data(), 0, outputs[i]->bytes());
            argv_[i] = outputs[i]->raw();
        }
        checked_call(entry_, argv_);
        return outputs;
    }

    bool runs(const Dimensions &cropped) {
        try {
            run(cropped);
            return true;
        } catch (const RunError &) {
            forget_error();
            return false;
        }
    }
};

}  // namespace

DataSet make_data_set(EntryPoint entry, const std::vector<Argument> &arguments, const std::string &path) {
    Maker maker(entry, arguments, path);
    maker.add_size({});
    Dimensions cropped = maker.accepted(maker.croppable());
    if (!cropped.empty()) maker.add_size(cropped);
    maker.finish();
    return std::move(maker.set);
}

bool pad_inputs(EntryPoint entry, DataSet *data) {
    std::vector<Argument> arguments;
    std::vector<std::vector<uint8_t>> scalars;
    for (const auto &slot : data->slots) {
        arguments.push_back(slot.argument);
        scalars.push_back(scalar_bytes(slot.argument));
    }
    Query q = query_bounds(entry, arguments, scalars);
    bool any = false;
    for (size_t i = 0; i < data->slots.size(); i++) {
        auto &slot = data->slots[i];
        const Argument &a = slot.argument;
        if (!a.buffer || a.output || a.extents.empty()) continue;
        std::vector<int64_t> below(a.extents.size()), above(a.extents.size());
        bool wider = false;
        for (size_t d = 0; d < a.extents.size(); d++) {
            const auto &need = q.dims[i][d];
            below[d] = std::max<int64_t>(0, a.mins[d] - need.min);
            above[d] = std::max<int64_t>(0, (int64_t)need.min + need.extent - a.mins[d] - a.extents[d]);
            wider |= below[d] > 0 || above[d] > 0;
        }
        if (!wider) continue;
        slot.below = below;
        slot.above = above;
        any = true;
    }
    return any;
}

Json DataSet::to_json() const {
    Json list = Json::array();
    for (const Slot &s : slots) {
        const Argument &a = s.argument;
        Json j = Json::object();
        j.set("name", a.name).set("buffer", a.buffer).set("output", a.output);
        j.set("code", (int)a.type.code).set("bits", (int)a.type.bits);
        j.set("value", a.value).set("int_value", a.int_value);
        j.set("mins", Json(a.mins)).set("extents", Json(a.extents));
        j.set("order", Json(s.order)).set("offset", s.offset);
        Json regions = Json::array();
        for (const Region &r : s.regions) {
            regions.push(Json::object()
                             .set("mins", Json(r.mins))
                             .set("extents", Json(r.extents))
                             .set("offset", r.offset)
                             .set("bytes", r.bytes));
        }
        j.set("regions", std::move(regions));
        list.push(std::move(j));
    }
    return Json::object().set("slots", std::move(list)).set("sizes", sizes).set("path", path).set("reference_ns", reference_ns);
}

namespace {
std::vector<int64_t> int_list(const Json &j) {
    std::vector<int64_t> out;
    for (const Json &x : j.items()) out.push_back(x.as_int());
    return out;
}
}  // namespace

DataSet DataSet::from_json(const Json &j) {
    DataSet set;
    set.path = j["path"].as_string();
    set.sizes = (size_t)j["sizes"].as_int();
    set.reference_ns = j["reference_ns"].as_int();
    for (const Json &s : j["slots"].items()) {
        Slot slot;
        Argument &a = slot.argument;
        a.name = s["name"].as_string();
        a.buffer = s["buffer"].as_bool();
        a.output = s["output"].as_bool();
        a.type = halide_type_t((halide_type_code_t)s["code"].as_int(), (uint8_t)s["bits"].as_int());
        a.value = s["value"].as_double();
        a.int_value = s["int_value"].as_int();
        a.mins = int_list(s["mins"]);
        a.extents = int_list(s["extents"]);
        for (int64_t d : int_list(s["order"])) slot.order.push_back((int)d);
        slot.offset = s["offset"].as_int();
        for (const Json &r : s["regions"].items()) {
            Region region;
            region.mins = int_list(r["mins"]);
            region.extents = int_list(r["extents"]);
            region.offset = r["offset"].as_int();
            region.bytes = r["bytes"].as_int();
            slot.regions.push_back(region);
        }
        set.slots.push_back(slot);
    }
    return set;
}

}  // namespace protuner
