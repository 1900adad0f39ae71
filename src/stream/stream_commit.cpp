// The second half of a step: it is committed - at once, or with overlap once all ranks have written it -, and then shown.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "gather/communicator_pool.hpp"
#include "layout/parts.hpp"
#include "stream/stream.hpp"
#include "view/index.hpp"

namespace tailrace {
namespace {

// The index is written anew at most so often that it takes a twentieth of the run, and at most once a second.
constexpr double kIndexShare = 20, kIndexIntervalS = 1;
// Retention and the index come at moments when nothing is being committed. Where the device is slower than the simulation there are
// none: after so many calls none is begun until there is one.
constexpr int kMostCallsWithoutTidy = 8;

}  // namespace

void Stream::start_queue() {
    if (config_.layout.overlap_steps == 0) {
        queue_ = std::make_unique<WriteQueue>();
        return;
    }
    const auto error = attempt([&] {
        const bool spills = config_.overlap_policy == OverlapPolicy::spill;
        queue_ = std::make_unique<WriteQueue>(WriteQueue::Window{config_.overlap_bytes, spills ? config_.spill_directory : ""});
    });
    agree(*ranks_, {.call = Call::open}, error);
}

// Whether there is no room for the step, and it is to be left out.
bool Stream::drops_step() const {
    if (!queue_->is_later() || config_.overlap_policy != OverlapPolicy::drop) return false;
    return steps_behind() >= config_.layout.overlap_steps || !queue_->has_room(step_bytes_);
}

// No more steps are in flight than were asked for.
void Stream::wait_for_turn() {
    bytes_before_ = queue_->copied_bytes();
    if (!queue_->is_later()) return;
    const uint64_t allowed = config_.layout.overlap_steps;
    if (in_flight_.size() < allowed) return;
    Stopwatch watch;
    queue_->wait(in_flight_[in_flight_.size() - allowed].when_written);
    times_.turn_s += watch.lap();
}

// What a rank says of a step that it has written.
void Stream::count_in(const StepInFlight& step, Ballot& ballot) const {
    ballot.bytes = step.bytes;
    if (!queue_->is_later()) ballot.digest = step.written->digest;
}

// Without overlap. The others hear that all have written when rank 0 has recorded it.
void Stream::commit(StepInFlight& step, const Ballot& wrote, const std::optional<Error>& error) {
    agree(*ranks_, wrote, error, [&](const Ballot& all) { record(step, all); }, [this] { make_next_directory(1); });
    has_committed(step);
}

// Rank 0.
void Stream::record(StepInFlight& step, const Ballot& all) {
    record_run();
    step.plan = plan_of_step();
    step.bytes = all.bytes;
    record_step(step, all.digest);
    // Nobody waits with it on its node: before the others go on, who would all make it.
    if (ranks_->size() > 1 && ranks_->node_size() == 1 && writes_first()) make_next_directory(0);
}

void Stream::has_committed(const StepInFlight& step) {
    group_->accept_step();
    count_step();
    step_is_committed(step);
}

// Of the step after this one, by a rank that waits while rank 0 commits: a tenth of a millisecond less for rank 0 at the next.
void Stream::make_next_directory(uint64_t by) {
    if (ranks_->rank() != by || config_.layout.steps != 1 || has_one_part(config_.layout)) return;
    attempt([&] {  // rank 0 tells of it, if it cannot either
        next_directory_ = path(pending_path(config_.layout, name_, accepted_ + 1));
        make_directories(next_directory_, path(parts_directory(name_)));
    });
}

void Stream::remove_next_directory() noexcept {
    if (!next_directory_.empty()) remove_directory_if_empty(next_directory_);
    next_directory_.clear();
}

// With overlap.
void Stream::accept(StepInFlight step, const Ballot& all) {
    // The ranks have agreed that the step is taken: what fails now is told later, and then nothing more is committed.
    if (ranks_->rank() == 0) keep_late(attempt([&] { record_run(); }));
    step.plan = plan_of_step();
    step.bytes = all.bytes;
    step.when_written = queue_->asked();
    step_bytes_ = queue_->copied_bytes() - bytes_before_;
    step.durable_s = std::make_shared<std::atomic<double>>(0);
    group_->accept_step();
    count_step();
    in_flight_.push_back(std::move(step));
}

void Stream::count_step() {
    ++accepted_;
    static_written_ = true;
    started_ = true;
}

// Of the steps in flight, how many this rank has not written: those that it will never write are among them.
uint64_t Stream::steps_behind() const {
    const uint64_t done = queue_->done_well();
    uint64_t behind = 0;
    for (auto step = in_flight_.rbegin(); step != in_flight_.rend() && step->when_written > done; ++step) ++behind;
    return behind;
}

uint64_t Stream::steps_committed() const {
    if (ranks_->rank() != 0) return 0;
    uint64_t committed = 0;
    while (committed < asked_ && in_flight_[committed].durable_s->load() > 0) ++committed;
    return committed;
}

// Collective. What the ranks have told is followed: steps that rank 0 has committed are no longer in flight, and those that all
// have written are committed.
void Stream::commit_written(const Ballot& ballot) {
    const uint64_t written = in_flight_.size() - ballot.behind;
    for (uint64_t k = 0; k < ballot.told; ++k, --asked_) {
        step_is_committed(in_flight_.front());
        in_flight_.pop_front();
    }
    // While nothing is being committed the journal and the history say the same.
    if (asked_ == 0) attempt([&] { tidy(false); });
    calls_without_tidy_ = asked_ == 0 ? 0 : calls_without_tidy_ + 1;
    if (calls_without_tidy_ > kMostCallsWithoutTidy) return;
    for (; asked_ < written - ballot.told; ++asked_) {
        StepInFlight& step = in_flight_[asked_];
        const Ballot all = agree(*ranks_, {.call = Call::write, .digest = step.written->digest}, std::nullopt);
        if (ranks_->rank() != 0) continue;
        step.when_committed = UINT64_MAX;
        if (late_) continue;
        keep_late(attempt([&] {
            // All ranks have written it: what fails of later steps does not take it along.
            const WriteQueue::Commit commit(*queue_, step.when_written);
            record_step(step, all.digest);
            queue_->run([at = step.durable_s] { *at = seconds_now(); });
            step.when_committed = queue_->asked();
        }));
    }
}

void Stream::step_is_committed(const StepInFlight& step) {
    step.group->step_committed(*step.content, step.number, step.time);
    if (sync_close() && step.group->writes() && config_.layout.steps == 1) unsynced_.push_back(step.group->part_path());
    if (step.group != group_ && step.group->settled()) keep_late(attempt([&] { step.group->finish(*step.content); }));
    ++times_.steps;
    const double durable_s = (step.durable_s ? step.durable_s->load() : seconds_now()) - step.began_s;
    times_.durable_s += durable_s;
    times_.longest_durable_s = std::max(times_.longest_durable_s, durable_s);
}

// Collective. Waits until everything is committed that can be. The error is this rank's.
std::optional<Error> Stream::settle_in_flight(Call call) {
    for (int round = 0; round < 2; ++round) {
        queue_->wait();
        commit_written(agree(*ranks_, {.call = call, .behind = steps_behind(), .told = steps_committed()}, std::nullopt));
    }
    queue_->wait();
    return error_of_queue();
}

// Outside of what the ranks agree on: told at the next agreement.
void Stream::keep_late(std::optional<Error> error) {
    if (error && !late_) late_ = std::move(error);
}

std::optional<Error> Stream::error_of_queue() const {
    auto error = queue_->error();
    if (!error) error = late_;
    if (!error || in_flight_.empty()) return error;
    uint64_t first = in_flight_.back().step;
    const auto will_come = [&](const StepInFlight& step) {
        if (step.when_written > queue_->done_well() || step.when_committed == UINT64_MAX) return false;
        return step.when_committed == 0 || step.durable_s->load() > 0 || !queue_->commit_failed();
    };
    for (auto step = in_flight_.rbegin(); step != in_flight_.rend(); ++step)
        if (!will_come(*step)) first = step->step;
    return Error(error->status(),
                 text("stream '", name_, "': while the run went on, step ", first, " could not be written: ", error->what(),
                      "; this step and those after it are not there: close the stream, and open it ", "anew to go on"),
                 Origin::background_writer);
}

void Stream::note_told(const Error& error) { queue_error_told_ = queue_error_told_ || error.origin() == Origin::background_writer; }

void Stream::append_line(std::string line, bool sync) const {
    queue_->run([text = std::move(line), sync, journal = journal_] { journal->append_line(text, sync); });
}

// 0: no plan stands in the journal, since the parts are too many.
uint64_t Stream::plan_of_step() const { return plan_->part_boxes().empty() ? 0 : plan_number_; }

// What the journal must say before it says that the step is there.
void Stream::record_run() {
    if (!started_) {
        if (storage_.told.at("striping_by") != "none") queue_->wait();  // the part is there then
        read_back_striping(group_->present_path(), storage_);
        RunEntry run{storage_.in(config_), requested_, definitions_, ranks_->size(), ranks_->nodes(), storage_.told, origin_};
        append(run_line(run), false);
        history_.runs.push_back(std::move(run));
        record_coordinates();
    }
    if (!plan_->part_boxes().empty() && plan_recorded_ != plan_->version()) {
        append_line(journal_line_of(plan_text(plan_number_ + 1, plan_->part_boxes())), false);
        history_.plans[++plan_number_] = plan_->part_boxes();
        plan_recorded_ = plan_->version();
    }
    if (config_.layout.part_is_dataset() && group_->grew()) append(blocks_line(group_->growth(*content_)), sync_step());
}

void Stream::record_step(const StepInFlight& step, uint64_t digest) {
    if (step.written->image) step.group->put_in_force(step.written->image, true);
    const bool appears = !step.group->published();
    if (appears) step.group->publish();
    const bool new_group = history_.groups.empty() || history_.groups.back().start != step.group->start() || appears;
    const uint64_t parts = PartMap(config_.layout, ranks_->topology()).parts();
    if (new_group)
        history_.groups.push_back({step.group->start(), config_.layout, parts, ranks_->size(), history_.runs.size() - 1, step.plan,
                                   step.group->with_static(), 0, step.bytes, "", false});
    GroupEntry& group = history_.groups.back();
    const StepEntry entry{step.step, step.time, history_.groups.size() - 1, parts, step.bytes, step.ragged_lengths};
    const std::string digest_before = std::exchange(group.digest, hex_digest(digest));
    const size_t known = history_.steps.size();
    try {
        history_.steps.push_back(entry);  // before the line is there: behind it nothing may fail
        append_line(journal_line_of(step_text(entry, group)), sync_step());
    } catch (...) {
        history_.steps.resize(known);
        group.digest = digest_before;
        if (new_group) history_.groups.pop_back();
        throw;
    }
    ++group.steps;
    group.files_bytes = step.bytes;
    index_due_ = true;
}

// Parts of several hold slices of a coordinate, and no index can show a scalar of a part: the journal holds both whole, so that the
// index can be made from storage alone.
void Stream::record_coordinates() {
    for (size_t v = 0; v < definitions_.variables().size(); ++v) {
        const std::vector<std::byte>& values = data_.values[v];
        const Variable& variable = definitions_.variables()[v];
        const bool sliced = !has_one_part(config_.layout) && definitions_.is_coordinate(variable);
        const bool scalar = variable.is_static && variable.shape.empty();  // HDF5 cannot show a scalar from another file
        // Of what an earlier run has recorded, the last run counts.
        const auto known = history_.coordinates.find(v);
        const bool is_known = known != history_.coordinates.end();
        if (is_known ? known->second == values : !sliced && !scalar) continue;
        append(coordinate_line(v, values), false);
        history_.coordinates[v] = values;
    }
}

void Stream::tidy(bool closing) {
    drop_old_steps();
    refresh_index(closing);
}

// First the journal, then the index, then the files: nobody is shown what is no longer there.
void Stream::drop_old_steps() {
    if (ranks_->rank() != 0 || config_.keep_steps == 0) return;
    if (history_.steps.size() > config_.keep_steps) {
        const StepEntry& oldest = history_.steps[history_.steps.size() - config_.keep_steps];
        const uint64_t first = history_.steps.front().step, end = history_.groups[oldest.group].start;
        if (first < end) {
            journal_->append(drop_line(first, end - 1, kDropOld), sync_step() || sync_close());
            history_.drop(first, end - 1, false);
            indexed_steps_ = 0;
        }
    }
    const std::vector<size_t> needed = history_.needed_groups();
    // What is torn a repair has set aside, and its place may be another group's by now.
    std::vector<size_t> old;
    for (size_t g = 0; g < history_.groups.size(); ++g)
        if (!history_.groups[g].torn && !std::binary_search(needed.begin(), needed.end(), g) && !removed_groups_.contains(g))
            old.push_back(g);
    if (old.empty()) return;
    index_due_ = true;
    refresh_index(true);
    for (const size_t g : old) {
        remove_tree(path(group_path(history_.groups[g].layout, name_, history_.groups[g].start)));
        removed_groups_.insert(g);
    }
}

void Stream::refresh_index(bool closing) {
    if (ranks_->rank() != 0 || !index_due_ || history_.empty()) return;
    // Where earlier steps are in a part that is the dataset, an index would take its name.
    if (config_.layout.part_is_dataset() || history_.groups.back().layout.part_is_dataset()) return;
    if (!closing && seconds_now() - index_at_s_ < std::max(kIndexShare * index_cost_s_, kIndexIntervalS)) return;
    Stopwatch watch;
    write_index(directory_, name_, history_, indexed_steps_, sync_step() || sync_close());
    index_due_ = false;
    indexed_steps_ = history_.steps.size();
    index_cost_s_ = watch.lap();
    index_at_s_ = seconds_now();
}

void Stream::sync_written() {
    std::optional<Error> error;
    // What became too old rank 0 has removed meanwhile.
    const auto sync = [&](auto&& work) {
        const auto failed = attempt(work);
        const bool is_gone = failed && failed->status() == Status::NOT_FOUND && config_.keep_steps > 0;
        if (failed && !is_gone && !error) error = failed;
    };
    std::set<std::string> directories;
    for (const std::string& part : unsynced_)
        sync([&] {
            File file = File::open_write(part);
            file.sync();
            file.close();
            directories.insert(std::filesystem::path(part).parent_path());
        });
    unsynced_.clear();
    for (const std::string& directory : directories) sync([&] { sync_directory(directory); });
    if (error) throw *error;
    if (ranks_->rank() != 0 || accepted_ == 0) return;
    File journal = File::open_write(path(journal_path(name_)));
    journal.sync();
    journal.close();
    sync_directory(path(parts_directory(name_)));
    sync_directory(directory_);
}

void Stream::flush() {
    auto error = attempt([&] { check_between_steps("tailrace_flush"); });
    if (queue_->is_later()) {
        auto unsettled = settle_in_flight(Call::flush);
        if (!error) error = std::move(unsettled);
    }
    try {
        agree(*ranks_, {.call = Call::flush}, error);
    } catch (const Error& told) {
        note_told(told);
        throw;
    }
}

void Stream::close() {
    std::optional<Error> error;
    const bool told = queue_error_told_;
    if (queue_->is_later()) {
        const auto unsettled = attempt_or_end_job(*ranks_, [&] { error = settle_in_flight(Call::close); });
        if (told) error.reset();
        if (unsettled) error = unsettled;
    }
    // What could not be written is in flight for ever.
    const bool lost = !in_flight_.empty();
    remove_next_directory();  // before rank 0 may return
    std::optional<Error> unshown;
    const auto failed = attempt([&] {
        drop_step();
        finish_group();
        queue_->wait();
        if (const auto late = queue_->error(); late && !lost) throw *late;
        if (sync_close()) return sync_written();
        // Before the ranks agree: it shows what is committed, and the others have something to do meanwhile.
        if (!lost) unshown = attempt([&] { refresh_index(true); });
    });
    if (failed && !error) error = failed;
    const auto show = [&] {  // rank 0
        if (unshown) throw *unshown;
        if (lost) {
            history_ = read_history(path(journal_path(name_)));
            indexed_steps_ = 0;
            index_due_ = true;
            for (const std::string& entry : pending_paths(directory_, name_)) remove_tree(entry);
        }
        refresh_index(true);
    };
    bool shown = false;
    try {
        agree(*ranks_, {.call = Call::close}, error, [&](const Ballot&) {
            shown = true;
            show();
        });
    } catch (const Error&) {
        if (ranks_->rank() == 0 && !shown) attempt(show);  // what is committed is shown all the same
        drop_failed_step();                                // others may have written one meanwhile
        throw;
    }
    packer_.reset();
    plan_.reset();  // what it shares goes with the communicator
    give_back(ranks_);
}

}  // namespace tailrace
