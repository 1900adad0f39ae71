// A group of steps that are stored in the same parts. An object of the class is the part that this rank writes, or sends data to.
//
// A group is made under a pending name, and is renamed to its final name when its first step is committed. It grows by blocks of
// steps. Readers find a complete file at every moment: new metadata is written at the end of the file, then the superblock is
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
#include "stream/staged_part.hpp"

namespace tailrace {

class Group {
public:
    struct Place {
        std::string directory;  // of the group's files: the stream's, or on scratch
        std::string stream;
        uint64_t start = 0;    // the number of the group's first step
        uint64_t run = 0;      // the run's number, which is in the names of files that are not committed
        uint64_t segment = 0;  // the number in the names of the group's files; 0: they have none
        // With stage = scratch: of this rank, which publishes its part alone. `directory` then is the outbox's root, or the
        // stream's where scratch has no room.
        Outbox* outbox = nullptr;
    };
    // What this rank wrote of a step. Complete when the queue has done the work that end_write() submitted.
    struct Written {
        uint64_t digest = 0;        // the sum of the checksums of this rank's seals (checksum records) of the step
        ShownSteps::Step shown_by;  // what makes the step visible; set on the first writer of a part of several steps
    };

    // All writes go through `queue`. `part_ranks`: the ranks of this rank's part; null where it has only this one. `part`
    // may be null until set_content().
    Group(const Communicator& ranks, const Communicator* part_ranks, const StreamConfig& config, WriteQueue& queue, Place place,
          std::shared_ptr<DescribedPart> part, bool with_static);
    void set_content(std::shared_ptr<DescribedPart> part) { space_.set_content(std::move(part)); }

    // Local. Makes the directories that this rank makes, and the file where it has several writers; other ranks may use them after
    // the next agreement. `directory_exists`: the pending group's own directory was made before.
    void prepare(bool directory_exists) const;
    // Collective over the part's ranks, called only if a part of several writers grows: the first writer broadcasts the file
    // addresses of the next steps. An error is stored in `error`.
    void make_room(std::optional<Error>& error);
    // Local. Continues with the `steps` steps that an earlier run wrote into the part that is the dataset. `committed`: those of
    // the steps that still exist; only the first writer needs them.
    void reopen(const PartGrowth& growth, uint64_t steps, const std::vector<StepEntry>& committed);

    // Local. Opens the file for the next step. `alone`: no other rank writes between this rank's arrays.
    // `may_come_first`: this rank may reach its part before the rank that makes the directory does, so it makes it, too.
    void begin_write(bool alone, bool may_come_first);
    void write_own(const Definitions& definitions, const StepPlan& plan, const StepData& data, double time) {
        if (role_.is_writer()) step_.write_own(space_, definitions, plan, data, time);
    }
    // Adds elements of an array that other ranks have sent. `element`: the first one's index in the array.
    void add_exchanged(size_t array, uint64_t element, uint64_t element_bytes, const std::byte* data, uint64_t bytes) {
        step_.add(space_.array_address(array, steps_) + element * element_bytes, data, bytes);
    }
    void write_out() { step_.write_out(); }
    // The file address behind all data and metadata, where a step's compressed chunks begin. Known on the part's first rank.
    uint64_t end() const { return space_.end(); }
    // Records the file addresses of the step's compressed chunks, on the part's first rank.
    void place_chunks(const ChunkPlaces& chunks) {
        if (role_.is_first_writer()) space_.place_chunks(chunks, steps_);
    }
    // Writes compressed chunks, as bytes that are contiguous in the file.
    void write_chunks(uint64_t address, const std::byte* data, uint64_t bytes) {
        step_.add(address, data, bytes);
        step_.write_out();
    }
    // Writes the step's seals (checksum records) and metadata; in a part of one step, the superblock, too.
    // With stage = scratch, also gives the part its name.
    std::shared_ptr<const Written> end_write();
    // Forgets what was written of a step that failed, here or on another rank.
    void abandon_step() noexcept {
        step_.end();
        space_.forget_metadata();
    }
    // Local. Counts the step that was written last as part of the group, so that the next step is written behind it.
    void accept_step() { ++steps_, space_.mark_blocks_known(); }

    // Rank 0. Renames the pending group to its final name.
    void publish(WriteQueue::Needs needs);
    // Local. Called when a step is committed, to make it visible to readers. `number`: the step's index in the group, from 0.
    void on_step_committed(uint64_t number, const Written& written);
    // Local, called when all steps of the group are committed: makes all of them visible to readers.
    void show_all() {
        if (shows_steps()) shown_.show_all(file_, steps_);
    }
    // Local, called when all steps of the group are committed. Truncates the part behind them and closes it.
    void finish();
    void discard() const noexcept;  // removes a group without steps: rank 0, or with stage = scratch each rank its part

    bool is_full() const { return steps_ == space_.capacity_steps(); }
    bool has_steps() const { return steps_ > 0; }
    // With stage = scratch: whether this rank's part has all its steps and is at the target. True on ranks that write none.
    bool has_arrived() const { return staged_.has_arrived() || !role_.is_writer(); }
    // With stage = scratch, when all steps of a full group are staged: gives this rank's part to the drain.
    void leave_scratch();
    bool is_published() const { return state_ == State::published; }  // known on rank 0, and if an earlier run published the group
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
    bool is_on_scratch() const { return staged_.is_on_scratch(); }
    bool has_grown() const { return space_.has_new_blocks(); }  // since a step was accepted last
    std::string part_path() const;                              // the final path, once the group is published
    std::string present_path() const;                           // the path that the part has now

private:
    enum class State { pending, published };

    Durability durability() const { return config_.layout.storage.durability; }
    bool syncs_steps() const { return durability() == Durability::step; }
    bool has_several_writers() const { return part_ranks_ != nullptr && role_.writers > 1; }
    bool shows_steps() const { return space_.has_several_steps() && role_.is_first_writer(); }
    void lay_out_more();
    void open_file(bool may_come_first);
    void check_path() const;
    void write_metadata(Written& written);
    void close_file();
    std::string pending_group_path() const {
        return path_of(pending_path(config_.layout, place_.stream, place_.start, place_.run));
    }
    std::string pending_part_path() const;
    std::string path_of(const std::string& relative) const { return place_.directory + "/" + relative; }

    const Communicator* part_ranks_;
    const StreamConfig& config_;
    WriteQueue& queue_;
    const Place place_;
    const PartRole role_;
    const bool with_static_;
    State state_ = State::pending;
    uint64_t steps_ = 0;  // accepted (accept_step), committed or not
    uint64_t committed_ = 0;
    PartSpace space_;
    std::shared_ptr<HeldFile> file_;  // opened through the queue; null until then
    PartStepWriter step_;
    ShownSteps shown_;
    StagedPart staged_;
};

// The paths of the groups that still have the pending name of a run before `before_run`: their steps were never committed.
std::vector<std::string> pending_paths(const std::string& directory, const std::string& stream, uint64_t before_run);

}  // namespace tailrace
