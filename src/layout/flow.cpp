#include "layout/flow.hpp"

#include <algorithm>

#include "layout/part_boxes.hpp"
#include "layout/slab.hpp"

namespace tailrace {
namespace {

// Adds up the bytes of neighbouring items whose `member` is equal.
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

// Adds up the bytes for each writer. Each half, [0, middle) and [middle, end), must be in ascending order.
void merge_by_writer(std::vector<PartFlow::WriterBytes>& to_writers, size_t middle) {
    const auto by_writer = [](const PartFlow::WriterBytes& a, const PartFlow::WriterBytes& b) { return a.writer < b.writer; };
    if (middle > 0)
        std::inplace_merge(to_writers.begin(), to_writers.begin() + static_cast<std::ptrdiff_t>(middle), to_writers.end(),
                           by_writer);
    add_up(to_writers, &PartFlow::WriterBytes::writer);
}

uint64_t slab_elements(uint64_t elements, uint64_t n, uint64_t k) {
    return split_begin(elements, n, k + 1) - split_begin(elements, n, k);
}

}  // namespace

Flow::Flow(const PlanRequest& request)
    : layout_(request.layout), ranks_(request.topology.ranks), parts_(request.layout, request.topology) {
    for (const PlanVariable& variable : request.variables) {
        const uint64_t element_bytes = type_bytes(variable.type);
        if (variable.shape.empty()) {
            scalar_bytes_ += element_bytes;
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
        return !is_written_by_owners(layout_, ranks_, spans_in_box(alike.decomposition, whole, alike.element_bytes));
    });
}

uint64_t Flow::bytes(uint64_t part) const {
    uint64_t bytes = scalar_bytes_;
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
        boxes_.emplace_back();
        for (Box& box : boxes_of_part(flow.layout_, alike.decomposition, first_, last_)) {
            const BoxSpans spans = spans_in_box(alike.decomposition, box, alike.element_bytes);
            boxes_.back().push_back({std::move(box), is_written_by_owners(flow.layout_, last_ - first_, spans)});
        }
    }
}

void PartFlow::add_bytes_to_writers(size_t number, uint64_t rank, std::vector<WriterBytes>& to_writers) const {
    const Alike& alike = flow_.alike_[number];
    const auto add = [&](uint64_t writer, uint64_t elements) {
        if (elements == 0) return;
        if (!to_writers.empty() && to_writers.back().writer == writer)
            to_writers.back().bytes += alike.bytes(elements);
        else
            to_writers.push_back({writer, alike.bytes(elements)});
    };
    if (writers_ == 1) return add(0, alike.decomposition.elements_of(rank));
    const Box block = alike.decomposition.block(rank);
    for (const FlowBox& stored : boxes_[number]) {
        if (!overlap(block, stored.box)) continue;  // a block lies in one of the boxes
        if (stored.direct) return;
        const Spans spans(stored.box.count, within(stored.box, block));
        const uint64_t in_line = spans.outer_dims() > 0 ? block.count[static_cast<size_t>(spans.outer_dims()) - 1] : 1;
        return for_each_slab(spans, in_line, stored.box.elements(), writers_, add);
    }
}

void PartFlow::bytes_to_writers(uint64_t rank, std::vector<WriterBytes>& to_writers) const {
    to_writers.clear();
    for (size_t alike = 0; alike < flow_.alike_.size(); ++alike) {
        const size_t middle = to_writers.size();
        // The marker separates the two ascending halves.
        if (middle > 0) to_writers.push_back({UINT64_MAX, 0});
        add_bytes_to_writers(alike, rank, to_writers);
        if (middle > 0) {
            to_writers.erase(to_writers.begin() + static_cast<std::ptrdiff_t>(middle));
            merge_by_writer(to_writers, middle);
        }
    }
}

std::vector<PlannedMessage> PartFlow::sends_of(uint64_t rank) const {
    std::vector<WriterBytes> to_writers;
    bytes_to_writers(rank, to_writers);
    std::vector<PlannedMessage> sends;
    for (const WriterBytes& mine : to_writers) {
        const uint64_t to = flow_.parts_.writer(part_, mine.writer);
        if (to != rank) sends.push_back({rank, to, mine.bytes});
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
        for (const FlowBox& stored : boxes_[number]) {
            if (stored.direct) continue;
            const uint64_t elements = stored.box.elements();
            const uint64_t lo = split_begin(elements, writers_, k), hi = split_begin(elements, writers_, k + 1);
            for (Box& box : slab_boxes(stored.box.count, lo, hi)) {
                for (size_t d = 0; d < box.offset.size(); ++d) box.offset[d] += stored.box.offset[d];
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
    uint64_t bytes = k == 0 ? flow_.scalar_bytes_ : 0;
    for (size_t number = 0; number < flow_.alike_.size(); ++number) {
        const Alike& alike = flow_.alike_[number];
        const Box own = alike.decomposition.block(flow_.parts_.writer(part_, k));
        for (const FlowBox& stored : boxes_[number])
            if (!stored.direct)
                bytes += alike.bytes(slab_elements(stored.box.elements(), writers_, k));
            else if (overlap(own, stored.box))
                bytes += alike.bytes(own.elements());
    }
    return bytes;
}

}  // namespace tailrace
