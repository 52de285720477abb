// A plugin of its own that tells which Generators a program registers. Halide loads
// plugins before it looks at -g, so the program need not be run with a name that is
// not known yet. The answer goes to descriptor 4, as the sessions' answers do.

#define HALIDE_KEEP_MACROS
#include "Halide.h"

#include <unistd.h>

#include "wire.h"

namespace {

struct TellNames {
    TellNames() {
        using namespace protuner;
        Json names = Json(Halide::Internal::GeneratorRegistry::enumerate());
        bool sent = send_message(4, Json::object().set("type", "hello").set("protocol", kProtocol).set("generators", names));
        _exit(sent ? 0 : 1);
    }
} tell_names;

}  // namespace
