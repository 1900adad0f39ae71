#include "layout/plan.hpp"

#include "base/error.hpp"
#include "layout/flow.hpp"
#include "layout/keys.hpp"
#include "layout/parts.hpp"
#include "layout/placement.hpp"

namespace tailrace {
namespace {

// One array in the part, and what its elements are in the variable's shares (several parts: blocks one after the other).
struct PlannedArray {
    const PlanVariable* variable = nullptr;  // nullptr: the time value
    uint64_t first_element = 0;              // of the concatenated elements of the part
    uint64_t elements = 0, element_bytes = 0;
    bool is_single() const { return !variable || variable->shape.empty(); }
};

// In the order in which the library defines them: distributed variables, scalars, time.
std::vector<PlannedArray> arrays_of(const PlanRequest& request, uint64_t first_rank, uint64_t last_rank) {
    std::vector<PlannedArray> arrays;
    for (const PlanVariable& variable : request.variables) {
        if (variable.shape.empty()) continue;
        const uint64_t element_bytes = type_bytes(variable.type);
        if (has_one_part(request.layout)) {
            arrays.push_back({&variable, 0, volume(variable.shape), element_bytes});
            continue;
        }
        const Decomposition decomposition(variable.shape, variable.grid);
        const uint64_t before = decomposition.elements_before(first_rank);
        for (uint64_t rank = first_rank; rank < last_rank; ++rank)
            if (const uint64_t elements = decomposition.elements_of(rank); elements > 0)
                arrays.push_back({&variable, decomposition.elements_before(rank) - before, elements, element_bytes});
    }
    for (const PlanVariable& variable : request.variables)
        if (variable.shape.empty()) arrays.push_back({&variable, 0, 1, type_bytes(variable.type)});
    arrays.push_back({nullptr, 0, 1, sizeof(double)});
    return arrays;
}

// The number of a rank among the writers of its part, or W if it is none of them.
uint64_t writer_number(const PartMap& parts, uint64_t part, uint64_t rank) {
    uint64_t lo = 0, hi = parts.writers(part);
    const uint64_t writers = hi;
    while (lo < hi) {
        const uint64_t middle = lo + (hi - lo) / 2;
        if (parts.writer(part, middle) < rank)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < writers && parts.writer(part, lo) == rank ? lo : writers;
}

void add_direct_writes(const PlannedArray& array, uint64_t address, uint64_t rank, std::vector<PlannedWrite>& writes) {
    const PlanVariable& variable = *array.variable;
    const Runs runs(variable.shape, Decomposition(variable.shape, variable.grid).block(rank));
    for (uint64_t run = 0; run < runs.count(); ++run)
        writes.push_back({variable.name, address + runs.begin(run) * array.element_bytes, runs.length() * array.element_bytes});
}

// The writer's share of the variable's elements, as far as it lies in this array.
void add_share_writes(const PlannedArray& array, uint64_t address, uint64_t lo, uint64_t hi, std::vector<PlannedWrite>& writes) {
    const uint64_t from = std::max(lo, array.first_element), to = std::min(hi, array.first_element + array.elements);
    if (from >= to) return;
    writes.push_back(
        {array.variable->name, address + (from - array.first_element) * array.element_bytes, (to - from) * array.element_bytes});
}

// Room for checksums is the same for all writers: as much as the rank with most runs of bytes needs, which is the last one, because
// its blocks are the largest.
uint64_t seal_bytes_of_writer(const PlanRequest& request, const Flow& flow) {
    if (!request.layout.storage.checksum) return 0;
    const uint64_t ranks = request.topology.ranks;
    uint64_t records = kSpareSealRecords + request.variables.size();
    for (const PlanVariable& variable : request.variables) {
        const bool gathered = has_one_part(request.layout) && ranks > 1 && !flow.is_direct(variable);
        if (variable.shape.empty() || gathered) continue;
        const Box block = Decomposition(variable.shape, variable.grid).block(ranks - 1);
        if (has_one_part(request.layout))
            records += Runs(variable.shape, block).count();
        else if (block.elements() > 0)
            ++records;
    }
    return seal_slot_bytes(records);
}

std::vector<PlannedWrite> writes_of(const PlanRequest& request, const Flow& flow, uint64_t part, uint64_t k) {
    const PartMap& parts = flow.parts();
    const uint64_t first_rank = parts.first_rank(part), last_rank = parts.last_rank(part), writers = parts.writers(part);
    const std::vector<PlannedArray> arrays = arrays_of(request, first_rank, last_rank);
    PartBytes bytes;
    for (const PlannedArray& array : arrays) bytes.step_bytes.push_back(array.elements * array.element_bytes);
    bytes.seal_bytes = writers * seal_bytes_of_writer(request, flow);
    const Placement placement(std::move(bytes), request.layout.storage);

    std::vector<PlannedWrite> writes;
    for (size_t a = 0; a < arrays.size(); ++a) {
        const PlannedArray& array = arrays[a];
        const uint64_t address = placement.static_end() + placement.step_offsets()[a];
        if (array.is_single()) {
            if (k == 0) writes.push_back({array.variable ? array.variable->name : request.time_name, address, array.element_bytes});
        } else if (flow.is_direct(*array.variable)) {
            add_direct_writes(array, address, parts.writer(part, k), writes);
        } else {
            uint64_t elements = array.elements;
            if (!has_one_part(request.layout)) {
                const Decomposition decomposition(array.variable->shape, array.variable->grid);
                elements = decomposition.elements_before(last_rank) - decomposition.elements_before(first_rank);
            }
            add_share_writes(array, address, share_begin(elements, writers, k), share_begin(elements, writers, k + 1), writes);
        }
    }
    return writes;
}

void check_variable(const PlanVariable& variable, uint64_t ranks) {
    const auto refuse = [&](const auto&... parts) { fail(Status::BAD_ARGUMENT, "variable '", variable.name, "': ", parts...); };
    if (variable.shape.size() > static_cast<size_t>(kMaxDims))
        refuse(variable.shape.size(), " dimensions; at most ", kMaxDims, " are possible");
    if (variable.shape.empty() && variable.grid.empty()) return;
    if (variable.grid.size() != variable.shape.size())
        refuse("the grid has ", variable.grid.size(), " dimensions and the shape ", variable.shape.size(), "; give both as many");
    unsigned __int128 blocks = 1;
    for (const uint64_t n : variable.grid) blocks = blocks * n > ranks ? ranks + 1 : blocks * n;
    if (blocks != ranks) {
        std::string grid;
        for (const uint64_t n : variable.grid) grid += (grid.empty() ? "" : "x") + std::to_string(n);
        refuse("the grid ", grid, " does not have one block for each of the ", ranks, " ranks");
    }
}

}  // namespace

void check_request(const PlanRequest& request) {
    check_choices(request.layout);
    const Topology& topology = request.topology;
    if (topology.ranks == 0 || topology.nodes == 0 || topology.nodes > topology.ranks)
        fail(Status::BAD_ARGUMENT, topology.ranks, " ranks on ", topology.nodes, " nodes; each node needs at least one rank");
    if (request.steps == 0) fail(Status::BAD_ARGUMENT, "steps = 0: nothing to plan; give at least 1");
    constexpr auto kMost = static_cast<unsigned __int128>(INT64_MAX);
    unsigned __int128 step_bytes = 0;
    for (const PlanVariable& variable : request.variables) {
        check_variable(variable, topology.ranks);
        unsigned __int128 bytes = type_bytes(variable.type);
        for (const uint64_t n : variable.shape) bytes = std::min(bytes * n, kMost);
        step_bytes = std::min(step_bytes + bytes, kMost);
    }
    const unsigned __int128 times = topology.ranks * static_cast<unsigned __int128>(sizeof(double));
    if ((step_bytes + times) * request.steps >= kMost) fail(Status::BAD_ARGUMENT, "the steps together have 2^63 bytes or more");
}

RankPlan plan_rank(const PlanRequest& request, uint64_t rank) {
    check_request(request);
    if (rank >= request.topology.ranks)
        fail(Status::BAD_ARGUMENT, "rank ", rank, " is not one of ", request.topology.ranks, " ranks (0 to ",
             request.topology.ranks - 1, ")");
    const Flow flow(request);
    RankPlan plan;
    plan.rank = rank;
    plan.part = flow.parts().part_of(rank);
    plan.path = part_path(request.layout, request.stream, 0, plan.part);
    plan.sends = flow.sends_of(rank);
    const uint64_t k = writer_number(flow.parts(), plan.part, rank);
    if (k < flow.parts().writers(plan.part)) {
        plan.receives = flow.receives_of(plan.part, k);
        plan.writes = writes_of(request, flow, plan.part, k);
    }
    return plan;
}

}  // namespace tailrace
