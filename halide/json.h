// A small JSON value with a strict parser and a writer: what the wire protocol
// needs. Hand-written because the plugin is compiled on the user's machine, where
// only Halide's headers and a C++17 compiler may be assumed.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace protuner {

// A malformed text or a value of another kind than asked for.
struct JsonError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Json {
public:
    enum class Kind { Null, Bool, Int, Double, String, Array, Object };

    Json() = default;
    Json(bool b) : kind_(Kind::Bool), int_(b) {}
    Json(int i) : kind_(Kind::Int), int_(i) {}
    Json(int64_t i) : kind_(Kind::Int), int_(i) {}
    Json(size_t i) : kind_(Kind::Int), int_((int64_t)i) {}
    Json(double d) : kind_(Kind::Double), double_(d) {}
    Json(const char *s) : kind_(Kind::String), string_(s) {}
    Json(std::string s) : kind_(Kind::String), string_(std::move(s)) {}
    template<typename T>
    Json(const std::vector<T> &v) : kind_(Kind::Array) {
        for (const auto &x : v) array_.emplace_back(Json(x));
    }

    static Json array() { Json j; j.kind_ = Kind::Array; return j; }
    static Json object() { Json j; j.kind_ = Kind::Object; return j; }

    // Throws JsonError naming the byte offset.
    static Json parse(const std::string &text);
    std::string dump() const;

    Kind kind() const { return kind_; }
    bool is_null() const { return kind_ == Kind::Null; }

    bool as_bool() const { expect(Kind::Bool, "a boolean"); return int_ != 0; }
    int64_t as_int() const { expect(Kind::Int, "an integer"); return int_; }
    double as_double() const {
        if (kind_ == Kind::Int) return (double)int_;
        expect(Kind::Double, "a number");
        return double_;
    }
    const std::string &as_string() const { expect(Kind::String, "a string"); return string_; }
    const std::vector<Json> &items() const { expect(Kind::Array, "an array"); return array_; }
    std::vector<std::string> as_strings() const {
        std::vector<std::string> out;
        for (const auto &j : items()) out.push_back(j.as_string());
        return out;
    }

    // Members keep the order in which they were set.
    Json &set(const std::string &key, Json value);
    Json &push(Json value) {
        array_.push_back(std::move(value));
        return *this;
    }
    // Null where there is no such member.
    const Json &operator[](const std::string &key) const;

    // The member if there is one, else the fallback.
    int64_t int_or(const std::string &key, int64_t fallback) const {
        const Json &j = (*this)[key];
        return j.is_null() ? fallback : j.as_int();
    }
    double double_or(const std::string &key, double fallback) const {
        const Json &j = (*this)[key];
        return j.is_null() ? fallback : j.as_double();
    }
    std::string string_or(const std::string &key, const std::string &fallback) const {
        const Json &j = (*this)[key];
        return j.is_null() ? fallback : j.as_string();
    }
    bool bool_or(const std::string &key, bool fallback) const {
        const Json &j = (*this)[key];
        return j.is_null() ? fallback : j.as_bool();
    }
    std::vector<Json> items_or_empty(const std::string &key) const {
        const Json &j = (*this)[key];
        return j.is_null() ? std::vector<Json>() : j.items();
    }

private:
    Kind kind_ = Kind::Null;
    int64_t int_ = 0;
    double double_ = 0;
    std::string string_;
    std::vector<Json> array_;
    std::vector<std::pair<std::string, Json>> object_;

    void expect(Kind k, const char *what) const {
        if (kind_ != k) throw JsonError(std::string("expected ") + what);
    }
    void write(std::string &out) const;
};

}  // namespace protuner
