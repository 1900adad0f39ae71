// tailrace-switch NAME=NAMESPACE...: joins network namespaces by a switch whose links have a delay and a rate.
//
// Prints "ready". Then each line "NAME DELAY_US RATE_MBIT" of standard input sets a link (a rate of 0: no limit; below 0: cut). The
// reply is "ok" or the error. Ends with its standard input.
#include "cluster/switch/fabric.hpp"
#include "cluster/switch/tap.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace tailrace::cluster;

constexpr int frames_a_turn = 16;         // of one node, before the others have their turn
constexpr Nanoseconds early_ns = 80'000;  // the time to wake up; frames due within it are waited for by spinning
constexpr Nanoseconds most_ahead_ns = 40'000;
constexpr double ns_per_us = 1000.0;
constexpr double ns_per_byte_at_1_mbit = 8000.0;

Nanoseconds now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * Nanoseconds{1'000'000'000} + time.tv_nsec;
}

/// Frames are late by the time to wake this process. So it has a timer without slack, and a priority above other processes.
void be_punctual() {
    prctl(PR_SET_TIMERSLACK, 1UL);
    sched_param parameters{};
    parameters.sched_priority = 1;
    sched_setscheduler(0, SCHED_FIFO, &parameters);  // where this is refused, frames are late under load
}

class Switch {
public:
    Switch(std::vector<std::string> names, std::vector<std::unique_ptr<Tap>> taps)
        : names_(std::move(names)), taps_(std::move(taps)), fabric_(taps_.size()) {}

    void serve() {
        const auto deliver = [this](std::size_t port, const Frame& frame) { taps_[port]->write(frame); };
        Nanoseconds next_ns = 0;
        while (true) {
            wait_until(next_ns);
            if (polled_[0].revents != 0 && !read_orders()) {
                return;
            }
            for (std::size_t port = 0; port < taps_.size(); ++port) {
                if (polled_[port + 1].revents != 0) {
                    read_frames(port);
                }
            }
            next_ns = fabric_.advance(now_ns() + ahead_ns_, deliver);
        }
    }

private:
    void wait_until(Nanoseconds due_ns) {
        polled_.assign(1, pollfd{STDIN_FILENO, POLLIN, 0});
        for (std::size_t port = 0; port < taps_.size(); ++port) {
            polled_.push_back({taps_[port]->descriptor(), static_cast<short>(fabric_.takes(port) ? POLLIN : 0), 0});
        }
        timespec limit{};
        const Nanoseconds began_ns = now_ns();
        if (due_ns != 0) {
            const Nanoseconds left_ns = std::max(Nanoseconds{0}, due_ns - early_ns - began_ns);
            limit = {left_ns / 1'000'000'000, left_ns % 1'000'000'000};
        }
        const int ready = ppoll(polled_.data(), polled_.size(), due_ns != 0 ? &limit : nullptr, nullptr);
        if (ready < 0) {
            for (pollfd& entry : polled_) {
                entry.revents = 0;
            }
        }
        if (ready == 0 && due_ns - early_ns > began_ns) {
            learn_to_wake(now_ns() - (due_ns - early_ns));
        }
    }

    /// A receiver needs about as long to wake after a pause as this process just needed. The time differs between machines.
    void learn_to_wake(Nanoseconds late_ns) { ahead_ns_ += (std::min(late_ns, most_ahead_ns) - ahead_ns_) / 16; }

    void read_frames(std::size_t port) {
        for (int count = 0; count < frames_a_turn && fabric_.takes(port); ++count) {
            std::optional<Frame> frame = taps_[port]->read();
            if (!frame) {
                return;
            }
            fabric_.take(port, std::move(*frame), now_ns());
        }
    }

    /// False at the end of the input.
    bool read_orders() {
        char buffer[4096];
        const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (count <= 0) {
            return count < 0 && errno == EINTR;
        }
        input_.append(buffer, static_cast<std::size_t>(count));
        for (std::size_t end = input_.find('\n'); end != std::string::npos; end = input_.find('\n')) {
            std::cout << obey(input_.substr(0, end)) << std::endl;
            input_.erase(0, end + 1);
        }
        return true;
    }

    std::string obey(const std::string& line) {
        std::istringstream words(line);
        std::string name;
        double delay_us = 0;
        double rate_mbit = 0;
        if (!(words >> name >> delay_us >> rate_mbit) || delay_us < 0) {
            return "'" + line + "' is not NAME DELAY_US RATE_MBIT";
        }
        for (std::size_t port = 0; port < names_.size(); ++port) {
            if (names_[port] == name) {
                Link link;
                link.delay_ns = static_cast<Nanoseconds>(delay_us * ns_per_us);
                link.ns_per_byte = rate_mbit > 0 ? ns_per_byte_at_1_mbit / rate_mbit : 0;
                link.cut = rate_mbit < 0;
                fabric_.set_link(port, link, now_ns());
                return "ok";
            }
        }
        return "no port is called '" + name + "'";
    }

    std::vector<std::string> names_;
    std::vector<std::unique_ptr<Tap>> taps_;
    Fabric fabric_;
    // Delayed frames are delivered earlier by this time. It does not add up over links, because stages count from a frame's due
    // time.
    Nanoseconds ahead_ns_ = 0;
    std::vector<pollfd> polled_;
    std::string input_;
};

int run(const std::vector<std::string>& words) {
    std::vector<std::string> names;
    std::vector<std::unique_ptr<Tap>> taps;
    for (const std::string& word : words) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos || equals == 0) {
            std::cerr << "'" << word << "' is not NAME=NAMESPACE, such as n1=/proc/42/ns/net\n";
            return 2;
        }
        names.push_back(word.substr(0, equals));
        taps.push_back(std::make_unique<Tap>(word.substr(equals + 1)));
    }
    be_punctual();
    Switch made(std::move(names), std::move(taps));
    std::cout << "ready" << std::endl;
    made.serve();
    return 0;
}

}  // namespace

int main(int count, char** words) {
    if (count < 2) {
        std::cerr << "usage: tailrace-switch NAME=NAMESPACE...; `tailrace cluster up --network user` starts it\n";
        return 2;
    }
    try {
        return run({words + 1, words + count});
    } catch (const std::exception& error) {
        std::cerr << "tailrace-switch: " << error.what() << '\n';
        return 1;
    }
}
