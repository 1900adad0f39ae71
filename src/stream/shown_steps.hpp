// The steps that readers see in a part of several steps; used on the part's first writer. With each step the metadata that shows it
// is written. After the commit, a superblock that points to this metadata is written
// (docs/decisions/0030-a-part-shows-what-is-committed.md).
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
        bool is_private = false;  // not shown alone: a later step's metadata shows this step, too, as steps come too fast
    };
    using File = std::shared_ptr<HeldFile>;

    // All writes go through `queue`.
    ShownSteps(WriteQueue& queue, PartSpace& space) : queue_(queue), space_(space) {}

    // Begins with the part of an earlier run, which shows its first `steps` steps.
    void begin_at(uint64_t steps) { *shown_ = steps; }
    // Writes the metadata that shows the first `steps` steps, before the last of them is committed.
    Step write(const File& file, uint64_t steps);
    // Shows the step, unless it is private.
    void on_step_committed(const File& file, const Step& step);
    // Shows the first `steps` steps, which are all committed. Waits for the queue.
    void show_all(const File& file, uint64_t steps);
    // Shows the first `steps` steps of a part that does not grow any more, and truncates the file behind them.
    void show_last(const File& file, uint64_t steps, bool sync);

    // How many steps readers see, as far as the queue has done its work.
    uint64_t count() const { return *shown_; }
    // Why the last committed step could not be shown.
    const std::optional<Error>& error() const { return error_; }

private:
    void put(const File& file, WriteQueue::Needs needs);

    WriteQueue& queue_;
    PartSpace& space_;
    std::optional<ShownBy> unshown_;  // what will show the last committed step; none: it is shown
    std::shared_ptr<std::atomic<uint64_t>> shown_ = std::make_shared<std::atomic<uint64_t>>(0);  // the queue sets it
    std::optional<Error> error_;
};

}  // namespace tailrace
