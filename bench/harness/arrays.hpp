// The arrays that a bench writes and reads: shapes, names, files, and memory for them.
#pragma once

#include "values.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace bench {

// Memory that begins at a page, so that every method writes from memory of the same alignment.
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(uint64_t bytes);
    Buffer(Buffer &&other) noexcept;
    Buffer &operator=(Buffer &&other) noexcept;
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer();
    std::byte *data() const { return data_; }
    uint64_t size() const { return bytes_; }

private:
    std::byte *data_ = nullptr;
    uint64_t bytes_ = 0;
};

// The shape of a case; the global array is the writing ranks' blocks one after the other along the slowest dimension.
struct Case {
    std::string name;
    int variables;
    std::array<uint64_t, 3> block;
    int element_bytes;
    int steps;
    Pattern pattern = Pattern::noise;

    uint64_t block_elements() const { return block[0] * block[1] * block[2]; }
    uint64_t block_bytes() const { return block_elements() * static_cast<uint64_t>(element_bytes); }
    uint64_t rank_bytes() const { return block_bytes() * static_cast<uint64_t>(variables); }  // of one step
    std::array<uint64_t, 3> global(int ranks) const { return {block[0] * static_cast<uint64_t>(ranks), block[1], block[2]}; }
};

// The case called `name` (large, small, kernel, smooth) with `steps` output steps; throws for other names.
Case find_case(const std::string &name, int steps);
const std::string &variable_name(int variable);

inline constexpr const char *stream_name = "out";                                // the name of Tailrace's streams
std::string step_path(const std::string &folder, int step, const char *suffix);  // the one file of a step

}  // namespace bench
