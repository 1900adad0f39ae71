#include "workload.hpp"

#include "harness/values.hpp"

#include <utility>

namespace bench {

Workload::Workload(Case of, MPI_Comm on, bool with_global) : shape(std::move(of)), comm(on) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const auto fill = [&](std::byte *at, int step, int of_rank) {
        for (int v = 0; v < shape.variables; ++v)
            fill_values(at + static_cast<uint64_t>(v) * shape.block_bytes(), shape.element_bytes, v, step, first_index(of_rank),
                        shape.block_elements(), shape.pattern);
    };
    for (int step = 0; step < shape.steps; ++step) {
        steps.emplace_back(shape.rank_bytes());
        fill(steps.back().data(), step, rank);
        if (!with_global || rank != first_of_half(rank)) continue;
        global_steps.emplace_back(shape.rank_bytes() * static_cast<uint64_t>(ranks - rank));
        for (int r = rank; r < ranks; ++r)
            fill(global_steps.back().data() + static_cast<uint64_t>(r - rank) * shape.rank_bytes(), step, r);
    }
}

const void *Workload::block(int step, int variable) const {
    return steps[static_cast<size_t>(step)].data() + static_cast<uint64_t>(variable) * shape.block_bytes();
}

std::array<uint64_t, 3> Workload::offset(int of_rank) const { return {shape.block[0] * static_cast<uint64_t>(of_rank), 0, 0}; }

}  // namespace bench
