// Memory, zeroed at first, that all ranks of a node share.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

namespace tailrace {

class SharedMemory {
public:
    // Collective over `node`. Throws NO_MEMORY on all its ranks if one of them cannot get it.
    SharedMemory(MPI_Comm node, uint64_t bytes);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    std::byte* base() const { return base_; }
    uint64_t bytes() const { return bytes_; }

private:
    std::byte* base_ = nullptr;
    uint64_t bytes_ = 0;
};

}  // namespace tailrace
