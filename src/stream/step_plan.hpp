// How the blocks of a step reach the writers: made once for each decomposition, used until a rank's blocks change.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "gather/communicator.hpp"
#include "gather/exchange.hpp"
#include "layout/keys.hpp"
#include "layout/parts.hpp"
#include "stream/definitions.hpp"
#include "stream/step_data.hpp"

namespace tailrace {

// Of one variable.
struct VariablePlan {
    bool planned = false;
    std::vector<Box> boxes;  // this rank's, as planned
    bool exchanged = false;  // goes through the exchange; otherwise its owner writes it where it lies
    bool has_gaps = false;
};

// The boxes of all ranks, on rank 0, for the index: only where there are several parts, and few enough for an index.
struct PartBox {
    uint64_t part = 0, block = 0;
    Box box;
};

class StepPlan {
public:
    StepPlan(const Communicator& ranks, const StreamConfig& config) : ranks_(ranks), config_(config) {}

    // Whether this rank's blocks are not those that were planned. `with_static`: static distributed variables are written too.
    bool changed(const Definitions& definitions, const StepData& data, bool with_static) const;
    // Collective. Checks that the blocks of all ranks make up every variable, and plans. Throws the same on all ranks.
    void make(const Definitions& definitions, const StepData& data, bool with_static);

    const VariablePlan& variable(size_t v) const { return variables_[v]; }
    // Variables that are exchanged among those written now, in order; and the exchange (none when nothing is exchanged).
    const std::vector<size_t>& exchanged() const { return exchanged_; }
    Exchange* exchange() const { return exchange_.get(); }
    // Whether this rank has at most one block of each variable.
    bool single_blocks() const {
        return std::all_of(variables_.begin(), variables_.end(), [](const VariablePlan& plan) { return plan.boxes.size() <= 1; });
    }
    // An upper bound of the checksum records of any writer in a step.
    uint64_t seal_records() const { return seal_records_; }
    uint64_t version() const { return version_; }                                        // counts the times that it was made
    const std::vector<std::vector<PartBox>>& part_boxes() const { return part_boxes_; }  // [variable], on rank 0

private:
    std::vector<size_t> written_now(const Definitions& definitions, bool with_static) const;
    void choose_ways(const Definitions& definitions, const std::vector<size_t>& now, const std::vector<bool>& gaps);
    void collect_part_boxes(const std::vector<size_t>& now);

    const Communicator& ranks_;
    const StreamConfig& config_;
    std::vector<VariablePlan> variables_;
    std::vector<size_t> exchanged_;
    std::unique_ptr<Exchange> exchange_;
    std::vector<std::vector<PartBox>> part_boxes_;
    uint64_t seal_records_ = 0, version_ = 0;
};

constexpr uint64_t kMaxIndexParts =
    256;  // more sources make a virtual dataset slow (40 times at 1024; measured) and exhaust descriptors

}  // namespace tailrace
