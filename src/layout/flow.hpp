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

    const PartMap& parts() const { return parts_; }
    bool may_have_messages() const;  // false: no rank sends anything
    uint64_t bytes(uint64_t part) const;

private:
    friend class PartFlow;
    struct Alike {
        Decomposition decomposition;
        uint64_t element_bytes = 0;  // of each of its variables
        uint64_t variables = 1;
        uint64_t bytes(uint64_t elements) const { return elements * element_bytes * variables; }
    };
    Layout layout_;
    uint64_t ranks_;
    PartMap parts_;
    std::vector<Alike> alike_;
    uint64_t single_bytes_ = sizeof(double);  // scalars and the time value
};

// The flow within one part; refers to the Flow that it is of.
class PartFlow {
public:
    PartFlow(const Flow& flow, uint64_t part);

    // What goes from a rank to the writer of that number (itself perhaps), in ascending order.
    struct Portion {
        uint64_t writer = 0, bytes = 0;
    };
    // `portions` is used again from call to call, so that a million ranks cost no memory.
    void portions_of(uint64_t rank, std::vector<Portion>& portions) const;
    std::vector<PlannedMessage> sends_of(uint64_t rank) const;
    // What the k-th writer receives from other ranks, in their order.
    std::vector<PlannedMessage> receives_of(uint64_t k) const;
    // Bytes that the k-th writer writes in a step.
    uint64_t writer_bytes(uint64_t k) const;

private:
    using Alike = Flow::Alike;
    struct PartSlab {
        Box box;
        bool direct = false;
    };
    void add_portions(size_t alike, uint64_t rank, std::vector<Portion>& portions) const;

    const Flow& flow_;
    const uint64_t part_, first_, last_, writers_;
    std::vector<std::vector<PartSlab>> slabs_;  // [alike]; none where one writer has everything
};

}  // namespace tailrace
