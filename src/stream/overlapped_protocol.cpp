// The overlapped protocol: the ranks agree on the step and hand it to their threads. Each call begins by committing steps that all
// ranks have reported as written (docs/decisions/0012).
#include "gather/agree.hpp"
#include "stream/end_step.hpp"

namespace tailrace {

void end_step_overlapped(Stages& stages, StepRun& run) {
    StepIntent intent = StepIntent::write_blocks;
    const bool is_first_agreement = plans_in_first_agreement(stages, run);
    if (!is_first_agreement) {
        const EndStepVote all = agree(stages.ranks, run.vote, run.error);
        stages.times.agree_s += run.watch.lap();
        stages.commit.commit_ready_steps(all.unwritten_steps, all.committed_steps);
        if (all.intent == StepIntent::skip) {
            stages.overlap.count_skipped_step();
            return run.input.progress.leave_out_step();
        }
        intent = all.intent;
    }
    std::optional<Error> error = plan_step(stages, run, intent, is_first_agreement);
    stages.overlap.wait_for_slot(stages.commit.in_flight());
    StepInFlight step;
    WriteVote vote{.unshown_steps = stages.commit.unshown_steps()};
    if (!error) {
        step = stages.writer.write_step(run.input, error);
        vote.bytes = step.bytes;  // the digest is known when the thread has written the step
    }
    name_other_run(stages, error);
    stages.times.write_s += run.watch.lap();
    const WriteVote all = agree(stages.ranks, vote, error);
    stages.commit.note_unshown(all.unshown_steps);
    stages.commit.add_in_flight(std::move(step), run.input, all.bytes);
    stages.overlap.end_step();
    stages.times.commit_s += run.watch.lap();
}

}  // namespace tailrace
