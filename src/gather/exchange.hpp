// Moves blocks to their writers. Ranks of the writer's node copy their spans into the writer's ring of slots; other ranks send one
// message for each piece. The writer passes complete pieces on in ascending order while the next ones are being filled.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gather/communicator.hpp"
#include "gather/node_memory.hpp"
#include "gather/sequence.hpp"
#include "layout/block_view.hpp"
#include "layout/chunks.hpp"
#include "layout/parts.hpp"

namespace tailrace {

// An array to exchange: what this rank has of it.
struct ExchangeArray {
    Shape shape;
    uint64_t element_bytes = 1;
    std::vector<Box> mine;
    bool has_gaps = false;                         // some elements belong to no rank: the writer sets them to `fill`
    std::vector<std::byte> fill;                   // one element
    std::optional<ChunkGrid> grid = std::nullopt;  // of a compressed array: no chunk is split between writers

    // The first element that the k-th of `writers` writers writes.
    uint64_t slab_begin(uint64_t writers, uint64_t k) const {
        return grid ? grid->begin(tailrace::split_begin(grid->count(), writers, k))
                    : tailrace::split_begin(volume(shape), writers, k);
    }
    // The number of the writer, of `writers`, that writes the element.
    uint64_t slab_of(uint64_t writers, uint64_t element) const {
        return grid ? tailrace::split_index(grid->count(), writers, grid->at(element))
                    : tailrace::split_index(volume(shape), writers, element);
    }
};

// A span of an array's slab in the memory of its writer, in file order.
struct Span {
    size_t array = 0;
    uint64_t element = 0;  // position of its first element in the array
    const std::byte* data = nullptr;
    uint64_t bytes = 0;
};

class Exchange {
public:
    // Collective. `writers`: the (renumbered) ranks that write the arrays; each gets an equal slab of every array.
    // `memory_bytes`: of each writer's ring.
    Exchange(const Communicator& ranks, std::vector<ExchangeArray> arrays, const PartWriters& writers, uint64_t memory_bytes);
    ~Exchange();

    // Collective. Moves one step's data: memory[array][block] is where this rank's blocks are. On writers it calls `take` for every
    // span, in ascending order of (array, element), and `flush` before the memory of these spans is reused. An exception in
    // either is thrown after all pieces have passed, so that no rank waits for this writer.
    void run(const std::vector<std::vector<BlockView>>& memory, const std::function<void(const Span&)>& take,
             const std::function<void()>& flush);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tailrace
