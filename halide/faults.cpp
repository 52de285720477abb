#include "faults.h"

#include <csignal>
#include <cstring>
#include <stdexcept>
#include <unistd.h>
#include <vector>

#include "wire.h"

namespace protuner {

#ifdef PROTUNER_FAULTS

void inject(const std::string &fault, int fd, int64_t id) {
    if (fault.empty()) return;
    if (fault == "crash") {
        raise(SIGSEGV);
    } else if (fault == "abort") {
        raise(SIGABRT);
    } else if (fault == "hang") {
        for (;;) pause();
    } else if (fault == "spin") {
        for (volatile uint64_t i = 0;; i = i + 1) {
        }
    } else if (fault == "allocate") {
        std::vector<char *> all;
        for (;;) {
            all.push_back(new char[64 << 20]);
            memset(all.back(), 1, 64 << 20);
        }
    } else if (fault == "nonsense") {
        std::string noise(4096, '\xee');
        ssize_t n = write(fd, noise.data(), noise.size());
        (void)n;
        for (;;) pause();
    } else if (fault == "truncate") {
        ssize_t n = write(fd, "\x40\0\0\0{\"ty", 8);
        (void)n;
        _exit(0);
    } else if (fault == "flood") {
        std::string noise(1 << 20, ' ');
        while (write(fd, noise.data(), noise.size()) > 0) {
        }
        _exit(0);
    } else if (fault == "exit") {
        _exit(0);
    } else if (fault == "twice") {
        Json j = Json::object().set("type", "built").set("id", id).set("lower_ns", 1).set("link_ns", 1);
        send_message(fd, j);
        send_message(fd, j);
        for (;;) pause();
    } else if (fault == "other") {
        send_message(fd, Json::object().set("type", "built").set("id", id + 1).set("lower_ns", 1).set("link_ns", 1));
        for (;;) pause();
    } else if (fault == "orphan") {
        // A grandchild that would outlive a careless server.
        if (fork() == 0) {
            for (;;) pause();
        }
        raise(SIGSEGV);
    } else {
        throw std::runtime_error("unknown fault " + fault);
    }
}

#else

void inject(const std::string &fault, int, int64_t) {
    if (!fault.empty()) throw std::runtime_error("this plugin was built without faults");
}

#endif

}  // namespace protuner
