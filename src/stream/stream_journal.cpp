#include "stream/stream_journal.hpp"

#include <utility>

#include "stream/leaving_steps.hpp"

namespace tailrace {

StreamJournal::StreamJournal(const Communicator& ranks, StreamPaths paths, const StreamConfig& config, WriteQueue& queue,
                             Json requested, EarlierRuns& earlier)
    : ranks_(ranks), paths_(std::move(paths)), config_(config), queue_(queue), requested_(std::move(requested)),
      access_(std::move(earlier.access)), history_(std::move(earlier.history)), storage_(std::move(earlier.storage)),
      plan_number_(history_.plans.empty() ? 0 : history_.plans.rbegin()->first) {}

void StreamJournal::begin_run(const Definitions& definitions, const StepData& data, const EarlierSteps& steps) {
    begin_run_after(history_, steps, definitions, data, paths_, config_, *access_);
    if (scratch_.token.empty()) return;
    access_->append(scratch_line(scratch_), syncs_steps());
    history_.scratch = scratch_;
}

void StreamJournal::append_line(std::string line, bool sync, WriteQueue::Needs needs) const {
    queue_.run([text = std::move(line), sync, access = access_] { access->segment().append_line(text, sync); }, needs);
}

void StreamJournal::journal_run(const StepInput& input, const StepPlan& plan, const Group& group) {
    if (input.is_first_of_run()) journal_run_line(input, group);
    journal_plan(plan);
    if (config_.layout.part_is_dataset() && group.has_grown()) append(blocks_line(group.growth()), syncs_steps());
}

void StreamJournal::journal_run_line(const StepInput& input, const Group& group) {
    if (scratch_.token.empty()) {
        if (storage_.report.at("striping_by") != "none") queue_.wait();  // the part exists then
        read_back_striping(group.present_path(), storage_);
    }
    RunEntry run{storage_.in(config_), requested_, input.definitions, ranks_.size(), ranks_.nodes(), storage_.report, origin_};
    append(run_line(run), false);
    history_.runs.push_back(std::move(run));
    journal_coordinates(input);
}

void StreamJournal::journal_static(const Definitions& definitions, const StepData& data) {
    begin_run(definitions, data, EarlierSteps{});
    RunEntry run{storage_.in(config_), requested_, definitions, ranks_.size(), ranks_.nodes(), storage_.report, origin_};
    append(run_line(run), false);
    history_.runs.push_back(std::move(run));
    for (size_t v = 0; v < definitions.variables().size(); ++v) {
        const auto known = history_.coordinates.find(v);
        if (known != history_.coordinates.end() && known->second == data.values[v]) continue;
        append(coordinate_line(v, data.values[v]), syncs_steps());
        history_.coordinates[v] = data.values[v];
    }
    queue_.wait();
    if (const auto error = queue_.error()) throw *error;
}

// Records the values of coordinates and scalars in the journal, so that the index can be made from storage alone. If there are
// several parts, each has only a slice of a coordinate; and HDF5 cannot show a scalar that is in another file.
void StreamJournal::journal_coordinates(const StepInput& input) {
    for (size_t v = 0; v < input.definitions.variables().size(); ++v) {
        const std::vector<std::byte>& values = input.data.values[v];
        const Variable& variable = input.definitions.variables()[v];
        const bool sliced = !has_one_part(config_.layout) && input.definitions.is_coordinate(variable);
        const bool scalar = variable.is_static && variable.shape.empty();
        // Record a coordinate again if its values differ from those of an earlier run: the last record is used.
        const auto known = history_.coordinates.find(v);
        const bool is_known = known != history_.coordinates.end();
        if (is_known ? known->second == values : !sliced && !scalar) continue;
        append(coordinate_line(v, values), false);
        history_.coordinates[v] = values;
    }
}

void StreamJournal::journal_plan(const StepPlan& plan) {
    if (plan.part_boxes().empty() || plan_version_ == plan.version()) return;
    append_line(journal_line_of(plan_text(plan_number_ + 1, plan.part_boxes())), false, WriteQueue::Needs::all_earlier_work());
    history_.plans[++plan_number_] = plan.part_boxes();
    plan_version_ = plan.version();
}

void StreamJournal::stage_step(const StepEntry& entry, const GroupEntry& group) {
    Json line = Json::parse(step_text(entry, group, "staged"));
    append(line, syncs_steps());
    history_.staged.push_back({entry.step, entry.time, std::move(line)});
}

void StreamJournal::commit_staged_step() {
    const Json line = step_line(history_.staged.front());
    append(line, syncs_steps());
    history_.apply(line);
}

void StreamJournal::journal_step(const StepInFlight& step, uint64_t digest, WriteQueue::Needs needs) {
    const uint64_t files = PartMap(config_.layout, ranks_.topology()).parts();
    if (!scratch_.token.empty()) {
        GroupEntry group{step.group->start(),
                         config_.layout,
                         files,
                         ranks_.size(),
                         history_.runs.size() - 1,
                         step.plan,
                         step.group->with_static(),
                         0,
                         step.bytes,
                         hex_digest(digest),
                         false,
                         step.group->segment()};
        if (config_.layout.steps != 1) group.lengths = Lengths::committed;
        return stage_step({step.step, step.time, 0, files, step.bytes, step.ragged_lengths}, group);
    }
    const bool appears = !step.group->is_published();
    if (appears) step.group->publish(needs);
    const bool new_group = history_.groups.empty() || history_.groups.back().start != step.group->start() || appears;
    if (new_group)
        history_.add_group({step.group->start(), config_.layout, files, ranks_.size(), history_.runs.size() - 1, step.plan,
                            step.group->with_static(), 0, step.bytes, "", false, step.group->segment()});
    GroupEntry& group = history_.groups.back();
    if (config_.layout.steps != 1) group.lengths = Lengths::committed;  // also where an earlier version began the part
    const StepEntry entry{step.step, step.time, history_.groups.size() - 1, files, step.bytes, step.ragged_lengths};
    const std::string digest_before = std::exchange(group.digest, hex_digest(digest));
    const size_t known = history_.steps.size();
    try {
        history_.steps.push_back(entry);  // before the line is appended: after that nothing may fail
        append_line(journal_line_of(step_text(entry, group)), syncs_steps(), needs);
    } catch (...) {
        history_.steps.resize(known);
        group.digest = digest_before;
        if (new_group) history_.groups.pop_back();
        throw;
    }
    ++group.steps;
    group.files_bytes = step.bytes;
}

void StreamJournal::journal_drop(uint64_t first, uint64_t last, bool sync) {
    access_->append(drop_line(first, last, kDropOld), sync);
    history_.drop(first, last, false);
}

void StreamJournal::drop_from(uint64_t first) {
    const bool has_staged = !history_.staged.empty() && history_.staged.back().step >= first;
    if (!has_staged && !history_.has_step_from(first))
        return;  // an earlier attempt at this step, which failed, has already removed the steps
    leave_steps(paths_, history_, first, kDropResume, [this](const Json& line) { access_->append(line, true); });
}

void StreamJournal::reload() { history_ = read_history(paths_.journal()); }

}  // namespace tailrace
