#include "workload.hpp"

#include "values.hpp"

#include <sys/mman.h>

#include <cstdio>
#include <new>
#include <stdexcept>
#include <utility>

namespace bench {

Buffer::Buffer(uint64_t bytes) : bytes_(bytes) {
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte *>(at);
}

Buffer::Buffer(Buffer &&other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Buffer::~Buffer() {
    if (data_ != nullptr) munmap(data_, bytes_);
}

Case find_case(const std::string &name, int steps) {
    if (name == "large") return {name, 8, {32, 256, 256}, 8, steps};  // 8 arrays of 16 MiB a rank
    if (name == "small") return {name, 100, {16, 32, 32}, 4, steps};  // 100 arrays of 64 KiB a rank
    throw std::invalid_argument("unknown case '" + name + "'; known: large, small");
}

std::string variable_name(int variable) {
    char text[16];
    std::snprintf(text, sizeof text, "v%03d", variable);
    return text;
}

Workload::Workload(Case of, MPI_Comm on, bool with_global) : shape(std::move(of)), comm(on) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const auto fill = [&](std::byte *at, int step, int of_rank) {
        for (int v = 0; v < shape.variables; ++v)
            fill_values(at + static_cast<uint64_t>(v) * shape.block_bytes(), shape.element_bytes, v, step, first_index(of_rank),
                        shape.block_elements());
    };
    for (int step = 0; step < shape.steps; ++step) {
        steps.emplace_back(shape.rank_bytes());
        fill(steps.back().data(), step, rank);
        if (!with_global || rank != 0) continue;
        global_steps.emplace_back(shape.rank_bytes() * static_cast<uint64_t>(ranks));
        for (int r = 0; r < ranks; ++r) fill(global_steps.back().data() + static_cast<uint64_t>(r) * shape.rank_bytes(), step, r);
    }
}

const void *Workload::block(int step, int variable) const {
    return steps[static_cast<size_t>(step)].data() + static_cast<uint64_t>(variable) * shape.block_bytes();
}

std::array<uint64_t, 3> Workload::global() const {
    return {shape.block[0] * static_cast<uint64_t>(ranks), shape.block[1], shape.block[2]};
}

std::array<uint64_t, 3> Workload::offset(int of_rank) const { return {shape.block[0] * static_cast<uint64_t>(of_rank), 0, 0}; }

}  // namespace bench
