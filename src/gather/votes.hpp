// The collective calls, and the vote of each: what every rank contributes, field by field, and how it is combined (vote.hpp).
#pragma once

#include <cstdint>
#include <tuple>

#include "gather/vote.hpp"

namespace tailrace {

enum class Call : uint64_t {
    open = 1,
    end_step,
    plan,
    write,
    open_read,
    select_step,
    get_shared,
    get_indices,
    flush,
    convert,
    set_aside,
    close_read,  // the calls that end a stream or a reader come last
    close,
};

// Opening a stream, and each further agreement while it is opened.
struct OpenVote {
    static constexpr Call kCall = Call::open;
    uint64_t place = 0;       // checksum of directory and name
    uint64_t options = 0;     // checksum of the options of the call
    uint64_t text_bytes = 0;  // length of what rank 0 broadcasts with this agreement
    static constexpr auto fields() {
        return std::tuple(vote::equal("the directory or the name of the stream", &OpenVote::place),
                          vote::equal("the options of tailrace_open", &OpenVote::options),
                          vote::from_rank_0(&OpenVote::text_bytes));
    }
};

// What a rank is about to do in end_step. The largest of all ranks is what all do.
enum class StepIntent : uint64_t {
    written,        // nothing: it has written its part of the step before the agreement
    write,          // write as planned
    write_dynamic,  // plan without the static variables, which are stored already; then write
    write_blocks,   // plan for its blocks, which differ from the planned ones; then write
    redistribute,   // plan how its scattered blocks move to contiguous ranges, move them; then plan and write
    skip,           // skip the step: its memory for steps in flight is full (overlap_policy = drop)
};

// The first agreement of every end_step.
struct EndStepVote {
    static constexpr Call kCall = Call::end_step;
    uint64_t step_fingerprint = 0;  // checksum of the definitions and the time
    StepIntent intent = StepIntent::written;
    uint64_t unwritten_steps = 0;  // with overlap: steps in flight that this rank has not written; staged: that have not arrived
    uint64_t committed_steps = 0;  // with overlap: steps in flight that rank 0 has committed
    // As in WriteVote, if the step is written already.
    uint64_t bytes = 0, digest = 0;
    // As in PlanVote, if this is the run's first step.
    bool covers_badly = false, has_blocks_elsewhere = false;
    uint64_t part_box_words = 0;
    static constexpr auto fields() {
        return std::tuple(vote::equal("the definitions or the time of the step", &EndStepVote::step_fingerprint),
                          vote::largest(&EndStepVote::intent), vote::largest(&EndStepVote::unwritten_steps),
                          vote::from_rank_0(&EndStepVote::committed_steps), vote::sum(&EndStepVote::bytes),
                          vote::sum(&EndStepVote::digest), vote::any(&EndStepVote::covers_badly),
                          vote::any(&EndStepVote::has_blocks_elsewhere), vote::largest(&EndStepVote::part_box_words));
    }
};

// Each agreement of end_step between the first one and the write.
struct PlanVote {
    static constexpr Call kCall = Call::plan;
    bool covers_badly = false;                // its blocks leave a gap in the tile that it checks, or overlap there
    bool has_blocks_elsewhere = false;        // some of its blocks lie in tiles that other ranks check
    StepIntent intent = StepIntent::written;  // redistribute: nothing is planned in this agreement
    uint64_t part_box_words = 0;              // length of the list of boxes that this rank has for rank 0
    static constexpr auto fields() {
        return std::tuple(vote::any(&PlanVote::covers_badly), vote::any(&PlanVote::has_blocks_elsewhere),
                          vote::largest(&PlanVote::intent), vote::largest(&PlanVote::part_box_words));
    }
};

// The agreement that a step, or one of the steps in flight, is written on all ranks.
struct WriteVote {
    static constexpr Call kCall = Call::write;
    uint64_t bytes = 0;          // of this rank's part of the step
    uint64_t digest = 0;         // checksum of what this rank wrote
    uint64_t unshown_steps = 0;  // number of committed steps that readers of this rank's part do not see yet
    static constexpr auto fields() {
        return std::tuple(vote::sum(&WriteVote::bytes), vote::sum(&WriteVote::digest), vote::largest(&WriteVote::unshown_steps));
    }
};

struct FlushVote {
    static constexpr Call kCall = Call::flush;
    uint64_t unwritten_steps = 0, committed_steps = 0;  // as in EndStepVote
    static constexpr auto fields() {
        return std::tuple(vote::largest(&FlushVote::unwritten_steps), vote::from_rank_0(&FlushVote::committed_steps));
    }
};

struct CloseVote {
    static constexpr Call kCall = Call::close;
    uint64_t unwritten_steps = 0, committed_steps = 0;  // as in EndStepVote
    bool drops_step = false;                            // a step was begun on this rank, and not ended
    uint64_t static_fingerprint = 0;                    // checksum of the definitions, if only static arrays are written
    uint64_t direct_files = 0;                          // with stage = scratch: parts for which scratch had no room
    static constexpr auto fields() {
        return std::tuple(vote::largest(&CloseVote::unwritten_steps), vote::from_rank_0(&CloseVote::committed_steps),
                          vote::any(&CloseVote::drops_step), vote::equal("the definitions", &CloseVote::static_fingerprint),
                          vote::sum(&CloseVote::direct_files));
    }
};

struct OpenReadVote {
    static constexpr Call kCall = Call::open_read;
    uint64_t place = 0;        // checksum of directory and name
    uint64_t table_words = 0;  // length of what rank 0 broadcasts about the stream
    static constexpr auto fields() {
        return std::tuple(vote::equal("the directory or the name of the stream", &OpenReadVote::place),
                          vote::from_rank_0(&OpenReadVote::table_words));
    }
};

struct SelectStepVote {
    static constexpr Call kCall = Call::select_step;
    uint64_t step_index = 0;   // among the committed steps
    uint64_t table_words = 0;  // length of what rank 0 broadcasts about the step
    static constexpr auto fields() {
        return std::tuple(vote::equal("the step to read", &SelectStepVote::step_index),
                          vote::from_rank_0(&SelectStepVote::table_words));
    }
};

struct GetSharedVote {
    static constexpr Call kCall = Call::get_shared;
    uint64_t variable = 0;  // checksum of its name
    static constexpr auto fields() { return std::tuple(vote::equal("the variable to read", &GetSharedVote::variable)); }
};

struct GetIndicesVote {
    static constexpr Call kCall = Call::get_indices;
    uint64_t array = 0;      // checksum of the names of the variable and of the dimension
    bool must_plan = false;  // this rank's list of indices differs from that of its last call
    static constexpr auto fields() {
        return std::tuple(vote::equal("the variable to read, or the dimension", &GetIndicesVote::array),
                          vote::any(&GetIndicesVote::must_plan));
    }
};

struct CloseReadVote {
    static constexpr Call kCall = Call::close_read;
    static constexpr auto fields() { return std::tuple(); }
};

struct ConvertVote {
    static constexpr Call kCall = Call::convert;
    static constexpr auto fields() { return std::tuple(); }
};

struct SetAsideVote {
    static constexpr Call kCall = Call::set_aside;
    uint64_t dedicated = 0;
    static constexpr auto fields() { return std::tuple(vote::equal("the number of ranks to set aside", &SetAsideVote::dedicated)); }
};

}  // namespace tailrace
