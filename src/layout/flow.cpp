#include "layout/flow.hpp"

#include <algorithm>
#include <map>

#include "layout/share.hpp"

namespace tailrace {
namespace {

// Adds up portions to the same writer; each half, [0, middle) and [middle, end), is in ascending order.
void merge_portions(std::vector<Flow::Portion>& portions, size_t middle) {
    const auto by_writer = [](const Flow::Portion& a, const Flow::Portion& b) { return a.writer < b.writer; };
    if (middle > 0)
        std::inplace_merge(portions.begin(), portions.begin() + static_cast<std::ptrdiff_t>(middle), portions.end(), by_writer);
    size_t kept = 0;
    for (size_t i = 0; i < portions.size(); ++i)
        if (kept > 0 && portions[kept - 1].writer == portions[i].writer)
            portions[kept - 1].bytes += portions[i].bytes;
        else
            portions[kept++] = portions[i];
    portions.resize(kept);
}

uint64_t share_elements(uint64_t elements, uint64_t shares, uint64_t k) {
    return share_begin(elements, shares, k + 1) - share_begin(elements, shares, k);
}

}  // namespace

Flow::Flow(const PlanRequest& request)
    : one_part_(has_one_part(request.layout)), all_write_(request.layout.writers.kind == Writers::Kind::all),
      ranks_(request.topology.ranks), parts_(request.layout, request.topology) {
    for (const PlanVariable& variable : request.variables) {
        if (variable.shape.empty()) {
            single_bytes_ += type_bytes(variable.type);
            continue;
        }
        const Decomposition decomposition(variable.shape, variable.grid);
        const bool direct = is_direct(variable);
        const auto alike = std::ranges::find_if(
            groups_, [&](const Group& group) { return group.decomposition == decomposition && group.direct == direct; });
        if (alike != groups_.end())
            alike->element_bytes += type_bytes(variable.type);
        else
            groups_.push_back({decomposition, type_bytes(variable.type), direct});
    }
}

bool Flow::is_direct(const PlanVariable& variable) const {
    if (!one_part_ || !all_write_ || variable.shape.empty()) return false;
    const Box smallest{Extents(variable.shape.size(), 0), Decomposition(variable.shape, variable.grid).smallest_block()};
    return Runs(variable.shape, smallest).length() * type_bytes(variable.type) >= kDirectRunBytes;
}

bool Flow::may_have_messages() const {
    const bool gathered = std::ranges::any_of(groups_, [](const Group& group) { return !group.direct; });
    return gathered && parts_.parts() < ranks_;
}

uint64_t Flow::elements_of_part(const Group& group, uint64_t part) const {
    return group.decomposition.elements_before(parts_.last_rank(part)) -
           group.decomposition.elements_before(parts_.first_rank(part));
}

void Flow::add_portions(const Group& group, uint64_t rank, uint64_t part, std::vector<Portion>& portions) const {
    const Decomposition& decomposition = group.decomposition;
    const uint64_t writers = parts_.writers(part);
    const auto add = [&](uint64_t writer, uint64_t elements) {
        if (elements == 0) return;
        if (!portions.empty() && portions.back().writer == writer)
            portions.back().bytes += elements * group.element_bytes;
        else
            portions.push_back({writer, elements * group.element_bytes});
    };
    if (writers == 1) {
        add(0, decomposition.elements_of(rank));
    } else if (one_part_) {
        const Box box = decomposition.block(rank);
        const Runs runs(decomposition.shape(), box);
        const uint64_t in_line = runs.outer_dims() > 0 ? box.count[static_cast<size_t>(runs.outer_dims()) - 1] : 1;
        for_each_share(runs, in_line, decomposition.elements(), writers, add);
    } else {
        const uint64_t first = decomposition.elements_before(parts_.first_rank(part)), elements = elements_of_part(group, part);
        uint64_t at = decomposition.elements_before(rank) - first;
        for (const uint64_t end = decomposition.elements_before(rank + 1) - first; at < end;) {
            const uint64_t writer = share_of(elements, writers, at);
            const uint64_t to = std::min(end, share_begin(elements, writers, writer + 1));
            add(writer, to - at);
            at = to;
        }
    }
}

void Flow::portions_of(uint64_t rank, std::vector<Portion>& portions) const {
    portions.clear();
    const uint64_t part = parts_.part_of(rank);
    for (const Group& group : groups_) {
        if (group.direct) continue;
        const size_t middle = portions.size();
        // The marker keeps the two ascending halves apart.
        if (middle > 0) portions.push_back({UINT64_MAX, 0});
        add_portions(group, rank, part, portions);
        if (middle > 0) {
            portions.erase(portions.begin() + static_cast<std::ptrdiff_t>(middle));
            merge_portions(portions, middle);
        }
    }
}

std::vector<PlannedMessage> Flow::sends_of(uint64_t rank) const {
    std::vector<Portion> portions;
    portions_of(rank, portions);
    const uint64_t part = parts_.part_of(rank);
    std::vector<PlannedMessage> sends;
    for (const Portion& portion : portions) {
        const uint64_t to = parts_.writer(part, portion.writer);
        if (to != rank) sends.push_back({rank, to, portion.bytes});
    }
    return sends;
}

std::vector<PlannedMessage> Flow::receives_of(uint64_t part, uint64_t k) const {
    const uint64_t writer = parts_.writer(part, k), writers = parts_.writers(part);
    const uint64_t first_rank = parts_.first_rank(part), last_rank = parts_.last_rank(part);
    std::map<uint64_t, uint64_t> bytes_from;
    for (const Group& group : groups_) {
        if (group.direct) continue;
        const Decomposition& decomposition = group.decomposition;
        const auto receive = [&](uint64_t rank, uint64_t elements) {
            if (rank != writer && elements > 0) bytes_from[rank] += elements * group.element_bytes;
        };
        const uint64_t elements = elements_of_part(group, part);
        const uint64_t lo = share_begin(elements, writers, k), hi = share_begin(elements, writers, k + 1);
        if (one_part_) {
            for (const Box& box : share_boxes(decomposition.shape(), lo, hi)) decomposition.for_each_rank(box, receive);
            continue;
        }
        const uint64_t first = decomposition.elements_before(first_rank);
        for (uint64_t rank = first_rank; rank < last_rank; ++rank) {
            const uint64_t from = std::max(lo, decomposition.elements_before(rank) - first);
            const uint64_t to = std::min(hi, decomposition.elements_before(rank + 1) - first);
            if (from < to) receive(rank, to - from);
        }
    }
    std::vector<PlannedMessage> receives;
    for (const auto& [from, bytes] : bytes_from) receives.push_back({from, writer, bytes});
    return receives;
}

uint64_t Flow::writer_bytes(uint64_t part, uint64_t k) const {
    uint64_t bytes = k == 0 ? single_bytes_ : 0;
    for (const Group& group : groups_) {
        const uint64_t elements = group.direct ? group.decomposition.elements_of(parts_.writer(part, k))
                                               : share_elements(elements_of_part(group, part), parts_.writers(part), k);
        bytes += elements * group.element_bytes;
    }
    return bytes;
}

uint64_t Flow::part_bytes(uint64_t part) const {
    uint64_t bytes = single_bytes_;
    for (const Group& group : groups_) bytes += elements_of_part(group, part) * group.element_bytes;
    return bytes;
}

}  // namespace tailrace
