// Maintains the index, removes old steps (keep = N), makes the directory of the next step, and calls fsync at the end. Nothing here
// decides whether a step is committed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "gather/communicator.hpp"
#include "layout/keys.hpp"
#include "stream/stream_journal.hpp"
#include "stream/stream_paths.hpp"

namespace tailrace {

class Upkeep {
public:
    Upkeep(const Communicator& ranks, StreamPaths paths, const StreamConfig& config, StreamJournal& journal);

    // Both on rank 0: the index must be written again.
    void on_step_journaled() { index_is_stale_ = true; }
    void on_history_reloaded() { indexed_below_ = 0, index_is_stale_ = true; }
    // Rank 0. Called when all parts show the steps below number `end`, so that the index may have them.
    void on_steps_shown(uint64_t end) { shown_end_ = end; }
    // Rank 0. Called when all parts show all steps that are committed.
    void on_all_shown();
    // Whether the index shows steps only once all parts do.
    bool waits_for_parts() const {
        return config_.layout.steps != 1 && !config_.layout.part_is_dataset() && config_.layout.stage == Stage::none;
    }
    // Removes old steps and updates the index. Rank 0, called while no step is being committed, when the journal and the history
    // agree. Does nothing on other ranks.
    void refresh_index_and_retention();
    void refresh_index(bool is_last);
    // Rank 0: throws NOT_FOUND if another program has removed or moved parts that this run has committed. Does nothing on others.
    void check_parts() const;

    // Makes the directory of step `next_step` on rank `by`; does nothing on the others. A rank other than 0 may call it while rank
    // 0 commits, which saves rank 0 about 0.1 ms a step.
    void make_next_directory(uint64_t by, uint64_t next_step);
    void remove_next_directory() noexcept;

    // With durability = close: notes a part that sync_written() must sync.
    void on_part_written(const Group& group);
    // With durability = close, called when the stream is closed: syncs the parts, then the directories and the journal.
    void sync_written(bool has_steps);

private:
    bool syncs_steps() const { return config_.layout.storage.durability == Durability::step; }
    bool syncs_at_close() const { return config_.layout.storage.durability == Durability::close; }
    bool syncs() const { return syncs_steps() || syncs_at_close(); }
    void drop_old_steps();
    void remove_old_groups();
    void write_index_of_run(size_t steps);
    size_t steps_for_index() const;

    const Communicator& ranks_;
    const StreamPaths paths_;
    const StreamConfig& config_;
    StreamJournal& journal_;
    bool index_is_stale_;
    uint64_t shown_end_;
    uint64_t indexed_below_ = 0;  // the index is up to date for the steps below this number; 0: this run has written no index
    const double began_s_ = seconds_now();
    double index_cost_s_ = 0, index_at_s_ = began_s_;  // of the index that was written last
    std::string next_directory_;                       // the directory that this rank has made for the next step
    std::vector<std::string> unsynced_parts_;
    std::set<std::string> unsynced_directories_;
};

}  // namespace tailrace
