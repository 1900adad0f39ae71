#include "layout/flow.hpp"

#include <algorithm>

#include "layout/share.hpp"
#include "layout/slabs.hpp"

namespace tailrace {
namespace {

// Adds up the bytes of neighbours that agree in a member.
template <class Item>
void add_up(std::vector<Item>& items, uint64_t Item::* member) {
    size_t kept = 0;
    for (size_t i = 0; i < items.size(); ++i)
        if (kept > 0 && items[kept - 1].*member == items[i].*member)
            items[kept - 1].bytes += items[i].bytes;
        else
            items[kept++] = items[i];
    items.resize(kept);
}

// Adds up portions to the same writer; each half, [0, middle) and [middle, end), is in ascending order.
void merge_portions(std::vector<PartFlow::Portion>& portions, size_t middle) {
    const auto by_writer = [](const PartFlow::Portion& a, const PartFlow::Portion& b) { return a.writer < b.writer; };
    if (middle > 0)
        std::inplace_merge(portions.begin(), portions.begin() + static_cast<std::ptrdiff_t>(middle), portions.end(), by_writer);
    add_up(portions, &PartFlow::Portion::writer);
}

uint64_t share_elements(uint64_t elements, uint64_t shares, uint64_t k) {
    return share_begin(elements, shares, k + 1) - share_begin(elements, shares, k);
}

}  // namespace

Flow::Flow(const PlanRequest& request)
    : layout_(request.layout), ranks_(request.topology.ranks), parts_(request.layout, request.topology) {
    for (const PlanVariable& variable : request.variables) {
        const uint64_t element_bytes = type_bytes(variable.type);
        if (variable.shape.empty()) {
            single_bytes_ += element_bytes;
            continue;
        }
        const Decomposition decomposition(variable.shape, variable.grid);
        const auto alike = std::ranges::find_if(alike_, [&](const Alike& other) {
            return other.decomposition == decomposition && other.element_bytes == element_bytes;
        });
        if (alike != alike_.end())
            ++alike->variables;
        else
            alike_.push_back({decomposition, element_bytes});
    }
}

bool Flow::may_have_messages() const {
    if (parts_.parts() == ranks_) return false;
    if (!has_one_part(layout_)) return !alike_.empty();
    return std::ranges::any_of(alike_, [&](const Alike& alike) {
        const Box whole = whole_box(alike.decomposition.shape());
        return !is_written_by_owners(layout_, ranks_, runs_in_slab(alike.decomposition, whole, alike.element_bytes));
    });
}

uint64_t Flow::bytes(uint64_t part) const {
    uint64_t bytes = single_bytes_;
    const uint64_t first = parts_.first_rank(part), last = parts_.last_rank(part);
    for (const Alike& alike : alike_)
        bytes += alike.bytes(alike.decomposition.elements_before(last) - alike.decomposition.elements_before(first));
    return bytes;
}

PartFlow::PartFlow(const Flow& flow, uint64_t part)
    : flow_(flow), part_(part), first_(flow.parts_.first_rank(part)), last_(flow.parts_.last_rank(part)),
      writers_(flow.parts_.writers(part)) {
    if (writers_ == 1) return;
    for (const Alike& alike : flow.alike_) {
        slabs_.emplace_back();
        for (Box& box : slabs_of_part(flow.layout_, alike.decomposition, first_, last_)) {
            const SlabRuns runs = runs_in_slab(alike.decomposition, box, alike.element_bytes);
            slabs_.back().push_back({std::move(box), is_written_by_owners(flow.layout_, last_ - first_, runs)});
        }
    }
}

void PartFlow::add_portions(size_t number, uint64_t rank, std::vector<Portion>& portions) const {
    const Alike& alike = flow_.alike_[number];
    const auto add = [&](uint64_t writer, uint64_t elements) {
        if (elements == 0) return;
        if (!portions.empty() && portions.back().writer == writer)
            portions.back().bytes += alike.bytes(elements);
        else
            portions.push_back({writer, alike.bytes(elements)});
    };
    if (writers_ == 1) return add(0, alike.decomposition.elements_of(rank));
    const Box block = alike.decomposition.block(rank);
    for (const PartSlab& slab : slabs_[number]) {
        if (!overlap(block, slab.box)) continue;  // a block lies in one of the slabs
        if (slab.direct) return;
        const Runs runs(slab.box.count, within(slab.box, block));
        const uint64_t in_line = runs.outer_dims() > 0 ? block.count[static_cast<size_t>(runs.outer_dims()) - 1] : 1;
        return for_each_share(runs, in_line, slab.box.elements(), writers_, add);
    }
}

void PartFlow::portions_of(uint64_t rank, std::vector<Portion>& portions) const {
    portions.clear();
    for (size_t alike = 0; alike < flow_.alike_.size(); ++alike) {
        const size_t middle = portions.size();
        // The marker keeps the two ascending halves apart.
        if (middle > 0) portions.push_back({UINT64_MAX, 0});
        add_portions(alike, rank, portions);
        if (middle > 0) {
            portions.erase(portions.begin() + static_cast<std::ptrdiff_t>(middle));
            merge_portions(portions, middle);
        }
    }
}

std::vector<PlannedMessage> PartFlow::sends_of(uint64_t rank) const {
    std::vector<Portion> portions;
    portions_of(rank, portions);
    std::vector<PlannedMessage> sends;
    for (const Portion& portion : portions) {
        const uint64_t to = flow_.parts_.writer(part_, portion.writer);
        if (to != rank) sends.push_back({rank, to, portion.bytes});
    }
    return sends;
}

std::vector<PlannedMessage> PartFlow::receives_of(uint64_t k) const {
    const uint64_t writer = flow_.parts_.writer(part_, k);
    std::vector<PlannedMessage> receives;
    const auto receive = [&](uint64_t rank, uint64_t bytes) {
        if (rank != writer && bytes > 0) receives.push_back({rank, writer, bytes});
    };
    if (writers_ == 1) {
        receives.reserve(last_ - first_);
        for (uint64_t rank = first_; rank < last_; ++rank) {
            uint64_t bytes = 0;
            for (const Alike& alike : flow_.alike_) bytes += alike.bytes(alike.decomposition.elements_of(rank));
            receive(rank, bytes);
        }
        return receives;
    }
    for (size_t number = 0; number < flow_.alike_.size(); ++number) {
        const Alike& alike = flow_.alike_[number];
        for (const PartSlab& slab : slabs_[number]) {
            if (slab.direct) continue;
            const uint64_t elements = slab.box.elements();
            const uint64_t lo = share_begin(elements, writers_, k), hi = share_begin(elements, writers_, k + 1);
            for (Box& box : share_boxes(slab.box.count, lo, hi)) {
                for (size_t d = 0; d < box.offset.size(); ++d) box.offset[d] += slab.box.offset[d];
                alike.decomposition.for_each_rank(box, [&](uint64_t rank, uint64_t part) { receive(rank, alike.bytes(part)); });
            }
        }
    }
    std::ranges::sort(receives, {}, &PlannedMessage::from);
    add_up(receives, &PlannedMessage::from);
    return receives;
}

uint64_t PartFlow::writer_bytes(uint64_t k) const {
    if (writers_ == 1) return flow_.bytes(part_);
    uint64_t bytes = k == 0 ? flow_.single_bytes_ : 0;
    for (size_t number = 0; number < flow_.alike_.size(); ++number) {
        const Alike& alike = flow_.alike_[number];
        const Box own = alike.decomposition.block(flow_.parts_.writer(part_, k));
        for (const PartSlab& slab : slabs_[number])
            if (!slab.direct)
                bytes += alike.bytes(share_elements(slab.box.elements(), writers_, k));
            else if (overlap(own, slab.box))
                bytes += alike.bytes(own.elements());
    }
    return bytes;
}

}  // namespace tailrace
