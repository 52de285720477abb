#include "failure.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <sys/statvfs.h>
#include <unistd.h>

#include "HalideRuntime.h"
#include "wire.h"

namespace protuner {

namespace {

int server_fd = -1;
int64_t candidate_id = 0;

// Of a folder that has less room than this anything that is compiled may have filled it.
constexpr uint64_t kLeastRoom = 16 << 20;

void no_memory() {
    leave(status::out_of_memory, "memory limit reached");
}

}  // namespace

const char *status_of_code(int code) {
    return code == halide_error_code_out_of_memory ? status::out_of_memory : status::crashed;
}

std::string unwritable(const std::string &folder) {
    struct statvfs s = {};
    if (statvfs(folder.c_str(), &s) != 0) return folder + ": " + strerror(errno);
    uint64_t room = (uint64_t)s.f_bavail * s.f_frsize;
    if (room >= kLeastRoom && (s.f_files == 0 || s.f_favail > 0)) return "";
    return folder + " is full; set TMPDIR to a folder with more room";
}

void become_candidate(int fd, int64_t id) {
    server_fd = fd;
    candidate_id = id;
    std::set_new_handler(no_memory);
}

void answer_failure(const char *status, const std::string &message) {
    send_message(server_fd, Json::object().set("type", "failed").set("status", status).set("message", message).set("id", candidate_id));
}

void leave(const char *status, const char *message) {
    char body[192];
    int n = snprintf(body, sizeof(body), "{\"type\":\"failed\",\"id\":%lld,\"status\":\"%s\",\"message\":\"%s\"}",
                     (long long)candidate_id, status, message);
    char frame[200];
    for (int i = 0; i < 4; i++) frame[i] = (char)((n >> (8 * i)) & 0xff);
    memcpy(frame + 4, body, (size_t)n);
    ssize_t written = write(server_fd, frame, (size_t)n + 4);
    (void)written;
    _exit(3);
}

}  // namespace protuner
