// Runs one compiled pipeline on real data: buffers, inputs, timing, comparison with
// the reference. It knows a pipeline only as Halide's argv entry point and needs no
// compiler, so the fork server's children and the runner of ahead-of-time builds
// time and check by the same code. One thing differs: at the estimated size a child's guarded
// execution (once_guarded) is also the first that is timed, which counts where it is long; the
// runner's is for the check alone, and another comes first.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "HalideRuntime.h"
#include "json.h"

namespace protuner {

// Halide's uniform entry point: pointers to scalars and to halide_buffer_t.
using EntryPoint = int (*)(void **);

// A pipeline that answers with one of Halide's error codes.
struct RunError : std::runtime_error {
    int code;
    RunError(int c, const std::string &what) : std::runtime_error(what), code(c) {}
};

// Executes a pipeline; throws RunError where it answers with an error.
void call(EntryPoint entry, std::vector<void *> &argv);

// Makes a loaded pipeline report errors instead of ending the process: the message
// goes into the RunError of the call that failed.
void catch_errors(void *library);

// While this lives, a loaded pipeline's memory for what it computes in between lies between
// guard zones, which tell whether anything was written beside it: such a schedule may be
// right each time it is looked at and break whoever calls it. One at a time. What the pipeline
// memoizes is forgotten before and after: it would be freed as memory of the other kind.
class GuardedMemory {
public:
    explicit GuardedMemory(void *library);
    ~GuardedMemory();
    GuardedMemory(const GuardedMemory &) = delete;
    GuardedMemory &operator=(const GuardedMemory &) = delete;

    // What was freed so far was written inside alone.
    bool intact() const;

private:
    using Malloc = void *(*)(void *, size_t);
    using Free = void (*)(void *, void *);
    Malloc (*set_malloc_)(Malloc);
    Free (*set_free_)(Free);
    void (*forget_memoized_)();
    Malloc malloc_ = nullptr;  // the pipeline's own
    Free free_ = nullptr;
};

// Lets go of the message of a failure that was answered, so that the next one has its own.
void forget_error();

// One argument of the pipeline, in the order of its entry point.
struct Argument {
    std::string name;
    bool buffer = false;
    bool output = false;
    bool in_place = false;               // outputs: results depend on what was there before
    halide_type_t type;
    std::vector<int64_t> mins, extents;  // buffers: the region to allocate
    std::string fill;                    // input buffers, see fill.h
    uint64_t scalar = 0;                 // scalars: eight bytes, of which its type takes the first

    // Gives a scalar its value, of which a type of floats takes the real and any other the
    // whole one.
    void set_scalar(double real, int64_t whole);
    // A scalar as the entry point wants it.
    std::vector<uint8_t> scalar_bytes() const;
};

// Bytes of an element.
inline size_t width_of(halide_type_t type) { return (type.bits + 7) / 8; }

// How a buffer is stored: dense, but where the pipeline asks for wider strides.
struct Layout {
    std::vector<int> order;      // dimensions, innermost first
    std::vector<int64_t> least;  // the stride that a dimension has to have, in elements; 0 where any will do

    // Of a buffer of these extents the strides, and how many elements that takes.
    std::vector<int64_t> strides(const std::vector<int64_t> &extents, int64_t *all) const;
};

// A buffer that is stored as the pipeline asks for, between two guard zones that tell whether
// anything was written beside it.
class GuardedBuffer {
public:
    GuardedBuffer(halide_type_t type, const std::vector<int64_t> &mins, const std::vector<int64_t> &extents,
                  const Layout &layout);
    ~GuardedBuffer();
    GuardedBuffer(const GuardedBuffer &) = delete;
    GuardedBuffer &operator=(const GuardedBuffer &) = delete;

    halide_buffer_t *raw() { return &buffer_; }
    uint8_t *data() { return data_; }
    const uint8_t *data() const { return data_; }
    size_t bytes() const { return bytes_; }
    void clear() { memset(data_, 0, bytes_); }
    bool guards_intact() const;
    // Moves the data to memory of the alignment that is now asked for (see execute).
    void realign();

private:
    halide_buffer_t buffer_ = {};
    std::vector<halide_dimension_t> dims_;
    uint8_t *data_ = nullptr;
    size_t bytes_ = 0;
    size_t alignment_ = 0;
};

using Buffers = std::vector<std::unique_ptr<GuardedBuffer>>;  // by slot, null for others

// Executes a pipeline on its buffers and returns the nanoseconds it took. Where it promises
// more of their addresses than holds (set_host_alignment) they are moved first. Only the error
// says so: what is promised stands in no build's metadata.
int64_t execute(EntryPoint entry, std::vector<void *> &argv, const Buffers &inputs, const Buffers &outputs);

// What every candidate of a pipeline is run on: the input data, and for each of the
// output sizes the region and the reference's results. Size 0 is the estimated one.
// The others, where the algorithm allows any, are multiples of no tile, from the
// smallest up: a schedule's tiles may be too large for one and not for the next.
struct DataSet {
    struct Region {
        std::vector<int64_t> mins, extents;
        int64_t offset = 0;  // of the reference's results in the data file
        int64_t bytes = 0;
    };
    struct Slot {
        Argument argument;
        Layout layout;
        int64_t offset = 0;           // of an input's data in the data file; -1 for one never read
        std::vector<Region> regions;  // outputs: one per size
        // Inputs: how far the buffer that is allocated goes beyond the data, below and above
        // in each dimension; empty for not at all. See pad_inputs.
        std::vector<int64_t> below, above;
    };
    std::vector<Slot> slots;
    size_t sizes = 0;
    int64_t reference_ns = 0;  // what the reference took at size 0
    std::string path;          // of the data file

    Json to_json() const;
    static DataSet from_json(const Json &j);
};

// How far results may be from the reference's. Reassociation and fused multiply-add
// change floating-point results, integers that are made from them where a value lies on
// the edge of two, and what is decided by them where it stands on an edge.
struct Tolerance {
    double relative = 1e-4;  // of the reference's value
    double absolute = 1e-5;  // of the largest magnitude in the reference's output
    int64_t integer_every = 0;       // every integer may be off by this much
    int64_t integer = 0;             // some may be by this much
    double integer_relative = 0;     // or by this share of their output's largest magnitude,
    double integer_share = 0;        // which no more than this share of an output's integers may be
    double stray_share = 0;          // this share of an output's elements may be off by anything

    // From the fields of a message; those it lacks keep their defaults.
    static Tolerance from_json(const Json &j);
};

struct CheckResult {
    bool ok = true;
    std::string message;
};

struct TimingProtocol {
    int64_t min_total_ns = 30000000;  // sample for at least this long
    int64_t min_samples = 3;
    int64_t max_samples = 200;
    // Stop once the best of two samples is above this, or one of them far above, but not
    // within a tenth of min_total_ns; 0 never.
    int64_t give_up_ns = 0;

    static TimingProtocol from_json(const Json &j);
};

// One compiled pipeline with its buffers filled.
class Bench {
public:
    // `library` is the loaded one that the entry point is in.
    Bench(void *library, EntryPoint entry, const DataSet &data);
    ~Bench();

    // Makes outputs of the given size, each element other than it should become, but in
    // those that are updated in place. Does nothing where they have that size and were made
    // for it.
    void allocate(size_t size);
    // One execution into the outputs there are, of which those that are updated in place
    // are zero first; returns the nanoseconds it took.
    int64_t once();
    // The same with memory that tells whether anything is written beside it.
    int64_t once_guarded();
    // One such execution at the first of the set's smaller sizes that the schedule accepts.
    // Throws the last's RunError where it accepts none.
    void once_smaller();
    // Compares the outputs with the reference's, and looks for writes beside them, beside
    // what guarded executions had as memory, and into the inputs.
    CheckResult compare(const Tolerance &tolerance) const;
    // The same but for the inputs.
    CheckResult compare_outputs(const Tolerance &tolerance) const;
    // Nanoseconds of single executions, in order, after a first one that took so long.
    std::vector<int64_t> time(const TimingProtocol &protocol, int64_t first);

private:
    void *library_;
    EntryPoint entry_;
    const DataSet &data_;
    bool intact_ = true;  // as guarded executions left their memory
    uint8_t *file_ = nullptr;
    size_t file_bytes_ = 0;
    std::vector<std::vector<uint8_t>> scalars_;
    Buffers inputs_, outputs_;
    std::vector<void *> argv_;
    size_t size_ = SIZE_MAX;  // of the outputs there are now

    void copy_input(const DataSet::Slot &slot, GuardedBuffer &buffer);
    bool input_intact(const DataSet::Slot &slot, const GuardedBuffer &buffer) const;
    void poison(const DataSet::Slot &slot, const DataSet::Region &r, GuardedBuffer &out) const;
};

// Widens the inputs to what this pipeline reads at size 0. Schedules that round up
// may read beyond what the outputs need and throw away what they make of it, so what
// is there does not matter. Returns whether any input had to be widened.
bool pad_inputs(EntryPoint entry, DataSet *data);

// Asks the pipeline which regions it needs, makes the inputs, runs it at every size
// and writes data and results to `path`. The pipeline run here is the reference.
DataSet make_data_set(EntryPoint entry, const std::vector<Argument> &arguments, const std::string &path);

}  // namespace protuner
