// Applies protuner's directive lists to a live Halide pipeline.
#pragma once

#define HALIDE_KEEP_MACROS
#include "Halide.h"

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "json.h"

namespace protuner {

// A directive that names what is not there or that Halide refuses.
struct DirectiveError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::vector<Halide::Internal::Function> output_functions(const Halide::Pipeline &pipeline);

// A directive's word for one of Halide's choices. One that may be left out is there once more,
// after its word, as an empty one.
template<typename T>
struct Word {
    const char *word;
    T value;
};

inline constexpr Word<Halide::TailStrategy> kTailWords[] = {
    {"auto", Halide::TailStrategy::Auto},
    {"round_up", Halide::TailStrategy::RoundUp},
    {"guard_with_if", Halide::TailStrategy::GuardWithIf},
    {"predicate", Halide::TailStrategy::Predicate},
    {"predicate_loads", Halide::TailStrategy::PredicateLoads},
    {"predicate_stores", Halide::TailStrategy::PredicateStores},
    {"shift_inwards", Halide::TailStrategy::ShiftInwards},
    {"shift_inwards_and_blend", Halide::TailStrategy::ShiftInwardsAndBlend},
    {"round_up_and_blend", Halide::TailStrategy::RoundUpAndBlend},
    {"", Halide::TailStrategy::Auto},
};

inline constexpr Word<Halide::MemoryType> kMemoryWords[] = {
    {"auto", Halide::MemoryType::Auto},
    {"heap", Halide::MemoryType::Heap},
    {"stack", Halide::MemoryType::Stack},
    {"register", Halide::MemoryType::Register},
};

inline constexpr Word<Halide::LoopAlignStrategy> kAlignWords[] = {
    {"auto", Halide::LoopAlignStrategy::Auto},
    {"align_start", Halide::LoopAlignStrategy::AlignStart},
    {"align_end", Halide::LoopAlignStrategy::AlignEnd},
    {"no_align", Halide::LoopAlignStrategy::NoAlign},
    {"", Halide::LoopAlignStrategy::Auto},
};

inline constexpr Word<Halide::PrefetchBoundStrategy> kPrefetchWords[] = {
    {"guard_with_if", Halide::PrefetchBoundStrategy::GuardWithIf},
    {"clamp", Halide::PrefetchBoundStrategy::Clamp},
    {"non_faulting", Halide::PrefetchBoundStrategy::NonFaulting},
    {"", Halide::PrefetchBoundStrategy::GuardWithIf},
};

// The word for one of Halide's choices; empty where there is none.
template<typename T, size_t N>
std::string word_of(const Word<T> (&words)[N], T value) {
    for (const Word<T> &w : words) {
        if (w.value == value) return w.word;
    }
    return "";
}

// The Funcs of one pipeline by the names that descriptions and directives use:
// Halide's own, and for a Func made by rfactor, in or clone_in the name its
// directive gave it.
class Scheduler {
public:
    // Where `only_special`, a Func that is specialized fails under any other condition:
    // its other version costs no time to compile.
    explicit Scheduler(const Halide::Pipeline &pipeline, bool only_special = false);

    // Applies directives in order (the JSON form of schedule.Directive). Throws
    // DirectiveError, or Halide's own errors where Halide refuses one.
    void apply(const std::vector<Json> &directives);

    Halide::Func func(const std::string &name) const;

    // The directive's name for a Func, Halide's own where it has none.
    std::string name_of(const Halide::Internal::Function &f) const;

    // All Funcs that compute the outputs now, wrappers and intermediates included.
    const std::map<std::string, Halide::Internal::Function> &environment() const { return env_; }

    // Funcs in the numbering of Pipeline::get_func before any directive.
    const std::vector<std::string> &order() const { return order_; }

private:
    Halide::Pipeline pipeline_;
    bool only_special_;
    std::map<std::string, Halide::Internal::Function> env_;
    std::map<std::string, std::string> alias_;       // directive's name -> Halide's
    std::map<std::string, std::string> alias_back_;  // Halide's -> directive's
    std::vector<std::string> order_;

    void apply_one(const Json &directive);
    void adopt(const Halide::Func &f, const std::string &as);
};

}  // namespace protuner
