#include "wire.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace protuner {

namespace {

bool write_all(int fd, const char *data, size_t n) {
    while (n > 0) {
        ssize_t k = write(fd, data, n);
        if (k < 0) {
            if (errno == EINTR) continue;
            return false;
        }
        data += k;
        n -= (size_t)k;
    }
    return true;
}

// False at end of file before the first byte or anywhere after it.
bool read_all(int fd, char *data, size_t n) {
    while (n > 0) {
        ssize_t k = read(fd, data, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        data += k;
        n -= (size_t)k;
    }
    return true;
}

uint32_t decode_length(const char *bytes) {
    uint32_t n = 0;
    for (int i = 0; i < 4; i++) n |= (uint32_t)(unsigned char)bytes[i] << (8 * i);
    if (n > kMaxMessage) throw JsonError("message of " + std::to_string(n) + " bytes is over the limit");
    return n;
}

}  // namespace

bool send_message(int fd, const Json &message) {
    std::string body = message.dump();
    std::string framed(4, 0);
    for (int i = 0; i < 4; i++) framed[i] = (char)((body.size() >> (8 * i)) & 0xff);
    framed += body;
    return write_all(fd, framed.data(), framed.size());
}

std::optional<Json> receive_message(int fd) {
    char header[4];
    if (!read_all(fd, header, 4)) return std::nullopt;
    std::string body(decode_length(header), 0);
    if (!read_all(fd, &body[0], body.size())) return std::nullopt;
    return Json::parse(body);
}

std::optional<Json> MessageBuffer::next() {
    if (bytes_.size() < 4) return std::nullopt;
    uint32_t n = decode_length(bytes_.data());
    if (bytes_.size() < 4 + (size_t)n) return std::nullopt;
    Json j = Json::parse(bytes_.substr(4, n));
    bytes_.erase(0, 4 + (size_t)n);
    return j;
}

}  // namespace protuner
