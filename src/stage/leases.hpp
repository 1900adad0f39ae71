// Read leases (fcntl F_SETLEASE): with one, the kernel guarantees that no process has the file open for writing. One thread gives a
// lease up as soon as a program wants to write to the file, so that the program does not wait.
#pragma once

#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace tailrace {

enum class LeaseAnswer : uint8_t { granted, busy, not_supported };

class Leases {
public:
    // Blocks the signal that the kernel sends when a lease breaks, and starts the thread that waits for it. Construct this object
    // before any other thread starts, because the signal must be blocked in all threads.
    Leases();
    Leases(const Leases&) = delete;
    ~Leases();

    // Asks for a lease on a file that is open for reading. Thread-safe, like the other functions of this class.
    LeaseAnswer take(int descriptor);
    // Whether the lease was held from take() until now.
    bool is_held(int descriptor);
    void give_up(int descriptor);  // before the descriptor is closed

private:
    enum class State : uint8_t { none, held, broken };
    void watch();
    void break_one(size_t descriptor);

    std::mutex mutex_;
    std::vector<State> states_;  // by descriptor
    std::thread watcher_;
};

}  // namespace tailrace
