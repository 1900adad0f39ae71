// The steps that readers see in a part of several steps, on its first writer. Each step brings the metadata that shows it. After
// the commit, a superblock that points to this metadata is put in force (docs/decisions/0030-a-part-shows-what-is-committed.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "part/version_file.hpp"
#include "part/write_queue.hpp"
#include "stream/part_space.hpp"

namespace tailrace {

class ShownSteps {
public:
    // What shows a step to readers, once it is committed.
    struct Step {
        ShownBy by;
        bool is_private = false;  // a later step shows it, too: steps come too fast to show each
    };
    using File = std::shared_ptr<HeldFile>;

    // What it writes goes through the queue.
    ShownSteps(WriteQueue& queue, PartSpace& space) : queue_(queue), space_(space) {}

    // The part of an earlier run shows so many steps.
    void begin_at(uint64_t steps) { *shown_ = steps; }
    // Writes what shows the first `steps` steps. The last of them is not committed yet.
    Step write(const File& file, uint64_t steps);
    void on_step_committed(const File& file, const Step& step);
    // All of these steps are committed: readers are shown them. Waits for the queue.
    void show_all(const File& file, uint64_t steps);
    // The same where the part grows no more: what was laid out and never written is cut off.
    void show_last(const File& file, uint64_t steps, bool sync);

    // How many readers see, as far as the queue is.
    uint64_t count() const { return *shown_; }
    // Why the last committed step could not be shown.
    const std::optional<Error>& error() const { return error_; }

private:
    void put(const File& file, WriteQueue::Needs needs);

    WriteQueue& queue_;
    PartSpace& space_;
    std::optional<ShownBy> unshown_;  // of the last committed step, where it is not shown yet
    std::shared_ptr<std::atomic<uint64_t>> shown_ = std::make_shared<std::atomic<uint64_t>>(0);  // the queue sets it
    std::optional<Error> error_;
};

}  // namespace tailrace
