// The parts of this rank that are on scratch (stage = scratch), and the thread that carries them to the target
// (docs/decisions/0049-a-staged-step-is-committed-at-the-target.md). The thread calls neither MPI nor HDF5.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/own_descriptor.hpp"
#include "stage/drain.hpp"
#include "stage/scratch.hpp"

namespace tailrace {

class Outbox {
public:
    struct Place {
        std::string scratch;  // a folder of the node, without links
        std::string name;     // of the outbox in it
        std::string stream;
        std::string target;  // NAME.parts
        uint64_t min_free_bytes = 0;
    };
    struct Counts {
        uint64_t files = 0, bytes = 0;  // at the target
        uint64_t waiting = 0;           // files on scratch that were handed over
        uint64_t direct = 0;            // files that were made at the target, because scratch had no room
    };
    using Arrived = std::shared_ptr<std::atomic<bool>>;

    // Makes the folder. Throws.
    explicit Outbox(Place place);
    Outbox(const Outbox&) = delete;
    // Ends the thread. Removes the folder if no file is left in it.
    ~Outbox();

    // Has NAME.parts, as the stream's directory does.
    const std::string& root() const { return root_; }
    // For `tailrace drain`: it has the same files as NAME.parts at the target.
    std::string folder() const { return root_ + "/" + folder_name_; }
    // Whether a file of this size leaves min_free_bytes on scratch.
    bool has_room(uint64_t bytes) const;
    void count_direct();
    // Takes a file that is complete and closed; `path` is below folder(). Sets `arrived` when the file is at the target, and
    // removes the empty directories above it up to `group`. A drain that has stopped tries again.
    void hand_over(const std::string& path, const std::string& group, Arrived arrived);
    // Waits until all files that were handed over are at the target, or the drain has stopped, after another try. Returns why.
    std::optional<Error> wait();
    Counts counts() const;

private:
    enum class State : uint8_t { draining, stopped, ending };
    struct Waiting {
        std::string path, group;
        Arrived arrived;
    };
    void drain();
    void deliver(const std::deque<Waiting>& files);
    void forget_delivered();

    const Place place_;
    const std::string root_, folder_name_;
    std::optional<Scratch> scratch_;
    OwnDescriptor lock_;
    std::optional<Drain> drain_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Waiting> waiting_;
    State state_ = State::draining;
    std::optional<Error> error_;
    Counts counts_;
    bool has_begun_ = false;  // the drain; used by the thread alone
    std::thread thread_;
};

}  // namespace tailrace
