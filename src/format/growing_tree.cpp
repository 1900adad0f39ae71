#include "format/growing_tree.hpp"

#include <algorithm>

namespace tailrace::format {

uint64_t GrowingTree::node_bytes() const { return 24 + (most_children_ + 1) * key_bytes() + most_children_ * 8; }

uint64_t GrowingTree::full_bytes(uint64_t chunks) const {
    uint64_t nodes = 0;
    for (uint64_t level = 0, full = chunks / most_children_; full > 0; full /= most_children_, ++level) {
        const uint64_t written = level < full_.size() ? full_[level].size() : 0;
        nodes += full > written ? full - written : 0;
    }
    return nodes * node_bytes();
}

uint64_t GrowingTree::open_bytes(uint64_t chunks) const {
    uint64_t levels = 1;
    for (uint64_t full = chunks / most_children_; full > 0; full /= most_children_) ++levels;
    return (levels + 1) * node_bytes();
}

void GrowingTree::put_head(Bytes& out, uint8_t level, uint64_t children) const {
    out.put_text("TREE");
    out.put(uint8_t{1});  // of chunks
    out.put(level);
    out.put(static_cast<uint16_t>(children));
    // No siblings: a node's right sibling is not known when it is written. Readers go from the root to the leaves.
    out.put(kUndefined);
    out.put(kUndefined);
}

void GrowingTree::put_key(Bytes& out, const ChunkEntry& chunk) const {
    out.put(static_cast<uint32_t>(chunk.place.bytes));
    out.put(uint32_t{0});  // no filter was skipped
    for (const uint64_t at : chunk.offset) out.put(at);
    out.put(uint64_t{0});  // within the element
}

void GrowingTree::put_full_nodes(Bytes& out, uint64_t base, uint64_t chunks, const ChunkOf& chunk_of) {
    uint64_t of_node = 1;  // number of chunks under one child of this level
    for (uint64_t children = chunks, level = 0; children >= most_children_; children /= most_children_, ++level) {
        if (full_.size() == level) full_.emplace_back();
        for (uint64_t node = full_[level].size(); node < children / most_children_; ++node) {
            const uint64_t begin = out.size();
            put_head(out, static_cast<uint8_t>(level), most_children_);
            for (uint64_t child = node * most_children_; child < (node + 1) * most_children_; ++child) {
                const ChunkEntry first = chunk_of(child * of_node);
                put_key(out, first);
                out.put(level == 0 ? first.place.address : full_[level - 1][child]);
            }
            put_key(out, chunk_of((node + 1) * most_children_ * of_node));
            full_[level].push_back(base + begin);
            out.put_zeros(begin + node_bytes() - out.size());
        }
        of_node *= most_children_;
    }
}

uint64_t GrowingTree::put_open_nodes(Bytes& out, uint64_t base, uint64_t chunks, const ChunkOf& chunk_of) const {
    if (chunks == 0) return kUndefined;
    uint64_t below = kUndefined, below_first = 0;  // the open node of the level below, and its first chunk
    uint64_t of_node = 1;
    for (uint64_t children = chunks, level = 0;; children /= most_children_, ++level, of_node *= most_children_) {
        const uint64_t full = children / most_children_, begin_child = full * most_children_;
        const bool has_below = below != kUndefined;
        const uint64_t open = children - begin_child + (has_below ? 1 : 0);
        // The root: the only node of its level.
        if (full == 1 && open == 0) return full_[level][0];
        if (open > 0) {
            const uint64_t begin = out.size(), first = begin_child * of_node;
            put_head(out, static_cast<uint8_t>(level), open);
            for (uint64_t child = begin_child; child < children; ++child) {
                const ChunkEntry chunk = chunk_of(child * of_node);
                put_key(out, chunk);
                out.put(level == 0 ? chunk.place.address : full_[level - 1][child]);
            }
            if (has_below) {
                put_key(out, chunk_of(below_first));
                out.put(below);
            }
            put_key(out, chunk_of(chunks));
            below = base + begin;
            below_first = first;
            if (full == 0) return below;
        }
    }
}

}  // namespace tailrace::format
