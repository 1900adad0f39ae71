#include "layout/topology.hpp"

namespace tailrace {

Topology topology_of(const std::vector<uint64_t>& node_sizes) {
    Topology topology{0, node_sizes.size()};
    std::vector<uint64_t> firsts;
    for (const uint64_t size : node_sizes) {
        firsts.push_back(topology.ranks);
        topology.ranks += size;
    }
    bool even = true;
    for (uint64_t node = 0; node < topology.nodes; ++node) even = even && topology.first_rank(node) == firsts[node];
    if (!even) topology.firsts = std::make_shared<const std::vector<uint64_t>>(std::move(firsts));
    return topology;
}

}  // namespace tailrace
