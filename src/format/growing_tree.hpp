// The tree of a dataset's chunks ("Version 1 B-trees", type 1) in a file that grows while it is read. Full nodes are written once
// and never changed. The nodes at the right edge, which are not full, are written again at another address for each new length of
// the dataset. So no byte that a reader may be using is overwritten.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/extent.hpp"
#include "format/bytes.hpp"

namespace tailrace::format {

// A chunk of a dataset: where it is, and the position of its first element in each dimension.
struct ChunkEntry {
    Extent place;
    std::vector<uint64_t> offset;
};

class GrowingTree {
public:
    // Returns the chunk with a number, from 0 in row-major order. It is also called with the number of chunks; of that result only
    // `offset` is used.
    using ChunkOf = std::function<ChunkEntry(uint64_t number)>;

    // `most_children`: of a node, as in the superblock's extension. A node has at least 2.
    GrowingTree(size_t dims, uint64_t most_children) : dims_(dims), most_children_(most_children) {}

    // Appends to `out`, whose first byte is at address `base`, the full nodes over the first `chunks` chunks that were not written
    // yet.
    void put_full_nodes(Bytes& out, uint64_t base, uint64_t chunks, const ChunkOf& chunk_of);
    // Appends the nodes that are not full of a tree over the first `chunks` chunks, all full nodes of which are written. Returns
    // the address of the root; without chunks it is undefined. A reader reads whole nodes: at least node_bytes() of the file must
    // follow.
    uint64_t put_open_nodes(Bytes& out, uint64_t base, uint64_t chunks, const ChunkOf& chunk_of) const;

    uint64_t node_bytes() const;
    // The bytes that put_full_nodes() appends.
    uint64_t full_bytes(uint64_t chunks) const;
    // The most bytes that put_open_nodes() appends, and those that must follow it.
    uint64_t open_bytes(uint64_t chunks) const;

private:
    uint64_t key_bytes() const { return 8 + 8 * (dims_ + 1); }
    void put_head(Bytes& out, uint8_t level, uint64_t children) const;
    void put_key(Bytes& out, const ChunkEntry& chunk) const;

    size_t dims_;
    uint64_t most_children_;
    std::vector<std::vector<uint64_t>> full_;  // [level]: the addresses of the full nodes
};

}  // namespace tailrace::format
