#include "forward/roles.hpp"

#include <algorithm>

#include "layout/topology.hpp"

namespace tailrace {

Roles choose_roles(const std::vector<uint64_t>& node_of, uint64_t dedicated) {
    const uint64_t ranks = node_of.size(), nodes = node_of.back() + 1;
    std::vector<uint64_t> first(nodes + 1, ranks);  // the first rank of each node
    for (uint64_t r = ranks; r-- > 0;) first[node_of[r]] = r;
    Roles roles{std::vector<bool>(ranks, false), std::vector<uint64_t>(ranks, 0)};
    // The last ranks of each node write.
    std::vector<uint64_t> on_node(nodes, 0), first_writer(nodes + 1, 0);
    for (uint64_t k = 0; k < dedicated; ++k)
        ++on_node[dedicated >= nodes ? split_index(dedicated, nodes, k) : split_begin(nodes, dedicated, k)];
    bool all_have_work = true;
    for (uint64_t n = 0; n < nodes; ++n) {
        const uint64_t here = first[n + 1] - first[n];
        first_writer[n + 1] = first_writer[n] + on_node[n];
        all_have_work = all_have_work && (on_node[n] == 0 || here >= 2 * on_node[n]);
        for (uint64_t k = 0; k < std::min(on_node[n], here); ++k) roles.writes[first[n + 1] - 1 - k] = true;
    }
    if (!all_have_work) {  // nodes have few ranks: the last ranks of the job write, on any node
        std::fill(roles.writes.begin(), roles.writes.end(), false);
        std::fill(roles.writes.end() - static_cast<long>(dedicated), roles.writes.end(), true);
    }
    uint64_t number = 0;  // the rank's number among the ranks that compute
    for (uint64_t r = 0; r < ranks; ++r) {
        if (roles.writes[r]) continue;
        const uint64_t n = node_of[r], computing = all_have_work ? first[n + 1] - first[n] - on_node[n] : 0;
        if (!all_have_work)
            roles.writer[r] = split_index(ranks - dedicated, dedicated, number);
        else if (on_node[n] > 0)
            roles.writer[r] = first_writer[n] + split_index(computing, on_node[n], r - first[n]);
        else
            roles.writer[r] = split_index(nodes, dedicated, n);
        ++number;
    }
    return roles;
}

}  // namespace tailrace
