// Ranks on nodes. Ranks of a node are consecutive here: the gather layer renumbers the ranks of MPI jobs where they are not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace tailrace {

struct Topology {
    uint64_t ranks = 1;
    uint64_t nodes = 1;
    // The first rank of each node, ascending from 0; null: ranks are split evenly (the first nodes hold one more).
    std::shared_ptr<const std::vector<uint64_t>> firsts = nullptr;

    uint64_t node_of(uint64_t rank) const {
        if (firsts) return static_cast<uint64_t>(std::upper_bound(firsts->begin(), firsts->end(), rank) - firsts->begin()) - 1;
        const uint64_t base = ranks / nodes, extra = ranks % nodes, cut = extra * (base + 1);
        return rank < cut ? rank / (base + 1) : extra + (rank - cut) / base;
    }
    uint64_t first_rank(uint64_t node) const {  // for node = nodes: the number of ranks
        if (firsts) return node < firsts->size() ? (*firsts)[node] : ranks;
        const uint64_t base = ranks / nodes, extra = ranks % nodes;
        return node * base + (node < extra ? node : extra);
    }
};

// The topology of nodes with `node_sizes` ranks, in order.
Topology topology_of(const std::vector<uint64_t>& node_sizes);

// `total` is split into n nearly equal, contiguous ranges. The k-th is [split_begin(k), split_begin(k + 1)).
constexpr uint64_t split_begin(uint64_t total, uint64_t n, uint64_t k) { return total / n * k + (total % n * k) / n; }
// The number of the range that holds position `at` (at < total).
constexpr uint64_t split_index(uint64_t total, uint64_t n, uint64_t at) {
    uint64_t k = total == 0 ? 0 : static_cast<uint64_t>(static_cast<unsigned __int128>(at) * n / total);
    while (k > 0 && split_begin(total, n, k) > at) --k;
    while (k + 1 < n && split_begin(total, n, k + 1) <= at) ++k;
    return k;
}

}  // namespace tailrace
