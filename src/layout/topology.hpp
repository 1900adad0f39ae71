// Ranks on nodes. Ranks of a node are consecutive here; an MPI job whose ranks are not is renumbered by the gather layer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace tailrace {

struct Topology {
    uint64_t ranks = 1;
    uint64_t nodes = 1;
    // The first rank of each node, ascending from 0; null: ranks are spread evenly (the first nodes hold one more).
    std::shared_ptr<const std::vector<uint64_t>> firsts = nullptr;

    uint64_t node_of(uint64_t rank) const {
        if (firsts) return static_cast<uint64_t>(std::upper_bound(firsts->begin(), firsts->end(), rank) - firsts->begin()) - 1;
        const uint64_t base = ranks / nodes, extra = ranks % nodes, cut = extra * (base + 1);
        return rank < cut ? rank / (base + 1) : extra + (rank - cut) / base;
    }
    uint64_t first_rank(uint64_t node) const {  // of one node more than there are: the number of ranks
        if (firsts) return node < firsts->size() ? (*firsts)[node] : ranks;
        const uint64_t base = ranks / nodes, extra = ranks % nodes;
        return node * base + (node < extra ? node : extra);
    }
};

// Of nodes with so many ranks each, in their order.
Topology topology_of(const std::vector<uint64_t>& node_sizes);

// The k-th of n nearly equal, contiguous shares of `total`: [share_begin(k), share_begin(k + 1)).
constexpr uint64_t share_begin(uint64_t total, uint64_t n, uint64_t k) { return total / n * k + (total % n * k) / n; }
// The share that holds position `at` (at < total).
constexpr uint64_t share_of(uint64_t total, uint64_t n, uint64_t at) {
    uint64_t k = total == 0 ? 0 : static_cast<uint64_t>(static_cast<unsigned __int128>(at) * n / total);
    while (k > 0 && share_begin(total, n, k) > at) --k;
    while (k + 1 < n && share_begin(total, n, k + 1) <= at) ++k;
    return k;
}

}  // namespace tailrace
