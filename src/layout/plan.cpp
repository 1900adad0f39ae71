#include "layout/plan.hpp"

#include "base/error.hpp"
#include "layout/flow.hpp"
#include "layout/keys.hpp"
#include "layout/part_boxes.hpp"
#include "layout/parts.hpp"
#include "layout/placement.hpp"

namespace tailrace {
namespace {

// One array in the part.
struct PlannedArray {
    const PlanVariable* variable = nullptr;  // nullptr: the time value
    uint64_t elements = 0, element_bytes = 0;
    Box box;  // unused for scalars and the time
    BoxSpans spans;
    bool direct = false;
    bool is_single() const { return !variable || variable->shape.empty(); }
};

// In the order in which the library defines them: distributed variables, scalars, time.
std::vector<PlannedArray> arrays_of(const PlanRequest& request, uint64_t first_rank, uint64_t last_rank) {
    std::vector<PlannedArray> arrays;
    for (const PlanVariable& variable : request.variables) {
        if (variable.shape.empty()) continue;
        const uint64_t element_bytes = type_bytes(variable.type);
        const Decomposition decomposition(variable.shape, variable.grid);
        for (Box& box : boxes_of_part(request.layout, decomposition, first_rank, last_rank)) {
            const BoxSpans spans = spans_in_box(decomposition, box, element_bytes);
            const bool direct = is_written_by_owners(request.layout, last_rank - first_rank, spans);
            arrays.push_back({&variable, box.elements(), element_bytes, std::move(box), spans, direct});
        }
    }
    for (const PlanVariable& variable : request.variables)
        if (variable.shape.empty()) arrays.push_back({&variable, 1, type_bytes(variable.type), {}, {}, false});
    arrays.push_back({nullptr, 1, sizeof(double), {}, {}, false});
    return arrays;
}

void add_direct_writes(const PlannedArray& array, uint64_t address, uint64_t rank, std::vector<PlannedWrite>& writes) {
    const PlanVariable& variable = *array.variable;
    const Box block = Decomposition(variable.shape, variable.grid).block(rank);
    if (!overlap(block, array.box)) return;
    const Spans spans(array.box.count, within(array.box, block));
    for (uint64_t span = 0; span < spans.count(); ++span)
        writes.push_back({variable.name, address + spans.begin(span) * array.element_bytes, spans.length() * array.element_bytes});
}

void add_slab_writes(const PlannedArray& array, uint64_t address, uint64_t writers, uint64_t k, std::vector<PlannedWrite>& writes) {
    const uint64_t lo = split_begin(array.elements, writers, k), hi = split_begin(array.elements, writers, k + 1);
    if (lo < hi) writes.push_back({array.variable->name, address + lo * array.element_bytes, (hi - lo) * array.element_bytes});
}

uint64_t seal_bytes_of_writer(const PlanRequest& request, const std::vector<PlannedArray>& arrays) {
    if (!request.layout.storage.checksum) return 0;
    uint64_t boxes = 0, direct_spans = 0;
    for (const PlannedArray& array : arrays) {
        if (array.is_single()) continue;
        ++boxes;
        if (array.direct) direct_spans += array.spans.most;
    }
    return seal_slot_bytes(seal_records_of_writer(request.variables.size(), boxes, direct_spans));
}

std::vector<PlannedWrite> writes_of(const PlanRequest& request, const PartMap& parts, uint64_t part, uint64_t k) {
    const uint64_t writers = parts.writers(part);
    const std::vector<PlannedArray> arrays = arrays_of(request, parts.first_rank(part), parts.last_rank(part));
    PartBytes bytes;
    for (const PlannedArray& array : arrays) bytes.step_bytes.push_back(array.elements * array.element_bytes);
    bytes.seal_bytes = writers * seal_bytes_of_writer(request, arrays);
    const Placement placement(std::move(bytes), request.layout.storage);

    std::vector<PlannedWrite> writes;
    for (size_t a = 0; a < arrays.size(); ++a) {
        const PlannedArray& array = arrays[a];
        const uint64_t address = placement.static_end() + placement.step_offsets()[a];
        if (array.is_single()) {
            if (k == 0) writes.push_back({array.variable ? array.variable->name : request.time_name, address, array.element_bytes});
        } else if (array.direct) {
            add_direct_writes(array, address, parts.writer(part, k), writes);
        } else {
            add_slab_writes(array, address, writers, k, writes);
        }
    }
    return writes;
}

void check_variable(const PlanVariable& variable, uint64_t ranks) {
    const auto refuse = [&](const auto&... parts) { fail(Status::BAD_ARGUMENT, "variable '", variable.name, "': ", parts...); };
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
    const PartFlow within(flow, plan.part);
    plan.sends = within.sends_of(rank);
    const uint64_t k = flow.parts().writer_number(plan.part, rank);
    if (k < flow.parts().writers(plan.part)) {
        plan.receives = within.receives_of(k);
        plan.writes = writes_of(request, flow.parts(), plan.part, k);
    }
    return plan;
}

}  // namespace tailrace
