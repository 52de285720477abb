// Runs an app that was compiled ahead of time (-DAPP=its function) on raw files. For
// each of its arguments there is one on the command line: NAME=VALUE for a scalar,
// NAME=FILE:MIN,EXTENT:MIN,EXTENT... for a buffer, dimension 0 the fastest in FILE.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "HalideRuntime.h"

#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
extern "C" int JOIN(APP, _argv)(void **);
extern "C" const halide_filter_metadata_t *JOIN(APP, _metadata)();

namespace {

[[noreturn]] void fail(const std::string &why) {
    fprintf(stderr, "%s\n", why.c_str());
    exit(1);
}

struct Argument {
    halide_scalar_value_t scalar = {};
    halide_buffer_t buffer = {};
    std::vector<halide_dimension_t> dims;
    std::vector<uint8_t> memory;
    std::string file;
};

void take_buffer(Argument &a, const halide_filter_argument_t &m, const std::string &text) {
    size_t at = text.find(':');
    a.file = text.substr(0, at);
    int stride = 1;
    for (; at != std::string::npos; at = text.find(':', at + 1)) {
        int min = 0, extent = 0;
        if (sscanf(text.c_str() + at + 1, "%d,%d", &min, &extent) != 2) fail("no extents: " + text);
        a.dims.emplace_back(min, extent, stride);
        stride *= extent;
    }
    if ((int)a.dims.size() != m.dimensions) fail(std::string(m.name) + " has another number of dimensions");
    a.memory.resize((size_t)stride * m.type.bytes());
    a.buffer.host = a.memory.data();
    a.buffer.type = m.type;
    a.buffer.dimensions = m.dimensions;
    a.buffer.dim = a.dims.data();
}

void move_file(Argument &a, bool write) {
    FILE *f = fopen(a.file.c_str(), write ? "wb" : "rb");
    if (!f) fail("cannot open " + a.file);
    const size_t n = a.memory.size();
    if ((write ? fwrite(a.memory.data(), 1, n, f) : fread(a.memory.data(), 1, n, f)) != n) fail(a.file + " is too short");
    if (fclose(f)) fail("cannot write " + a.file);
}

}  // namespace

int main(int argc, char **argv) {
    std::map<std::string, std::string> given;
    for (int i = 1; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        if (!value) fail(std::string("no value: ") + argv[i]);
        given[std::string(argv[i], value - argv[i])] = value + 1;
    }
    const halide_filter_metadata_t *meta = JOIN(APP, _metadata)();
    std::vector<Argument> arguments(meta->num_arguments);
    std::vector<void *> pointers;
    for (int i = 0; i < meta->num_arguments; i++) {
        const halide_filter_argument_t &m = meta->arguments[i];
        Argument &a = arguments[i];
        if (!given.count(m.name)) fail(std::string("no ") + m.name);
        const std::string &text = given[m.name];
        if (m.kind != halide_argument_kind_input_scalar) {
            take_buffer(a, m, text);
            if (m.kind == halide_argument_kind_input_buffer) move_file(a, false);
            pointers.push_back(&a.buffer);
        } else {
            if (m.type == halide_type_of<float>()) {
                a.scalar.u.f32 = strtof(text.c_str(), nullptr);
            } else if (m.type == halide_type_of<int32_t>()) {
                a.scalar.u.i32 = atoi(text.c_str());
            } else {
                fail(std::string(m.name) + " has another type");
            }
            pointers.push_back(&a.scalar);
        }
    }
    if (int code = JOIN(APP, _argv)(pointers.data())) return code < 0 ? -code : code;
    for (int i = 0; i < meta->num_arguments; i++) {
        if (meta->arguments[i].kind == halide_argument_kind_output_buffer) move_file(arguments[i], true);
    }
    return 0;
}
