// The plan: for a layout, a decomposition and a number of ranks, which rank sends what to which, and which byte goes where. It is
// pure arithmetic, by the library's own rules. It counts the arrays of the steps and the time values, but not metadata, checksums
// and index.
//
// Rules:
// - Each part has W writers. Each array of the part is cut into W equal slabs, and writer k writes the k-th.
// - In a layout of one part the array is the whole variable. In one of several parts the variable has an array for each box of the
//   part (part_boxes.hpp): the boxes that the blocks of the part's ranks make up.
// - Once a step, a rank sends to each writer its elements of that writer's slabs of all arrays: through memory within a node, as
//   messages between nodes. If they are more than the exchange can take at once, they are sent in pieces.
// - The first writer writes scalars and the time value.
// - With writers = all, an array whose spans are all long is written by its owners instead.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/type.hpp"
#include "layout/decomposition.hpp"
#include "layout/keys.hpp"
#include "layout/layout.hpp"
#include "layout/topology.hpp"

namespace tailrace {

struct PlanVariable {
    std::string name;
    Type type = Type::F64;
    Shape shape;  // empty: a scalar
    Shape grid;   // blocks along each dimension, one a rank
};

struct PlanRequest {
    Layout layout;
    Topology topology;
    std::string stream = "stream";
    uint64_t steps = 1;
    std::string time_name = "time";
    std::vector<PlanVariable> variables;
};

struct PlannedMessage {
    uint64_t from = 0, to = 0, bytes = 0;
    bool operator==(const PlannedMessage&) const = default;
};

struct PlannedWrite {
    std::string variable;
    uint64_t address = 0, bytes = 0;
    bool operator==(const PlannedWrite&) const = default;
};

// What one rank does in the first step of a part. Of these lists, only the messages that a writer receives grow with the number of
// ranks.
struct RankPlan {
    uint64_t rank = 0, part = 0;
    std::string path;  // of the part, below the stream's directory
    std::vector<PlannedMessage> sends, receives;
    std::vector<PlannedWrite> writes;
};

// The sums over all ranks and steps.
struct Summary {
    uint64_t files = 0;        // parts
    uint64_t directories = 0;  // NAME.parts and those below it
    uint64_t writers = 0;      // ranks that write
    uint64_t bytes = 0;
    uint64_t messages = 0, message_bytes = 0, largest_message_bytes = 0;
    uint64_t least_writer_bytes = 0, most_writer_bytes = 0;
    uint64_t most_directory_entries = 0;  // in any directory from NAME.parts down, the journal counted
    bool operator==(const Summary&) const = default;
};

// Throws BAD_ARGUMENT or BAD_LAYOUT, naming what cannot be planned.
void check_request(const PlanRequest& request);
RankPlan plan_rank(const PlanRequest& request, uint64_t rank);
Summary summarise(const PlanRequest& request);

// The type with a code such as "f4". Throws BAD_ARGUMENT with the codes that there are.
Type planned_type(const std::string& code);

// The C contract's tailrace_plan: request and result as documented there, the figures of the files' metadata excepted. Attributes
// and coordinates are not read here. `config`: of the request's layout.
PlanRequest plan_request(const nlohmann::json& request, StreamConfig& config);
nlohmann::ordered_json plan_json(const nlohmann::json& request);

}  // namespace tailrace
