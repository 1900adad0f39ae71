// Read leases: the kernel's word that no process has a file open for writing. One thread gives a lease up as soon as a program
// wants to write to the file, so that the program does not wait.
#pragma once

#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace tailrace {

enum class LeaseAnswer : uint8_t { granted, busy, not_supported };

class Leases {
public:
    // RATIONALE: the kernel sends a signal to the process when a lease breaks. It is blocked for every thread, and one thread waits
    // for it. So make this before other threads.
    Leases();
    Leases(const Leases&) = delete;
    ~Leases();

    // Asks for a lease on a file that is open for reading. Thread-safe, as all here.
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
