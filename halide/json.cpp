#include "json.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace protuner {

namespace {

// Deep enough for any expression tree of a real pipeline, shallow enough that a
// hostile text cannot overflow the stack.
constexpr int kMaxDepth = 2000;

void write_string(std::string &out, const std::string &s) {
    out += '"';
    for (unsigned char c : s) {
        switch (c) {
        case '"': out += "\\\""; break;
        case '\\': out += "\\\\"; break;
        case '\n': out += "\\n"; break;
        case '\t': out += "\\t"; break;
        case '\r': out += "\\r"; break;
        default:
            if (c < 0x20) {
                char buf[8];
                snprintf(buf, sizeof(buf), "\\u%04x", c);
                out += buf;
            } else {
                out += (char)c;
            }
        }
    }
    out += '"';
}

class Parser {
public:
    explicit Parser(const std::string &t) : text(t) {}

    Json whole() {
        Json j = value(0);
        space();
        if (pos != text.size()) fail("trailing text");
        return j;
    }

private:
    const std::string &text;
    size_t pos = 0;

    [[noreturn]] void fail(const std::string &what) {
        throw JsonError("JSON: " + what + " at byte " + std::to_string(pos));
    }
    void space() {
        while (pos < text.size() && strchr(" \t\r\n", text[pos]) && text[pos] != 0) pos++;
    }
    char peek() { return pos < text.size() ? text[pos] : 0; }
    void take(char c) {
        if (peek() != c) fail(std::string("expected '") + c + "'");
        pos++;
    }
    void word(const char *w) {
        size_t n = strlen(w);
        if (text.compare(pos, n, w) != 0) fail("unknown word");
        pos += n;
    }

    Json value(int depth) {
        if (depth > kMaxDepth) fail("nested too deeply");
        space();
        switch (peek()) {
        case '{': return object(depth);
        case '[': return array(depth);
        case '"': return Json(string());
        case 't': word("true"); return Json(true);
        case 'f': word("false"); return Json(false);
        case 'n': word("null"); return Json();
        default: return number();
        }
    }

    Json object(int depth) {
        Json j = Json::object();
        take('{');
        space();
        if (peek() == '}') { pos++; return j; }
        for (;;) {
            space();
            std::string key = string();
            space();
            take(':');
            j.set(key, value(depth + 1));
            space();
            if (peek() == ',') { pos++; continue; }
            take('}');
            return j;
        }
    }

    Json array(int depth) {
        Json j = Json::array();
        take('[');
        space();
        if (peek() == ']') { pos++; return j; }
        for (;;) {
            j.push(value(depth + 1));
            space();
            if (peek() == ',') { pos++; continue; }
            take(']');
            return j;
        }
    }

    void utf8(std::string &out, unsigned c) {
        if (c < 0x80) {
            out += (char)c;
        } else if (c < 0x800) {
            out += (char)(0xc0 | (c >> 6));
            out += (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            out += (char)(0xe0 | (c >> 12));
            out += (char)(0x80 | ((c >> 6) & 0x3f));
            out += (char)(0x80 | (c & 0x3f));
        } else {
            out += (char)(0xf0 | (c >> 18));
            out += (char)(0x80 | ((c >> 12) & 0x3f));
            out += (char)(0x80 | ((c >> 6) & 0x3f));
            out += (char)(0x80 | (c & 0x3f));
        }
    }

    unsigned hex4() {
        if (pos + 4 > text.size()) fail("short \\u escape");
        unsigned c = 0;
        for (int i = 0; i < 4; i++) {
            char d = text[pos++];
            c *= 16;
            if (d >= '0' && d <= '9') c += d - '0';
            else if (d >= 'a' && d <= 'f') c += d - 'a' + 10;
            else if (d >= 'A' && d <= 'F') c += d - 'A' + 10;
            else fail("bad \\u escape");
        }
        return c;
    }

    std::string string() {
        take('"');
        std::string out;
        for (;;) {
            if (pos >= text.size()) fail("unterminated string");
            char c = text[pos++];
            if (c == '"') return out;
            if ((unsigned char)c < 0x20) fail("control character in string");
            if (c != '\\') { out += c; continue; }
            if (pos >= text.size()) fail("unterminated escape");
            c = text[pos++];
            switch (c) {
            case '"': case '\\': case '/': out += c; break;
            case 'b': out += '\b'; break;
            case 'f': out += '\f'; break;
            case 'n': out += '\n'; break;
            case 'r': out += '\r'; break;
            case 't': out += '\t'; break;
            case 'u': {
                unsigned u = hex4();
                if (u >= 0xd800 && u < 0xdc00 && text.compare(pos, 2, "\\u") == 0) {
                    pos += 2;
                    unsigned low = hex4();
                    u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
                }
                utf8(out, u);
                break;
            }
            default: fail("unknown escape");
            }
        }
    }

    Json number() {
        size_t start = pos;
        bool integral = true;
        if (peek() == '-') pos++;
        while (pos < text.size() && strchr("0123456789.eE+-", text[pos]) && text[pos] != 0) {
            if (text[pos] < '0' || text[pos] > '9') integral = false;
            pos++;
        }
        std::string digits = text.substr(start, pos - start);
        if (digits.empty() || digits == "-") fail("expected a value");
        errno = 0;
        char *end = nullptr;
        if (integral) {
            long long v = strtoll(digits.c_str(), &end, 10);
            if (errno == 0 && *end == 0) return Json((int64_t)v);
        }
        double d = strtod(digits.c_str(), &end);
        if (*end != 0) fail("malformed number");
        return Json(d);
    }
};

}  // namespace

Json Json::parse(const std::string &text) {
    return Parser(text).whole();
}

Json &Json::set(const std::string &key, Json value) {
    kind_ = Kind::Object;
    for (auto &p : object_) {
        if (p.first == key) {
            p.second = std::move(value);
            return *this;
        }
    }
    object_.emplace_back(key, std::move(value));
    return *this;
}

const Json &Json::operator[](const std::string &key) const {
    static const Json null;
    if (kind_ != Kind::Object) return null;
    for (const auto &p : object_) {
        if (p.first == key) return p.second;
    }
    return null;
}

std::string Json::dump() const {
    std::string out;
    write(out);
    return out;
}

void Json::write(std::string &out) const {
    switch (kind_) {
    case Kind::Null: out += "null"; break;
    case Kind::Bool: out += int_ ? "true" : "false"; break;
    case Kind::Int: out += std::to_string(int_); break;
    case Kind::Double: {
        if (!std::isfinite(double_)) {
            out += "null";
            break;
        }
        char buf[32];
        out.append(buf, std::to_chars(buf, buf + sizeof(buf), double_).ptr);  // as short as it can be
        break;
    }
    case Kind::String: write_string(out, string_); break;
    case Kind::Array: {
        out += '[';
        bool first = true;
        for (const auto &j : array_) {
            if (!first) out += ',';
            first = false;
            j.write(out);
        }
        out += ']';
        break;
    }
    case Kind::Object: {
        out += '{';
        bool first = true;
        for (const auto &p : object_) {
            if (!first) out += ',';
            first = false;
            write_string(out, p.first);
            out += ':';
            p.second.write(out);
        }
        out += '}';
        break;
    }
    }
}

}  // namespace protuner
