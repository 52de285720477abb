// Messages between protuner and the plugin: a little-endian u32 length, then that
// many bytes of JSON. internal/bridge/wire.go names the fields of every message.
#pragma once

#include <optional>
#include <string>

#include "json.h"

namespace protuner {

// Raised whenever a message changes its meaning; both sides refuse another's.
constexpr int kProtocol = 1;

// Larger than any description or request can be; a length beyond it is nonsense.
constexpr uint32_t kMaxMessage = 64u << 20;

// False when the other side is gone.
bool send_message(int fd, const Json &message);

// Nothing at end of file; throws JsonError on a length or text that is nonsense.
std::optional<Json> receive_message(int fd);

// Cuts messages out of a byte stream that arrives in pieces.
class MessageBuffer {
public:
    void append(const char *data, size_t n) { bytes_.append(data, n); }
    // The next whole message, if there is one; throws as receive_message does.
    std::optional<Json> next();

private:
    std::string bytes_;
};

}  // namespace protuner
