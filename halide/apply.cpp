// Mode apply: schedules the Generator's pipeline and lets Halide write its outputs.

#include "directives.h"
#include "modes.h"

namespace protuner {

void apply(const Session &session, const Halide::Pipeline &pipeline, const Halide::Target &,
           Halide::AutoSchedulerResults *results) {
    Scheduler(pipeline).apply(session.hello.items_or_empty("directives"));
    // The text is made by protuner, so that the .schedule.h Halide writes and the one
    // that `protuner export` writes are the same.
    results->schedule_source = session.hello.string_or("schedule_source", "");
    send_message(session.out, Json::object().set("type", "applied"));
}

}  // namespace protuner
