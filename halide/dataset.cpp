// The data set that every candidate of a pipeline is run on: made once by the
// reference, read by all.
#include "harness.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <numeric>
#include <unistd.h>

#include "failure.h"
#include "fill.h"

namespace protuner {

namespace {

// Dimensions shorter than this keep their extent at the second size: they are
// channels or kernels, which algorithms take as given.
constexpr int64_t kCropFrom = 32;
// What is left of an extent that tiles divide is then divided by no tile of four or
// more, but still even, which some algorithms need.
constexpr int64_t kCrop = 10;

// Dimensions of outputs by number, those of all outputs alike.
using Dimensions = std::vector<size_t>;

// Makes outputs shorter in some dimensions.
struct Crop {
    Dimensions dimensions;
    bool half = false;  // as short as two tiles of half an extent each allow, rather than by little

    int64_t shorter(int64_t extent) const {
        int64_t left = extent - kCrop;
        if (half) left -= std::max<int64_t>(0, left - extent / 2 - 1) / 4 * 4;
        return left;
    }
};

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
    call(entry, argv);
    return q;
}

// What a query's answer says of how a buffer is to be stored. Of a dimension that is free it
// proposes the product of the extents before, which is no more than a proposal: it comes after
// the dimension before it.
Layout layout_of(const std::vector<halide_dimension_t> &dims) {
    Layout l;
    std::vector<int64_t> strides;
    int64_t proposed = 1, next = 1;
    for (const auto &dim : dims) {
        bool free = dim.stride == proposed;
        l.least.push_back(free ? 0 : dim.stride);
        strides.push_back(free ? std::max<int64_t>(dim.stride, next) : dim.stride);
        next = strides.back() * dim.extent;
        proposed *= dim.extent;
    }
    l.order.resize(dims.size());
    std::iota(l.order.begin(), l.order.end(), 0);
    std::stable_sort(l.order.begin(), l.order.end(), [&](int a, int b) { return strides[a] < strides[b]; });
    return l;
}

DataSet::Region whole_region(const Argument &a) {
    DataSet::Region r;
    r.mins = a.mins;
    r.extents = a.extents;
    return r;
}

DataSet::Region cropped_region(const Argument &a, const Crop &crop) {
    DataSet::Region r = whole_region(a);
    for (size_t d : crop.dimensions) {
        if (d < r.extents.size() && r.extents[d] >= kCropFrom) r.extents[d] = crop.shorter(r.extents[d]);
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
        if (k <= 0) throw Failure(status::infra_failed, "cannot write the data set " + path + ": " + strerror(errno));
        data += k;
        bytes -= (size_t)k;
        offset += k;
    }
}

// The reference at work: inputs that are filled once, outputs made for each size.
class Maker {
public:
    Maker(EntryPoint entry, const std::vector<Argument> &arguments, const std::string &path)
        : entry_(entry), argv_(arguments.size()), inputs_(arguments.size()) {
        set.path = path;
        for (const Argument &a : arguments) scalars_.push_back(a.scalar_bytes());
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
        if (fd_ < 0) throw Failure(status::infra_failed, "cannot write the data set " + path + ": " + strerror(errno));
        for (size_t i = 0; i < constrained.size(); i++) {
            DataSet::Slot slot;
            slot.argument = constrained[i];
            if (!slot.argument.buffer) {
                argv_[i] = scalars_[i].data();
            } else {
                slot.layout = layout_of(q.dims[i]);
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

    // Runs at the estimated size and stores the results as the set's first.
    void add_estimated() {
        auto start = std::chrono::steady_clock::now();
        auto outputs = run({});
        auto took = std::chrono::steady_clock::now() - start;
        set.reference_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
        store(outputs, {});
    }

    // Adds a smaller size. Dimensions that the algorithm does not let be shorter stay;
    // where that is all of them nothing is added.
    void add_smaller(Crop crop) {
        if (crop.dimensions.empty() || try_smaller(crop)) return;
        Dimensions all;
        all.swap(crop.dimensions);
        for (size_t d : all) {
            crop.dimensions.push_back(d);
            if (!runs(crop)) crop.dimensions.pop_back();
        }
        if (!crop.dimensions.empty()) try_smaller(crop);
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
        if (ftruncate(fd_, std::max<int64_t>(offset_, 4096)) != 0) {
            throw Failure(status::infra_failed, "cannot size the data set " + set.path + ": " + strerror(errno));
        }
    }

    DataSet set;

private:
    EntryPoint entry_;
    std::vector<std::vector<uint8_t>> scalars_;
    std::vector<void *> argv_;
    Buffers inputs_;
    int fd_ = -1;
    int64_t offset_ = 0;

    int64_t append(const GuardedBuffer &buffer) {
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
                throw Failure(status::bad_input, "input " + a.name + " is too small: the estimated output needs [" +
                                                     std::to_string(need.min) + ", " + std::to_string(need.min + need.extent - 1) +
                                                     "] in dimension " + std::to_string(d) + ", it has [" + std::to_string(a.mins[d]) +
                                                     ", " + std::to_string(a.mins[d] + a.extents[d] - 1) + "]");
            }
            a.mins[d] = lo;
            a.extents[d] = hi - lo;
        }
        inputs_[i] = std::make_unique<GuardedBuffer>(a.type, a.mins, a.extents, slot.layout);
        inputs_[i]->clear();
        fill_input(a, slot.layout, inputs_[i]->data());
        slot.offset = append(*inputs_[i]);
        argv_[i] = inputs_[i]->raw();
    }

    Buffers run(const Crop &crop) {
        Buffers outputs(set.slots.size());
        for (size_t i = 0; i < set.slots.size(); i++) {
            const auto &slot = set.slots[i];
            if (!slot.argument.output) continue;
            auto r = cropped_region(slot.argument, crop);
            outputs[i] = std::make_unique<GuardedBuffer>(slot.argument.type, r.mins, r.extents, slot.layout);
            outputs[i]->clear();
            argv_[i] = outputs[i]->raw();
        }
        execute(entry_, argv_, inputs_, outputs);
        return outputs;
    }

    // Empty where the algorithm does not have it so.
    Buffers attempt(const Crop &crop) {
        try {
            return run(crop);
        } catch (const RunError &) {
            forget_error();
            return {};
        }
    }

    bool runs(const Crop &crop) { return !attempt(crop).empty(); }

    bool try_smaller(const Crop &crop) {
        Buffers outputs = attempt(crop);
        if (outputs.empty()) return false;
        store(outputs, crop);
        return true;
    }

    void store(const Buffers &outputs, const Crop &crop) {
        for (size_t i = 0; i < outputs.size(); i++) {
            if (!outputs[i]) continue;
            DataSet::Region r = cropped_region(set.slots[i].argument, crop);
            r.bytes = (int64_t)outputs[i]->bytes();
            r.offset = append(*outputs[i]);
            set.slots[i].regions.push_back(r);
        }
        set.sizes++;
    }
};

}  // namespace

DataSet make_data_set(EntryPoint entry, const std::vector<Argument> &arguments, const std::string &path) {
    Maker maker(entry, arguments, path);
    maker.add_estimated();
    maker.add_smaller({maker.croppable(), true});
    maker.add_smaller({maker.croppable(), false});
    maker.finish();
    return std::move(maker.set);
}

bool pad_inputs(EntryPoint entry, DataSet *data) {
    std::vector<Argument> arguments;
    std::vector<std::vector<uint8_t>> scalars;
    for (const auto &slot : data->slots) {
        arguments.push_back(slot.argument);
        scalars.push_back(slot.argument.scalar_bytes());
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
        j.set("name", a.name).set("buffer", a.buffer).set("output", a.output).set("in_place", a.in_place);
        j.set("code", (int)a.type.code).set("bits", (int)a.type.bits);
        j.set("scalar", (int64_t)a.scalar);  // as it is stored: no number says all that a float may be
        j.set("mins", Json(a.mins)).set("extents", Json(a.extents));
        j.set("order", Json(s.layout.order)).set("least", Json(s.layout.least)).set("offset", s.offset);
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
        a.in_place = s["in_place"].as_bool();
        a.type = halide_type_t((halide_type_code_t)s["code"].as_int(), (uint8_t)s["bits"].as_int());
        a.scalar = (uint64_t)s["scalar"].as_int();
        a.mins = int_list(s["mins"]);
        a.extents = int_list(s["extents"]);
        for (int64_t d : int_list(s["order"])) slot.layout.order.push_back((int)d);
        slot.layout.least = int_list(s["least"]);
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
