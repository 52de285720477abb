// Times one ahead-of-time build in a process of its own:
//   runner LIBRARY FUNCTION < request > answer
// or a candidate of the fork server, which becomes this program once it is built:
//   runner --candidate JOB
// or says whether a library can be loaded by it, and if not, on stderr, why:
//   runner --load LIBRARY
// The request is one JSON object: the data set that the reference made, the timing
// protocol and the tolerance. The answer is one JSON object: samples, or a status.

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <iostream>
#include <iterator>
#include <unistd.h>

#include "evaluate.h"
#include "failure.h"
#include "harness.h"

namespace protuner {

namespace {

// The arguments in the order of the entry point, which the library's own metadata
// tells. An input the algorithm never reads is in no data set.
DataSet arranged(const DataSet &data, const halide_filter_metadata_t &metadata) {
    DataSet out = data;
    out.slots.clear();
    size_t outputs = 0;
    for (int i = 0; i < metadata.num_arguments; i++) {
        const halide_filter_argument_t &arg = metadata.arguments[i];
        bool is_output = arg.kind == halide_argument_kind_output_buffer;
        const DataSet::Slot *found = nullptr;
        size_t nth = 0;
        for (const auto &s : data.slots) {
            bool match = is_output ? s.argument.output && nth == outputs : !s.argument.output && s.argument.name == arg.name;
            nth += s.argument.output;
            if (match) {
                found = &s;
                break;
            }
        }
        outputs += is_output;
        if (found) {
            out.slots.push_back(*found);
            continue;
        }
        if (is_output) throw std::runtime_error(std::string("the data set has no output ") + arg.name);
        DataSet::Slot unread;
        unread.offset = -1;
        unread.argument.name = arg.name;
        unread.argument.type = arg.type;
        unread.argument.buffer = arg.kind == halide_argument_kind_input_buffer;
        for (int d = 0; unread.argument.buffer && d < arg.dimensions; d++) {
            const int64_t *const *estimates = arg.buffer_estimates;
            unread.argument.mins.push_back(estimates && estimates[2 * d] ? *estimates[2 * d] : 0);
            unread.argument.extents.push_back(estimates && estimates[2 * d + 1] ? *estimates[2 * d + 1] : 1);
            unread.layout.order.push_back(d);
            unread.layout.least.push_back(0);
        }
        out.slots.push_back(unread);
    }
    return out;
}

Json run(const char *library, const std::string &function, const Json &request) {
    pin(request.items_or_empty("cpus"));
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw std::runtime_error(dlerror());
    catch_errors(handle);
    auto entry = (EntryPoint)dlsym(handle, (function + "_argv").c_str());
    auto metadata = (const halide_filter_metadata_t *(*)())dlsym(handle, (function + "_metadata").c_str());
    if (!entry || !metadata) throw std::runtime_error(std::string(library) + " has no pipeline named " + function);

    DataSet data = arranged(DataSet::from_json(request["data"]), *metadata());
    // What other schedulers make may be good for the estimated size only, and may read
    // beyond the estimated inputs.
    bool lenient = request.bool_or("lenient", false);
    if (lenient) pad_inputs(entry, &data);

    Tolerance tolerance = Tolerance::from_json(request);

    Bench bench(handle, entry, data);
    auto compare = [&] {
        CheckResult r = bench.compare(tolerance);
        if (!r.ok) throw Failure(status::wrong_output, r.message);
    };
    if (!lenient && data.sizes > 1) {
        bench.once_smaller();
        compare();
    }
    bench.allocate(0);
    bench.once_guarded();
    compare();
    std::vector<int64_t> samples = bench.time(TimingProtocol::from_json(request), bench.once());
    compare();
    return Json::object().set("status", status::ok).set("samples", Json(samples));
}

int load(const char *library) {
    if (dlopen(library, RTLD_NOW | RTLD_LOCAL)) return 0;
    fprintf(stderr, "%s\n", dlerror());
    return 1;
}

}  // namespace

}  // namespace protuner

int main(int argc, char **argv) {
    using namespace protuner;
    if (argc != 3) {
        fprintf(stderr, "usage: runner LIBRARY FUNCTION < request > answer, runner --candidate JOB, or runner --load LIBRARY\n");
        return 2;
    }
    if (!strcmp(argv[1], "--candidate")) return evaluate(argv[2]);
    if (!strcmp(argv[1], "--load")) return load(argv[2]);
    // What the pipeline prints is no part of the answer.
    const int answers = dup(STDOUT_FILENO);
    if (answers < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
    Json answer;
    try {
        std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
        answer = run(argv[1], argv[2], Json::parse(text));
    } catch (const Failure &e) {
        answer = Json::object().set("status", e.status).set("message", e.what());
    } catch (const RunError &e) {
        answer = Json::object().set("status", status_of_code(e.code)).set("message", e.what());
    } catch (const std::bad_alloc &) {
        answer = Json::object().set("status", status::out_of_memory).set("message", "memory limit reached");
    } catch (const std::exception &e) {
        answer = Json::object().set("status", status::infra_failed).set("message", e.what());
    }
    return dprintf(answers, "%s\n", answer.dump().c_str()) < 0;
}
