#include "stream/end_step.hpp"

#include <functional>

#include "base/paths.hpp"
#include "gather/agree.hpp"
#include "stream/continuation.hpp"

namespace tailrace {
namespace {

// Called on rank 0, within an agreement of a run's first step. Only rank 0 makes the directory, so that a rank which sees another
// file system does not find the directory and reports an error.
void begin_run(Stages& stages, const StepInput& input) {
    stages.journal.begin_run(input.definitions, input.data, stages.earlier.steps);
    if (!has_one_part(stages.config.layout) && stages.config.layout.stage == Stage::none)
        make_directories(stages.paths.pending(stages.config.layout, input.number()), stages.paths.parts());
}

// Collective, in a run's first step: static arrays are compared with those of earlier runs, then steps leave for mode = resume.
void continue_earlier_runs(Stages& stages, const StepInput& input) {
    EarlierSteps& steps = stages.earlier.steps;
    const bool compares = steps.kept > 0 && input.definitions.has_static_distributed();
    if (!compares && !steps.some_leave()) return;
    std::optional<Error> error;
    if (compares)
        error = attempt_or_end_job(stages.ranks, [&] {
            compare_static_arrays(stages.ranks, stages.paths, steps.numbers[steps.kept - 1], input.definitions, input.data);
        });
    agree(stages.ranks, PlanVote{}, error, [&](const PlanVote&) {
        if (steps.some_leave()) stages.journal.drop_from(steps.first_leaving());
    });
    steps.forget_leaving();
}

PlanVote plan_of(const EndStepVote& vote) {
    return {vote.covers_badly, vote.has_blocks_elsewhere, vote.intent, vote.part_box_words};
}

PlanVote agree_on_step_and_plan(const Communicator& ranks, EndStepVote vote, const PlanVote& plan,
                                const std::optional<Error>& error, const RankZeroDoes<PlanVote>& rank_0_does) {
    vote.covers_badly = plan.covers_badly;
    vote.has_blocks_elsewhere = plan.has_blocks_elsewhere;
    vote.part_box_words = plan.part_box_words;
    RankZeroDoes<EndStepVote> does;
    if (rank_0_does)
        does = [&](const EndStepVote& all) {
            PlanVote all_plans = plan_of(all);
            rank_0_does(all_plans);
        };
    return plan_of(agree(ranks, vote, error, does));
}

}  // namespace

bool may_write_first(const StreamConfig& config, const Definitions& definitions) {
    const Layout& layout = config.layout;
    return layout.ranks_are_apart() && layout.steps == 1 && layout.overlap_steps == 0 && config.keep_steps == 0 &&
           definitions.ragged().empty();
}

StepProtocol choose_protocol(const StreamConfig& config, const Definitions& definitions, const Progress& progress,
                             bool redistributes) {
    if (config.layout.overlap_steps > 0) return StepProtocol::overlapped;
    // Without a plan a rank cannot write first. And where elements move between ranks, a rank must not wait for other ranks before
    // it knows that they are in this call.
    if (!redistributes && progress.definitions_frozen() && may_write_first(config, definitions)) return StepProtocol::write_first;
    return StepProtocol::agreed;
}

bool plans_in_first_agreement(const Stages& stages, const StepRun& run) {
    return !stages.writer.redistributes() && !run.input.progress.definitions_frozen() && run.input.definitions.ragged().empty();
}

void make_next_directory_alone(Stages& stages, const StepInput& input) {
    if (stages.ranks.size() > 1 && stages.ranks.node_size() == 1 && may_write_first(stages.config, input.definitions))
        stages.upkeep.make_next_directory(0, input.number() + 1);
}

void name_other_run(const Stages& stages, std::optional<Error>& error) {
    const WriteAccess* access = stages.journal.access();
    const bool is_gone = error && (error->status() == Status::CORRUPT || error->status() == Status::NOT_FOUND);
    if (!is_gone || access == nullptr) return;
    if (auto overtaken = attempt([&] { access->check_is_last(); })) error = std::move(overtaken);
}

std::optional<Error> plan_step(Stages& stages, StepRun& run, StepIntent intent, bool is_first_agreement) {
    const auto first_agreement = [&](const PlanVote& plan, const std::optional<Error>& error,
                                     const RankZeroDoes<PlanVote>& rank_0_does) {
        return is_first_agreement ? agree_on_step_and_plan(stages.ranks, run.vote, plan, error, rank_0_does)
                                  : agree(stages.ranks, plan, error, rank_0_does);
    };
    std::function<void()> rank_0_does;
    if (run.input.is_first_of_run()) rank_0_does = [&] { begin_run(stages, run.input); };
    const std::optional<Error> error = is_first_agreement ? run.error : std::nullopt;
    const auto all_do = [&] { continue_earlier_runs(stages, run.input); };
    auto failed = stages.writer.plan_step(run.input, intent, error, std::cref(first_agreement), rank_0_does, std::cref(all_do));
    stages.times.plan_s += run.watch.lap();
    return failed;
}

}  // namespace tailrace
