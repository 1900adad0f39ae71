// Variables whose blocks are lists of indices, or many small blocks: before a step is planned their elements move to contiguous
// ranges, one a rank. For all that follows these ranges are the blocks that the ranks have put.
#pragma once

#include <optional>
#include <vector>

#include "gather/communicator.hpp"
#include "gather/redistribution.hpp"
#include "record/definitions.hpp"
#include "stream/step_data.hpp"

namespace tailrace {

class ScatteredBlocks {
public:
    // `buffer_bytes`: for messages.
    ScatteredBlocks(const Communicator& ranks, uint64_t buffer_bytes) : ranks_(ranks), buffer_bytes_(buffer_bytes) {}
    ScatteredBlocks(const ScatteredBlocks&) = delete;

    // Local, in every step before the ranks agree on it. Whether this rank's blocks of the step are scattered as planned, or not at
    // all; else all ranks must plan(). Then the ranges take the place of the scattered blocks in `data`, without their elements.
    bool take(const Definitions& definitions, StepData& data, bool with_static);
    bool must_plan() const { return must_plan_; }  // what take() found; false after plan()
    // Known on all ranks: whether the plan moves anything, and exchange() is called in every step.
    bool is_in_use() const { return !plans_.empty(); }

    // Collective, once the ranks agree that one of them must plan. Throws the same error on all ranks.
    void plan(const Definitions& definitions, StepData& data, bool with_static);
    // Collective, once the ranks agree on the step. Moves its elements.
    void exchange(const Definitions& definitions, StepData& data);

private:
    struct Planned {
        std::optional<size_t> dim;  // none: not scattered
        bool is_refused = false;    // although a rank advised it: the blocks of another cannot be moved
        IndexList indices;          // of this rank
        size_t plan = 0;            // of plans_
    };
    // A scattered variable in this step: what the model has put, and the memory of this rank's range.
    struct Source {
        size_t variable = 0;
        std::vector<Box> boxes;
        std::vector<IndexedBlock> lists;
        std::vector<BlockView> blocks;  // of the lists, then of the boxes
        std::vector<std::byte> range;
    };

    bool is_as_planned(size_t v, const Variable& variable, const StepData& data) const;
    void choose_dimensions(const Definitions& definitions, const StepData& data, const std::vector<size_t>& written);
    std::vector<size_t> scattered(const std::vector<size_t>& written) const;
    void make_plans(const Definitions& definitions, const StepData& data, const std::vector<size_t>& scattered);
    void check_coverage(const Definitions& definitions, const std::vector<size_t>& scattered) const;
    void take_blocks(const Definitions& definitions, StepData& data, const std::vector<size_t>& scattered);
    void give_back_blocks(StepData& data);

    const Communicator& ranks_;
    const uint64_t buffer_bytes_;
    bool must_plan_ = false;
    std::vector<Planned> planned_;  // by variable
    std::vector<Redistribution> plans_;
    MoveBuffers buffers_;
    std::vector<Source> sources_;  // in the order of the variables; their memory serves again in the next step
    bool has_taken_ = false;       // the blocks of this step are in sources_
};

}  // namespace tailrace
