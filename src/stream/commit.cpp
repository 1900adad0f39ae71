#include "stream/commit.hpp"

#include <utility>

#include "base/clock.hpp"

namespace tailrace {
namespace {

// The index is updated, and old steps are removed, while no step is being committed. If the device is slower than the simulation,
// there is no such moment: after this number of calls, no further commit is begun until the index is updated.
constexpr int kMostCallsWithoutUpkeep = 8;

}  // namespace

void Commit::journal_step(StepInFlight& step, const StepInput& input, uint64_t bytes, uint64_t digest) {
    journal_.journal_run(input, writer_.plan(), *step.group);
    step.plan = journal_.plan_number(writer_.plan());
    step.bytes = bytes;
    journal_.journal_step(step, digest, WriteQueue::Needs::all_earlier_work());
    upkeep_.on_step_journaled();
}

void Commit::on_step_committed(const StepInFlight& step, StepInput& input) {
    step.group->accept_step();
    input.progress.take_step();
    after_commit(step);
}

void Commit::add_in_flight(StepInFlight step, StepInput& input, uint64_t bytes) {
    if (ranks_.rank() == 0) keep_error(attempt([&] { journal_.journal_run(input, writer_.plan(), *step.group); }));
    step.plan = journal_.plan_number(writer_.plan());
    step.bytes = bytes;
    step.written_after = queue_.submitted();
    step.durable_s = std::make_shared<std::atomic<double>>(0);
    in_flight_.push_back(std::move(step));
    in_flight_.back().group->accept_step();
    input.progress.take_step();
}

// Also counts steps that this rank will never write, because its queue has failed.
uint64_t Commit::unwritten_steps() const {
    const uint64_t done = queue_.completed_ok();
    uint64_t unwritten = 0;
    for (auto step = in_flight_.rbegin(); step != in_flight_.rend() && step->written_after > done; ++step) ++unwritten;
    return unwritten;
}

uint64_t Commit::committed_steps() const {
    if (ranks_.rank() != 0) return 0;
    uint64_t committed = 0;
    while (committed < submitted_ && in_flight_[committed].durable_s->load() > 0) ++committed;
    return committed;
}

void Commit::commit_ready_steps(uint64_t unwritten, uint64_t committed) {
    const uint64_t ready = in_flight_.size() - unwritten - committed;
    for (uint64_t k = 0; k < committed; ++k, --submitted_) {
        after_commit(in_flight_.front());
        in_flight_.pop_front();
    }
    if (submitted_ == 0) attempt([&] { upkeep_.refresh_index_and_retention(); });
    calls_without_upkeep_ = submitted_ == 0 ? 0 : calls_without_upkeep_ + 1;
    if (calls_without_upkeep_ > kMostCallsWithoutUpkeep) return;
    for (; submitted_ < ready; ++submitted_) {
        StepInFlight& step = in_flight_[submitted_];
        const WriteVote all = agree(ranks_, WriteVote{.digest = step.written->digest}, std::nullopt);
        if (ranks_.rank() == 0) submit_commit(step, all.digest);
    }
}

// All ranks have written the step, so an error of a later one must not prevent its commit.
void Commit::submit_commit(StepInFlight& step, uint64_t digest) {
    step.committed_after = StepInFlight::kCommitFailed;
    if (kept_error_) return;
    keep_error(attempt([&] {
        const auto needs = WriteQueue::Needs::commits_and_work(step.written_after);
        journal_.journal_step(step, digest, needs);
        upkeep_.on_step_journaled();
        queue_.run([at = step.durable_s] { *at = seconds_now(); }, needs);
        step.committed_after = queue_.submitted();
    }));
}

void Commit::after_commit(const StepInFlight& step) {
    step.group->on_step_committed(step.number_in_group, *step.written);
    last_committed_ = step.group;
    committed_end_ = step.step + 1;
    if (step.number_in_group == 0) upkeep_.on_part_written(*step.group);
    // Finish a group to which the writer adds no more steps, once its last step is committed.
    if (step.group != writer_.group() && step.group->all_steps_committed()) keep_error(attempt([&] { step.group->finish(); }));
    times_.add_committed_step((step.durable_s ? step.durable_s->load() : seconds_now()) - step.began_s);
}

void Commit::keep_error(std::optional<Error> error) {
    if (error && !kept_error_) kept_error_ = std::move(error);
}

bool Commit::will_be_committed(const StepInFlight& step) const {
    if (step.written_after > queue_.completed_ok() || step.committed_after == StepInFlight::kCommitFailed) return false;
    return step.committed_after == 0 || step.durable_s->load() > 0 || !queue_.commit_failed();
}

std::optional<Error> Commit::error() const {
    auto error = queue_.error();
    if (!error) error = kept_error_;
    if (!error || in_flight_.empty()) return error;
    uint64_t first = in_flight_.back().step;
    for (auto step = in_flight_.rbegin(); step != in_flight_.rend(); ++step)
        if (!will_be_committed(*step)) first = step->step;
    return Error(error->status(),
                 text("stream '", stream_, "': step ", first, " could not be written while the run continued: ", error->what(),
                      "; this step and those after it are missing: close the stream, and open it again to continue"),
                 Origin::background_writer);
}

}  // namespace tailrace
