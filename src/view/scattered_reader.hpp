// Reading the elements under given indices of one dimension, as unstructured models own them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gather/redistribution.hpp"
#include "view/reader.hpp"

namespace tailrace {

class ScatteredReader {
public:
    // `reader` must outlive this object.
    explicit ScatteredReader(const Reader& reader) : reader_(reader) {}
    ScatteredReader(const ScatteredReader&) = delete;

    // Collective. Each rank reads an equal, contiguous range, then the ranks exchange elements. The plan for that is kept while the
    // indices do not change. An index may be wanted by several ranks, and repeatedly. `stride_bytes`: empty for dense memory.
    void get(const std::string& variable, const std::string& dimension, std::span<const uint64_t> indices, void* data,
             const std::vector<int64_t>& stride_bytes);

private:
    void plan(uint64_t length, std::span<const uint64_t> indices);

    const Reader& reader_;
    // The last plan: for this length and these indices of this rank.
    uint64_t length_ = 0;
    IndexList indices_;
    std::vector<Redistribution> plans_;
    // Kept between calls, as fresh memory costs page faults: this rank's range if it is small, and messages.
    std::vector<std::byte> range_;
    MoveBuffers buffers_;
};

}  // namespace tailrace
