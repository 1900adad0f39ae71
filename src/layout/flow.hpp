// The flow of one step's data from blocks to writers, by the rules of plan.hpp. Variables that are decomposed alike flow alike,
// so they are taken together.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/parts.hpp"
#include "layout/plan.hpp"

namespace tailrace {

class Flow {
public:
    explicit Flow(const PlanRequest& request);

    // What goes from a rank to the writer of that number in its part (itself perhaps), in ascending order.
    struct Portion {
        uint64_t writer = 0, bytes = 0;
    };
    // `portions` is used again from call to call, so that a million ranks cost no memory.
    void portions_of(uint64_t rank, std::vector<Portion>& portions) const;
    std::vector<PlannedMessage> sends_of(uint64_t rank) const;
    // What the k-th writer of a part receives from other ranks, in their order.
    std::vector<PlannedMessage> receives_of(uint64_t part, uint64_t k) const;
    bool may_have_messages() const;  // false: no rank sends anything

    // Bytes that the k-th writer of a part writes in a step, and those of all the part's writers.
    uint64_t writer_bytes(uint64_t part, uint64_t k) const;
    uint64_t part_bytes(uint64_t part) const;

    bool is_direct(const PlanVariable& variable) const;
    const PartMap& parts() const { return parts_; }

private:
    struct Group {
        Decomposition decomposition;
        uint64_t element_bytes = 0;  // of all its variables together
        bool direct = false;
    };
    void add_portions(const Group& group, uint64_t rank, uint64_t part, std::vector<Portion>& portions) const;
    uint64_t elements_of_part(const Group& group, uint64_t part) const;

    bool one_part_, all_write_;
    uint64_t ranks_;
    PartMap parts_;
    std::vector<Group> groups_;
    uint64_t single_bytes_ = sizeof(double);  // scalars and the time value
};

}  // namespace tailrace
