// The planned job, which is not run: every rank has a block of the same size, so that the arrays grow with the ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/parts.hpp"
#include "layout/plan.hpp"
#include "record/history.hpp"

namespace tailrace::bench {

constexpr uint64_t kRanksOnNode = 100;
constexpr uint64_t kBlockAlong = 32;  // elements of a rank's block along each of three dimensions
constexpr const char* kStream = "plot";

// A layout: its name, which is the same for all numbers of ranks ("split"), and its configuration ("layout = 'split:10'").
struct NamedLayout {
    std::string name, toml;
};

// The layouts of all presets; split:N has as many parts as nodes.
std::vector<NamedLayout> all_layouts(uint64_t ranks);
// The layout with the most parts that an index can show.
NamedLayout most_indexed_parts();

struct Job {
    StreamConfig config;
    PlanRequest request;

    Job(const std::string& toml, uint64_t ranks);
    PartMap parts() const { return {request.layout, request.topology}; }
    Definitions definitions() const;
    // The boxes that rank 0 of such a job collects for the index, by variable; none where no index can show the parts.
    std::vector<std::vector<PartBox>> part_boxes() const;
    // The stream's history after the first step.
    History history(std::vector<std::vector<PartBox>> boxes) const;
};

}  // namespace tailrace::bench
