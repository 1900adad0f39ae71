// The job that is planned and not run: the same block on every rank, so that the arrays grow with the ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/plan.hpp"
#include "stream/history.hpp"

namespace tailrace::bench {

constexpr uint64_t kRanksOnNode = 100;
constexpr uint64_t kBlockAlong = 32;  // elements of a rank's block along each of three dimensions
constexpr const char* kStream = "plot";

// A layout by the name that is the same for all numbers of ranks ("split"), and as it is configured ("layout = 'split:10'").
struct NamedLayout {
    std::string name, toml;
};

// The presets, with split:N of as many parts as there are nodes.
std::vector<NamedLayout> all_layouts(uint64_t ranks);
// Several parts, as many as an index can show.
NamedLayout most_indexed_parts();

struct Job {
    StreamConfig config;
    PlanRequest request;

    Job(const std::string& toml, uint64_t ranks);
    PartMap parts() const { return {request.layout, request.topology}; }
    Definitions definitions() const;
    // What rank 0 of such a job has collected for the index, by variable; nothing where no index can show the parts.
    std::vector<std::vector<PartBox>> part_boxes() const;
    // After its first step.
    History history(std::vector<std::vector<PartBox>> boxes) const;
};

}  // namespace tailrace::bench
