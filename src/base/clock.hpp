// Monotonic time.
#pragma once

#include <chrono>

namespace tailrace {

inline double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Stopwatch {
public:
    // Seconds since the last call of lap(), or since construction.
    double lap() {
        const double now = seconds_now(), seconds = now - last_;
        last_ = now;
        return seconds;
    }

private:
    double last_ = seconds_now();
};

}  // namespace tailrace
