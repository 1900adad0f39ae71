// Scattered variables: their blocks are lists of indices, or many small blocks. Before a step is planned, their elements move to
// contiguous ranges, one for each rank. The later stages see these ranges as the blocks that the ranks have put.
#pragma once

#include <optional>
#include <vector>

#include "gather/cell_board.hpp"
#include "gather/communicator.hpp"
#include "gather/redistribution.hpp"
#include "record/definitions.hpp"
#include "stream/step_data.hpp"

namespace tailrace {

class ScatteredBlocks {
public:
    // `buffer_bytes`: the size of the buffers for messages.
    ScatteredBlocks(const Communicator& ranks, uint64_t buffer_bytes)
        : ranks_(ranks), buffer_bytes_(buffer_bytes), board_(ranks, buffer_bytes) {}
    ScatteredBlocks(const ScatteredBlocks&) = delete;

    // Local, called in every step before the ranks agree on it. Returns whether the plan still fits this rank's blocks: they are
    // scattered as planned, or not at all. If so, puts the ranges into `data` in place of the scattered blocks, without their
    // elements, which it shows to the other ranks of the node. If not, all ranks must call plan().
    bool take(const Definitions& definitions, StepData& data, bool with_static);
    bool must_plan() const { return must_plan_; }  // the opposite of what take() returned; false after plan()
    // Whether the plan moves any elements, so that exchange() is called in every step. The same on all ranks.
    bool is_in_use() const { return !plans_.empty(); }

    // Collective, once the ranks agree that one of them must plan. Throws the same error on all ranks.
    void plan(const Definitions& definitions, StepData& data, bool with_static);
    // Collective, called once the ranks agree on the step. Moves the elements of its scattered blocks to the ranges.
    void exchange(const Definitions& definitions, StepData& data);

private:
    struct Planned {
        std::optional<size_t> dim;  // the dimension along which elements move; none: the variable is not scattered
        bool is_refused = false;    // a rank proposed to move the blocks, but the blocks of another rank cannot be moved
        IndexList indices;          // this rank's indices along `dim`
        size_t plan = 0;            // index in plans_
    };
    // A scattered variable in this step: what the model has put, and the memory of this rank's range.
    struct Source {
        size_t variable = 0, plan = 0;
        MovedArray array;
        std::vector<Box> boxes;
        std::vector<IndexedBlock> lists;
        std::vector<BlockView> blocks;  // the memory of the lists, then that of the boxes
        std::vector<std::byte> range;
    };

    // Arrays that the ranks of a node show each other at the same time: the plan of each, and where it is in the shared memory.
    struct ShownArray {
        size_t plan = 0;
        MovedArray array;
        uint64_t begin = 0;
    };
    using Group = std::vector<ShownArray>;
    enum class Blocks { in_data, in_sources };

    bool is_as_planned(size_t v, const Variable& variable, const StepData& data) const;
    void choose_dimensions(const Definitions& definitions, const StepData& data, const std::vector<size_t>& written);
    std::vector<size_t> scattered(const std::vector<size_t>& written) const;
    void make_plans(const Definitions& definitions, const StepData& data, const std::vector<size_t>& scattered);
    void check_coverage(const Definitions& definitions, const std::vector<size_t>& scattered) const;
    void take_blocks(const Definitions& definitions, StepData& data, const std::vector<size_t>& scattered);
    void give_back_blocks(StepData& data);
    std::vector<Group> groups();
    void make_room();
    void show(const Group& group);
    void make_ranges(const Definitions& definitions, StepData& data);
    void exchange_on_node();

    const Communicator& ranks_;
    const uint64_t buffer_bytes_;
    bool must_plan_ = false;
    std::vector<Planned> planned_;  // by variable
    std::vector<Redistribution> plans_;
    MoveBuffers buffers_;
    CellBoard board_;
    bool uses_board_ = false;          // the plans' elements move over it; the same on all ranks
    std::vector<Source> sources_;      // in the order of the variables; the next step uses their memory again
    Blocks blocks_ = Blocks::in_data;  // of this step
};

}  // namespace tailrace
