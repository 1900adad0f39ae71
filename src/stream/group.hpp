// A group of steps that are stored in the same parts. This is the part that this rank writes, or helps to fill.
//
// A group is made under its pending name. One rename gives it its name when its first step is committed, and it grows by blocks of
// steps. What readers open is whole at every moment: new metadata is written behind all that exists, then the superblock is
// replaced.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "gather/communicator.hpp"
#include "part/image.hpp"
#include "part/write_queue.hpp"
#include "record/history.hpp"
#include "stream/part_space.hpp"
#include "stream/part_step_writer.hpp"
#include "stream/shown_steps.hpp"

namespace tailrace {

class Group {
public:
    struct Place {
        std::string directory;  // of the stream's files
        std::string stream;
        uint64_t start = 0;    // the first step
        uint64_t run = 0;      // in the names of what is not committed
        uint64_t segment = 0;  // in the names of its files; 0: none
    };
    // What this rank wrote of a step. Complete when the queue has done the work that end_write() submitted.
    struct Written {
        uint64_t digest = 0;        // the sum of its seals' checksums
        ShownSteps::Step shown_by;  // on the first writer of a part of several steps
    };

    // What it writes goes through the queue. `part_ranks`: the ranks of this rank's part; null where it has only this one. `part`
    // may be null until set_content().
    Group(const Communicator& ranks, const Communicator* part_ranks, const StreamConfig& config, WriteQueue& queue, Place place,
          std::shared_ptr<DescribedPart> part, bool with_static);
    void set_content(std::shared_ptr<DescribedPart> part) { space_.set_content(std::move(part)); }

    // Local. Makes the directories that this rank makes, and the file where it has several writers; other ranks may use them after
    // the next agreement. `directory_exists`: the pending group's own directory was made before.
    void prepare(bool directory_exists) const;
    // Collective over the part's ranks, and only where a part of several writers grows: the first writer broadcasts where the next
    // steps are. Errors are kept in `error`.
    void make_room(std::optional<Error>& error);
    // Local. Continues with the steps that an earlier run wrote into the part that is the dataset. The first writer needs
    // `committed`, those of them that still exist.
    void reopen(const PartGrowth& growth, uint64_t steps, const std::vector<StepEntry>& committed);

    // Local. Opens the file for the next step. `alone`: no other rank writes between this rank's arrays.
    // `may_come_first`: this rank may reach its part before the rank that makes the directory does, so it makes it, too.
    void begin_write(bool alone, bool may_come_first);
    void write_own(const Definitions& definitions, const StepPlan& plan, const StepData& data, double time) {
        if (role_.is_writer()) step_.write_own(space_, definitions, plan, data, time);
    }
    // Elements of an array that came through the exchange.
    void add_exchanged(size_t array, uint64_t element, uint64_t element_bytes, const std::byte* data, uint64_t bytes) {
        step_.add(space_.array_address(array, steps_) + element * element_bytes, data, bytes);
    }
    void write_out() { step_.write_out(); }
    // Compressed chunks. Where those of the step begin, and their places, on the part's first rank; bytes that this writer writes.
    uint64_t end() const { return space_.end(); }
    void place_chunks(const ChunkPlaces& chunks) {
        if (role_.is_first_writer()) space_.place_chunks(chunks, steps_);
    }
    void write_chunks(uint64_t address, const std::byte* data, uint64_t bytes) {
        step_.add(address, data, bytes);
        step_.write_out();
    }
    // Seals and metadata. Where the part has one step, the superblock, too.
    std::shared_ptr<const Written> end_write();
    // Forgets what was written of a step that failed, here or on another rank.
    void abandon_step() noexcept {
        step_.end();
        space_.forget_metadata();
    }
    // Local. The step that was written last counts: the next one comes behind it.
    void accept_step() { ++steps_, space_.mark_blocks_known(); }

    // Rank 0. The pending group gets its name.
    void publish(WriteQueue::Needs needs);
    // Local. The step with this number in the group, from 0, is committed: readers are shown it.
    void on_step_committed(uint64_t number, const Written& written);
    // Local, when all its steps are committed: readers are shown all of them.
    void show_all() {
        if (shows_steps()) shown_.show_all(file_, steps_);
    }
    // Local, when all its steps are committed. Cuts the part to them and closes it.
    void finish();
    void discard() const noexcept;  // rank 0: removes a group that was never published

    bool is_full() const { return steps_ == space_.capacity_steps(); }
    bool has_steps() const { return steps_ > 0; }
    bool is_published() const { return state_ == State::published; }  // on rank 0, and where an earlier run published it
    // How many committed steps readers of this rank's part do not see yet; on its first writer, 0 on the others.
    uint64_t unshown_steps() const { return shows_steps() ? committed_ - shown_.count() : 0; }
    bool all_steps_committed() const { return committed_ == steps_; }
    uint64_t steps() const { return steps_; }
    uint64_t start() const { return place_.start; }
    uint64_t segment() const { return place_.segment; }
    bool with_static() const { return with_static_; }
    const PartRole& role() const { return role_; }
    uint64_t part_bytes() const { return space_.image() ? space_.image()->file_bytes : 0; }
    PartGrowth growth() const;
    bool has_grown() const { return space_.has_new_blocks(); }  // since a step was accepted last
    std::string part_path() const;                              // once it is published
    std::string present_path() const;                           // at any time

private:
    enum class State { pending, published };

    Durability durability() const { return config_.layout.storage.durability; }
    bool syncs_steps() const { return durability() == Durability::step; }
    bool has_several_writers() const { return part_ranks_ != nullptr && role_.writers > 1; }
    bool shows_steps() const { return space_.has_several_steps() && role_.is_first_writer(); }
    void lay_out_more();
    void open_file(bool may_come_first);
    void write_missing_times(const std::vector<StepEntry>& committed);
    void check_path() const;
    void write_metadata(Written& written);
    void close_file();
    std::string pending_part_path() const;
    std::string path_of(const std::string& relative) const { return place_.directory + "/" + relative; }

    const Communicator* part_ranks_;
    const StreamConfig& config_;
    WriteQueue& queue_;
    const Place place_;
    const PartRole role_;
    const bool with_static_;
    State state_ = State::pending;
    uint64_t steps_ = 0;  // accepted
    uint64_t committed_ = 0;
    PartSpace space_;
    std::shared_ptr<HeldFile> file_;  // opened through the queue; null until then
    PartStepWriter step_;
    ShownSteps shown_;
};

// The paths of the groups with pending names of runs before this number: their steps were never committed.
std::vector<std::string> pending_paths(const std::string& directory, const std::string& stream, uint64_t before_run);

}  // namespace tailrace
