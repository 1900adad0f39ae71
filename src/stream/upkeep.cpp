#include "stream/upkeep.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/paths.hpp"
#include "gather/agree.hpp"
#include "view/index.hpp"

namespace tailrace {
namespace {

// The least time between two writes of the index: at least one second, and so long that writing takes about a hundredth of the run.
// But the index is never older than ten seconds or a hundredth of the run, whichever is longer.
double index_interval_s(double cost_s, double run_s) { return std::max(1.0, std::min(100 * cost_s, std::max(10.0, run_s / 100))); }

}  // namespace

Upkeep::Upkeep(const Communicator& ranks, StreamPaths paths, const StreamConfig& config, StreamJournal& journal)
    : ranks_(ranks), paths_(std::move(paths)), config_(config), journal_(journal),
      index_is_stale_(!journal.history().empty()),  // a run that was killed may have left an older index
      shown_end_(journal.history().next_step()) {}  // opening the stream has made the parts show all committed steps

void Upkeep::on_all_shown() { shown_end_ = journal_.history().next_step(); }

void Upkeep::refresh_index_and_retention() {
    drop_old_steps();
    refresh_index(false);
}

// Updates first the journal, then the index, then removes the files, so that every step that a reader sees exists.
void Upkeep::drop_old_steps() {
    if (ranks_.rank() != 0 || config_.keep_steps == 0) return;
    const History& history = journal_.history();
    if (history.steps.size() > config_.keep_steps) {
        const StepEntry& oldest = history.steps[history.steps.size() - config_.keep_steps];
        const uint64_t first = history.steps.front().step, end = history.groups[oldest.group].start;
        if (first < end) {
            journal_.journal_drop(first, end - 1, syncs());
        }
    }
    remove_old_groups();
}

void Upkeep::remove_old_groups() {
    const History& history = journal_.history();
    const std::vector<size_t> needed = history.needed_groups();
    // Do not remove torn groups: they were set aside or removed before, and another group may have their names now.
    std::vector<size_t> old;
    for (size_t g = 0; g < history.groups.size(); ++g)
        if (!history.groups[g].torn && !std::binary_search(needed.begin(), needed.end(), g)) old.push_back(g);
    if (old.empty() || steps_for_index() == 0) return;
    journal_.access()->check_is_last();
    index_is_stale_ = true;
    refresh_index(true);
    for (const size_t g : old) remove_tree(paths_.path(group_path(history.groups[g], paths_.name)));
    journal_.forget_groups(old);
}

void Upkeep::refresh_index(bool is_last) {
    if (ranks_.rank() != 0) return;
    const WriteAccess& access = *journal_.access();
    const History& history = journal_.history();
    if (!access.was_overtaken()) {
        if (!index_is_stale_ || (history.empty() && !history.is_static_only())) return;
        if (!history.empty() && (config_.layout.part_is_dataset() || history.groups.back().layout.part_is_dataset())) {
            // If earlier steps are in a part that is the dataset (NAME.nc), an index would overwrite this file.
            if (history.groups.back().segment == 0) return;
            if (access.is_last()) show_dataset(paths_.directory, paths_.name, history.groups.back(), paths_.run);
        } else {
            const double now_s = seconds_now();
            if (!is_last && indexed_below_ > 0 && now_s - index_at_s_ < index_interval_s(index_cost_s_, now_s - began_s_)) return;
            if (access.is_last()) write_index_of_run(steps_for_index());
        }
        if (access.is_last()) return;
    }
    // Another run has taken over, and may have shown its steps already. Show what the journal says, not this run's steps.
    if (is_last) show_journal(paths_.directory, paths_.name, paths_.run, syncs());
}

// Compares with the listings of the groups' directories, one listing for each directory, because a run may have thousands of
// groups.
void Upkeep::check_parts() const {
    if (ranks_.rank() != 0 || !journal_.access()->is_last()) return;
    const History& history = journal_.history();
    std::map<std::string, std::vector<std::string>> names;  // by directory
    for (const GroupEntry& group : history.groups) {
        if (group.run + 1 != history.runs.size() || group.steps == 0) continue;  // others may have been archived
        const std::string path = paths_.path(group_path(group, paths_.name)), directory = parent_of(path);
        if (!path.starts_with(paths_.parts())) continue;  // the part is NAME.nc, which its writer checks
        const auto [listed, is_new] = names.try_emplace(directory);
        if (is_new) listed->second = list_directory(directory);
        if (std::ranges::binary_search(listed->second, path.substr(directory.size() + 1))) continue;
        fail(Status::NOT_FOUND, path, " is no longer there: another program has moved or removed it, and step ", group.start,
             " with it; put it back, or let `tailrace repair` take it off the list of steps");
    }
}

size_t Upkeep::steps_for_index() const {
    const std::vector<StepEntry>& steps = journal_.history().steps;
    if (!waits_for_parts()) return steps.size();
    const auto end = std::ranges::lower_bound(steps, shown_end_, {}, &StepEntry::step);
    return static_cast<size_t>(end - steps.begin());
}

void Upkeep::write_index_of_run(size_t steps) {
    const History& history = journal_.history();
    if (steps == 0 && !history.is_static_only()) return;
    Stopwatch watch;
    write_index(paths_.directory, paths_.name, history, {indexed_below_, steps}, syncs(), paths_.run);
    index_is_stale_ = steps < history.steps.size();
    indexed_below_ = steps > 0 ? history.steps[steps - 1].step + 1 : 0;
    index_cost_s_ = watch.lap();
    index_at_s_ = seconds_now();
}

void Upkeep::make_next_directory(uint64_t by, uint64_t next_step) {
    if (ranks_.rank() != by || config_.layout.steps != 1 || has_one_part(config_.layout)) return;
    if (config_.layout.stage != Stage::none) return;  // each rank makes it on its scratch
    attempt([&] {                                     // if rank 0 cannot make it either, the next step fails with its error
        next_directory_ = paths_.pending(config_.layout, next_step);
        make_directories(next_directory_, paths_.parts());
    });
}

void Upkeep::remove_next_directory() noexcept {
    if (!next_directory_.empty()) remove_directory_if_empty(next_directory_);
    next_directory_.clear();
}

void Upkeep::on_part_written(const Group& group) {
    if (!syncs_at_close() || !group.role().is_writer() || group.is_on_scratch()) return;  // the drain syncs what is on scratch
    const std::string part = group.part_path();
    if (config_.layout.steps == 1) unsynced_parts_.push_back(part);  // others are flushed when they are closed
    for (std::string above = parent_of(part); above.starts_with(paths_.parts()); above = parent_of(above))
        unsynced_directories_.insert(above);
}

void Upkeep::sync_written(bool has_steps) {
    std::optional<Error> error;
    // With retention, rank 0 has removed parts that became too old.
    const auto sync = [&](auto&& work) {
        const auto failed = attempt(work);
        const bool is_gone = failed && failed->status() == Status::NOT_FOUND && config_.keep_steps > 0;
        if (failed && !is_gone && !error) error = failed;
    };
    for (const std::string& part : unsynced_parts_)
        sync([&] {
            File file = File::open_write(part);
            file.sync();
            file.close();
        });
    unsynced_parts_.clear();
    for (const std::string& directory : unsynced_directories_) sync([&] { sync_directory(directory); });
    unsynced_directories_.clear();
    if (error) throw *error;
    if (ranks_.rank() != 0 || !has_steps) return;
    File journal = File::open_write(journal_.access()->present_path());
    journal.sync();
    journal.close();
    sync_directory(paths_.parts());
    sync_directory(paths_.directory);
}

}  // namespace tailrace
