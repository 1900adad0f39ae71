// Reading the elements under given indices of one dimension, as unstructured models own them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gather/cell_board.hpp"
#include "gather/redistribution.hpp"
#include "view/reader.hpp"

namespace tailrace {

class ScatteredReader {
public:
    // `reader` must outlive this object.
    explicit ScatteredReader(const Reader& reader) : reader_(reader), board_(reader.ranks(), kMostShownBytes) {}
    ScatteredReader(const ScatteredReader&) = delete;

    // Collective. Each rank reads an equal, contiguous range. On one node the ranks read into shared memory, from which each takes
    // its elements. Otherwise, or if the variable is large, they exchange elements as messages; the plan for that is kept while the
    // indices do not change. An index may be wanted by several ranks, and repeatedly. `stride_bytes`: empty for dense memory.
    void get(const std::string& variable, const std::string& dimension, std::span<const uint64_t> indices, void* data,
             const std::vector<int64_t>& stride_bytes);
    // Call it before the reader is closed: the next stream over its ranks uses the shared memory again.
    void release() { board_.release(); }

private:
    static constexpr uint64_t kMostShownBytes = 16u << 20;

    struct Wanted;
    Wanted wanted(const std::string& variable, const std::string& dimension, std::span<const uint64_t> indices, void* data,
                  const std::vector<int64_t>& stride_bytes) const;
    void plan(const Wanted& all);
    bool is_planned(const Wanted& all) const;
    void read_share(const Wanted& all);
    void take(const Wanted& all);

    const Reader& reader_;
    CellBoard board_;
    // The last plan: for this length and these indices of this rank.
    uint64_t length_ = 0;
    IndexList indices_;
    std::vector<Redistribution> plans_;
    // Kept between calls, as fresh memory costs page faults: this rank's range if it is small, and messages.
    std::vector<std::byte> range_;
    MoveBuffers buffers_;
};

}  // namespace tailrace
