// The protocol in which a rank writes first: a rank whose blocks are as planned writes its part of the step and agrees with the
// others afterwards, once. Rank 0 commits the step within that agreement. If a rank could not write first, all agree on the step
// again, and the others write it again into the same pending file.
#include <functional>
#include <optional>

#include "gather/agree.hpp"
#include "stream/end_step.hpp"

namespace tailrace {

void end_step_write_first(Stages& stages, StepRun& run) {
    std::optional<StepInFlight> step;  // the step as this rank has written it; none: this rank could not write first
    if (run.group_is_prepared && !run.error && run.vote.intent == StepIntent::write && stages.writer.is_described(run.input) &&
        !stages.ranks.peers_closed()) {
        step = stages.writer.write_step(run.input, run.error);
        stages.times.write_s += run.watch.lap();
        run.vote.intent = StepIntent::written;
        run.vote.bytes = step->bytes;
        run.vote.digest = step->written->digest;
    }
    const uint64_t next_step = run.input.number() + 1;
    const auto commit = [&](const EndStepVote& all_ranks) {
        if (all_ranks.intent != StepIntent::written) return;
        stages.commit.journal_step(*step, run.input, all_ranks.bytes, all_ranks.digest);
        make_next_directory_alone(stages, run.input);
    };
    const EndStepVote all =
        agree(stages.ranks, run.vote, run.error, std::cref(commit), [&] { stages.upkeep.make_next_directory(1, next_step); });
    stages.staged.commit_arrived(all.unwritten_steps);
    if (all.intent == StepIntent::written) {
        stages.commit.on_step_committed(*step, run.input);
        stages.staged.add(*step);
        stages.times.commit_s += run.watch.lap();
        return;
    }
    stages.times.agree_s += run.watch.lap();
    if (step) {
        stages.writer.begin_group_again(run.input);
        ++stages.times.written_again;
    }
    write_and_commit(stages, run, all.intent, false);
}

}  // namespace tailrace
