// The agreed protocol: the ranks agree on the step, plan it where needed, write it, and agree that all have written it. Rank 0
// commits it within that last agreement.
#include <functional>

#include "gather/agree.hpp"
#include "stream/end_step.hpp"

namespace tailrace {

void end_step_agreed(Stages& stages, StepRun& run) {
    if (plans_in_first_agreement(stages, run)) return write_and_commit(stages, run, StepIntent::write_blocks, true);
    const EndStepVote all = agree(stages.ranks, run.vote, run.error);
    stages.staged.commit_arrived(all.unwritten_steps);
    stages.times.agree_s += run.watch.lap();
    write_and_commit(stages, run, all.intent, false);
}

void write_and_commit(Stages& stages, StepRun& run, StepIntent intent, bool is_first_agreement) {
    std::optional<Error> error = plan_step(stages, run, intent, is_first_agreement);
    StepInFlight step;
    WriteVote vote{.unshown_steps = stages.commit.unshown_steps()};
    if (!error) {
        step = stages.writer.write_step(run.input, error);
        vote.bytes = step.bytes;
        vote.digest = step.written->digest;
    }
    name_other_run(stages, error);
    stages.times.write_s += run.watch.lap();
    const uint64_t next_step = run.input.number() + 1;
    const auto commit = [&](const WriteVote& all) {
        stages.commit.note_unshown(all.unshown_steps);
        stages.commit.journal_step(step, run.input, all.bytes, all.digest);
        make_next_directory_alone(stages, run.input);
    };
    agree(stages.ranks, vote, error, std::cref(commit), [&] { stages.upkeep.make_next_directory(1, next_step); });
    stages.commit.on_step_committed(step, run.input);
    stages.staged.add(step);
    stages.times.commit_s += run.watch.lap();
}

}  // namespace tailrace
