#include "stream/stream.hpp"

#include <cstdio>
#include <utility>

#include "base/clock.hpp"
#include "base/paths.hpp"
#include "base/shell_word.hpp"
#include "gather/agree.hpp"
#include "gather/communicator_pool.hpp"
#include "gather/disagreement.hpp"
#include "layout/value.hpp"
#include "record/definition_facts.hpp"
#include "stream/end_step.hpp"
#include "stream/environment.hpp"
#include "view/index.hpp"

namespace tailrace {
namespace {

void tell_of_many_files(const History& history, const std::string& directory, const std::string& name) {
    const std::string note = note_of_open_files(history, name);
    if (!note.empty()) std::fputs(text("tailrace: stream '", name, "' in ", directory, ": ", note, "\n").c_str(), stderr);
}

// Collective. Makes all committed steps visible to readers. `error`: an error of this rank, which is thrown on all ranks.
void show_all_steps(const Communicator& ranks, Stages& stages, std::optional<Error> error) {
    if (!error)
        error = attempt([&] {
            if (const auto& group = stages.writer.group(); group && group->all_steps_committed()) group->show_all();
        });
    agree(ranks, FlushVote{}, error, [&](const FlushVote&) {
        stages.upkeep.on_all_shown();
        stages.upkeep.refresh_index(true);
    });
}

}  // namespace

Stream::Stream(MPI_Comm comm, const std::string& directory, const std::string& name, const std::string& options,
               const KeyValues& strongest)
    : Output(directory, name) {
    ranks_ = take_communicator(comm);
    run_or_end_job(has_others(), [&] {  // here, and not in the caller, since the destructors are collective, too
        Json settings = agree_settings(*ranks_, directory_, name_, options);
        if (!strongest.empty()) settings.push_back({{"origin", "what the call needs"}, {"values", strongest}});
        start(comm, settings, false);
    });
}

Stream::Stream(MPI_Comm comm, const std::string& directory, const std::string& name, const Json& settings)
    : Output(directory, name) {
    ranks_ = take_communicator(comm);
    run_or_end_job(has_others(), [&] { start(comm, settings, true); });
}

void Stream::start(MPI_Comm comm, const Json& settings, bool only_writes) {
    const std::vector<Settings> sources = settings_of(settings);
    config_ = resolve(sources);
    check_config(config_);
    if (const Writers& writers = config_.layout.writers; writers.kind == Writers::Kind::dedicated && !only_writes)
        fail(Status::BAD_LAYOUT, "stream '", name_, "': writers = dedicated:", writers.number,
             " needs ranks that are set aside; call tailrace_set_aside when the program starts, and open the stream over the ",
             "communicator that it gives");
    const Json requested = requested_json(sources);
    if (config_.ranks_per_node > 0) {
        give_back(ranks_);
        ranks_ = std::make_shared<Communicator>(comm);
        ranks_->arrange(config_.ranks_per_node);
    }
    definitions_ = Definitions(config_.time_name);
    stages_ = std::make_unique<Stages>(*ranks_, StreamPaths{directory_, name_}, config_, requested);
    continue_after(stages_->earlier.steps);
}

void Stream::end_step() {
    if (resumes_with_this_step()) {
        EarlierSteps& steps = stages_->earlier.steps;
        steps.keep_before(config_.resume_before.value_or(time_));
        continue_after(steps);
        stages_->writer.set_continues(steps.next_step() > 0);
    }
    const uint64_t number = progress_.next_step();
    StepRun run{.input = {definitions_, data_, progress_, time_, seconds_now()}};
    StepWriter& writer = stages_->writer;
    const StepProtocol protocol = choose_protocol(config_, definitions_, progress_, writer.redistributes());
    // Do not prepare a group after a failed step: rank 0 may still be removing its pending files.
    const bool prepares_group = progress_.definitions_frozen() && writer.needs_group() && !progress_.last_step_failed();
    run.vote.intent = StepIntent::write;
    run.error = attempt([&] {
        data_.resize(definitions_.variables().size());
        check_step();
        stages_->earlier.steps.check_no_hole(directory_, name_);
        if (const auto failed = stages_->commit.error()) throw *failed;
        if (const auto& failed = stages_->staged.error()) throw *failed;
        stages_->journal.check_not_overtaken();
        const bool skips = stages_->overlap.must_skip_step(stages_->commit.unwritten_steps());
        run.vote.intent = skips ? StepIntent::skip : writer.intent(run.input);
        // A rank that writes first makes its directory where it needs it.
        if (prepares_group) writer.begin_next_group(run.input, protocol != StepProtocol::write_first);
    });
    run.group_is_prepared = prepares_group;
    try {
        stages_->times.agree_s += run.watch.lap();
        run.input.definitions_fingerprint = fingerprint();
        run.vote.step_fingerprint = fingerprint_of_step();
        run.vote.unwritten_steps = stages_->commit.unwritten_steps() + stages_->staged.not_arrived();
        run.vote.committed_steps = stages_->commit.committed_steps();
        with_facts(
            *ranks_, [&] { return facts_of_step(); },
            [&] {
                switch (protocol) {
                    case StepProtocol::write_first: end_step_write_first(*stages_, run); break;
                    case StepProtocol::agreed: end_step_agreed(*stages_, run); break;
                    case StepProtocol::overlapped: end_step_overlapped(*stages_, run); break;
                }
            });
    } catch (const Error& error) {
        stages_->commit.note_reported(error);
        fail_step(error);
        throw;
    } catch (const std::bad_alloc&) {  // on a stream of one rank: it continues
        fail_step(Error(Status::NO_MEMORY, ""));
        throw;
    }
    if (progress_.next_step() > number) times_.add(time_);
    data_.clear_blocks();
    // The step is committed. If the index cannot be written now, or old steps cannot be removed, a later step does it, at the
    // latest close(), which reports the error.
    if (!stages_->overlap.is_on()) {
        // The index over growing parts may have a step only once all parts show it. For later steps the next vote reports this.
        const bool is_first = number == 0 && stages_->upkeep.waits_for_parts();
        attempt([&] { is_first ? show_all_steps(*ranks_, *stages_, {}) : stages_->upkeep.refresh_index_and_retention(); });
    }
    stages_->times.index_s += run.watch.lap();
}

// Removes what this rank has written of the step; rank 0 also removes what other ranks have written.
void Stream::fail_step(const Error& error) noexcept {
    if (error.status() == Status::OVERTAKEN) stages_->writer.leave_group();
    stages_->writer.remove_failed_step(progress_.next_step());
    drop_step();
    progress_.fail_step();
}

void Stream::drop_step() noexcept {
    forget_step();
    stages_->writer.drop_group_without_steps();
}

void Stream::flush() {
    auto error = attempt([&] { check_between_steps("tailrace_flush"); });
    if (stages_->overlap.is_on()) {
        auto failed = stages_->commit.drain<FlushVote>();
        if (!error) error = std::move(failed);
    }
    if (stages_->staged.is_on()) {
        auto failed = stages_->staged.deliver<FlushVote>();
        if (!error) error = std::move(failed);
    }
    try {
        show_all_steps(*ranks_, *stages_, std::move(error));
    } catch (const Error& reported) {
        stages_->commit.note_reported(reported);
        throw;
    }
}

// Called on rank 0. Makes committed steps visible; `steps_were_lost`: some steps in flight could not be written.
void Stream::show_committed_steps(bool steps_were_lost) {
    if (steps_were_lost) {
        stages_->journal.reload();
        stages_->upkeep.on_history_reloaded();
    }
    if ((steps_were_lost || stages_->staged.is_on()) && !stages_->journal.access()->is_contested())
        for (const std::string& entry : pending_paths(directory_, name_, stages_->paths.run + 1)) remove_tree(entry);
    stages_->upkeep.refresh_index(true);
}

void Stream::close() {
    CloseVote vote{.drops_step = progress_.in_step()};
    std::optional<Error> error;
    WriteQueue& queue = stages_->overlap.queue();
    const bool was_reported = stages_->commit.error_was_reported();
    if (stages_->overlap.is_on()) {
        const auto failed = attempt_or_end_job(*ranks_, [&] { error = stages_->commit.drain<CloseVote>(); });
        if (was_reported) error.reset();
        if (failed) error = failed;
    }
    if (stages_->staged.is_on()) {
        auto own = attempt([&] {
            drop_step();
            stages_->writer.finish_group();
        });
        const auto failed = attempt_or_end_job(*ranks_, [&] { error = stages_->staged.deliver<CloseVote>(); });
        if (own) error = own;
        if (failed) error = failed;
        // Of several errors the lowest rank's is returned, so the last rank has the one that says least.
        if (!error && stages_->staged.count() > 0 && ranks_->rank() + 1 == ranks_->size())
            error = Error(Status::IO_FAILED, text("stream '", name_, "': its last ", stages_->staged.count(),
                                                  " steps are not at their target: `tailrace ls ", shell_word(directory_),
                                                  "` says where their parts are"));
        vote.direct_files = stages_->staged.direct_files();
    }
    // Steps are still in flight here only if they could not be written.
    const bool steps_were_lost = !stages_->commit.in_flight().empty();
    stages_->upkeep.remove_next_directory();  // before rank 0 may return
    std::optional<Error> index_error;
    bool static_only = false;
    const auto failed = attempt([&] {
        static_only = writes_static_only();
        if (static_only) vote.static_fingerprint = fingerprint();
        drop_step();
        stages_->writer.finish_group();
        queue.wait();
        if (const auto late = queue.error(); late && !steps_were_lost) throw *late;
        if (!steps_were_lost) stages_->upkeep.check_parts();
        if (config_.layout.storage.durability == Durability::close) return stages_->upkeep.sync_written(progress_.next_step() > 0);
        // Write the index before the ranks agree, while the other ranks still work. It shows only committed steps.
        if (!steps_were_lost && !stages_->upkeep.waits_for_parts())
            index_error = attempt([&] { stages_->upkeep.refresh_index(true); });
    });
    if (failed && !error) error = failed;
    progress_.close();
    bool was_shown = false;
    try {
        const auto show = [&](const CloseVote&) {
            was_shown = true;
            if (index_error) throw *index_error;
            if (static_only) stages_->journal.journal_static(definitions_, data_);
            if (!steps_were_lost) stages_->upkeep.on_all_shown();
            show_committed_steps(steps_were_lost || static_only);
            stages_->journal.end_run();
        };
        const auto facts = [&] {
            Facts all = definition_facts(definitions_);
            all.emplace_back("whether static arrays were put", static_only ? "yes" : "no");
            return all;
        };
        vote = with_facts(*ranks_, facts, [&] { return agree(*ranks_, vote, error, show); });
    } catch (const Error& reported) {
        // Show committed steps even if the close fails.
        if (ranks_->rank() == 0 && !was_shown)
            attempt([&] {
                if (index_error) throw *index_error;
                show_committed_steps(steps_were_lost);
            });
        fail_step(reported);  // other ranks may have written a step meanwhile
        stages_->release();
        throw;
    }
    if (ranks_->rank() == 0) attempt([&] { tell_of_many_files(stages_->journal.history(), directory_, name_); });
    if (ranks_->rank() == 0 && vote.direct_files > 0)
        std::fputs(text("tailrace: stream '", name_, "' in ", directory_, ": ", vote.direct_files, " parts were written at their ",
                        "target, because scratch had less than min_free = ", size_text(config_.min_free_bytes), " free\n")
                       .c_str(),
                   stderr);
    stages_->release();
    stages_->writer.release();
    give_back(ranks_);
    if (vote.drops_step) fail_dropped_step();
}

std::string Stream::leave_open() {
    stages_->overlap.queue().wait();  // what shows steps, and the lines of steps that all ranks have written
    if (const auto& group = stages_->writer.group(); group && group->all_steps_committed()) attempt([&] { group->show_all(); });
    if (stages_->staged.is_on()) {
        attempt([&] { stages_->writer.finish_group(); });
        stages_->staged.wait_for_outbox();
    }
    if (ranks_->rank() != 0) return "";
    stages_->journal.reload();
    stages_->upkeep.on_history_reloaded();
    stages_->upkeep.on_all_shown();  // the other ranks do so now
    stages_->upkeep.refresh_index(true);
    const uint64_t steps = stages_->journal.history().steps.size(), staged = stages_->journal.history().staged.size();
    stages_->release();
    return text("its ", steps, " committed steps stay",
                steps > 0 && !config_.layout.part_is_dataset() ? ", and its index is written" : "",
                staged > 0 ? text("; `tailrace index ", shell_word(directory_), " -s ", shell_word(name_), "` commits its ", staged,
                                  " staged steps")
                           : "");
}

std::string Stream::report() const {
    const StageTimes& times = stages_->times;
    const StorageChoice& storage = stages_->journal.storage();
    Json json = Json::object();
    json["stream"] = name_;
    json["directory"] = directory_;
    json["requested"] = stages_->journal.requested();
    json["effective"] = effective_json(storage.in(config_));
    json["storage"] = storage.report;
    if (const uint64_t at_most = config_.layout.writers.at_most; at_most > 0) json["writers_at_most"] = at_most;
    json["ranks"] = ranks_->size();
    json["nodes"] = ranks_->nodes();
    json["steps"] = progress_.next_step();
    json["this_run"] = {{"steps", times.steps},
                        {"agree_s", times.agree_s},
                        {"plan_s", times.plan_s},
                        {"write_s", times.write_s},
                        {"commit_s", times.commit_s},
                        {"index_s", times.index_s},
                        {"written_again", times.written_again}};
    if (stages_->staged.is_on()) json["scratch"] = stages_->staged.report();
    if (stages_->overlap.is_on()) {
        json["overlap"] = stages_->overlap.report(stages_->commit.in_flight().size());
        json["overlap"]["to_durable_s"] = {{"mean", times.steps > 0 ? times.durable_s / static_cast<double>(times.steps) : 0},
                                           {"longest", times.longest_durable_s}};
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tailrace
