// What is written: the same arrays for every method, in memory before any clock starts.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

// Bytes mapped page by page, so that every method hands over memory of the same alignment.
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

// The shape of a case; the global array is the ranks' blocks one after the other along the slowest dimension.
struct Case {
    std::string name;
    int variables;
    std::array<uint64_t, 3> block;
    int element_bytes;
    int steps;

    uint64_t block_elements() const { return block[0] * block[1] * block[2]; }
    uint64_t block_bytes() const { return block_elements() * static_cast<uint64_t>(element_bytes); }
    uint64_t rank_bytes() const { return block_bytes() * static_cast<uint64_t>(variables); }  // of one step
};

// The case called `name` ("large" or "small") with `steps` output steps; throws for other names.
Case find_case(const std::string &name, int steps);
std::string variable_name(int variable);

struct Workload {
    Case shape;
    MPI_Comm comm;
    int rank;
    int ranks;
    std::vector<Buffer> steps;         // [step]: this rank's blocks, variable after variable
    std::vector<Buffer> global_steps;  // [step]: on rank 0, when a lone writer is measured: the blocks of all ranks

    Workload(Case of, MPI_Comm on, bool with_global);
    const void *block(int step, int variable) const;
    std::array<uint64_t, 3> global() const;             // shape of the global array
    std::array<uint64_t, 3> offset(int of_rank) const;  // where a rank's block starts
    uint64_t first_index(int of_rank) const { return static_cast<uint64_t>(of_rank) * shape.block_elements(); }
};

}  // namespace bench
