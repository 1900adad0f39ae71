// What is committed of a stream, as its journal tells: runs, plans, groups of steps and steps. The kinds of lines:
//
//   run         once a run, at its first step: format, layout, requested, storage, ranks, nodes, definitions; of a conversion:
//               origin
//   plan        several parts: where the blocks are: plan, boxes = [[variable, part, block, offset..., count...], ...]
//   coordinate  several parts: the whole of a coordinate, of which the parts hold slices: variable, hex
//   blocks      one growing part: where its steps are: group, writers, slot (bytes), blocks = [[first, steps, address], ...]
//   step        a step is there when this is: step, time, group (its first step), plan, static, files, bytes, digest;
//               where there are ragged dimensions, ragged: their lengths
//   drop        steps that are no longer there: first, last, why ("keep": older than the stream keeps; else what was wrong);
//               kept, where it is true: the files stay, for later steps have their static arrays there
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/journal.hpp"
#include "layout/keys.hpp"
#include "layout/placement.hpp"
#include "record/definitions.hpp"
#include "record/part_box.hpp"

namespace tailrace {

// Steps that share their parts.
struct GroupEntry {
    uint64_t start = 0;
    Layout layout;
    uint64_t parts = 1, ranks = 1;
    uint64_t run = 0;          // number of the run line
    uint64_t plan = 0;         // number of the plan line, where there is one
    bool has_static = false;   // static distributed variables are in it
    uint64_t steps = 0;        // committed, and not dropped
    uint64_t files_bytes = 0;  // steps = 1: of all its parts
    std::string digest;        // of its last step
    bool torn = false;         // was dropped because it is not whole
};

struct StepEntry {
    uint64_t step = 0;
    double time = 0;
    uint64_t group = 0;  // index in groups
    uint64_t files = 0, bytes = 0;
    std::vector<uint64_t> ragged = {};  // the lengths of the ragged dimensions
};

struct RunEntry {
    StreamConfig config;
    Json requested;
    Definitions definitions;
    uint64_t ranks = 1, nodes = 1;
    Json storage = Json::object();  // what the file system made of the storage keys: StorageChoice::told
    Json origin = Json::object();   // of a conversion: what its steps are copies of
};

// Where the steps of a growing part are.
struct PartGrowth {
    uint64_t group = 0, writers = 0, slot_bytes = 0;
    std::vector<StepBlock> blocks;
};

constexpr const char* kDropOld = "keep";

struct History {
    std::vector<RunEntry> runs;
    std::map<uint64_t, std::vector<std::vector<PartBox>>> plans;  // by number: [variable]
    std::map<uint64_t, std::vector<std::byte>> coordinates;       // by variable
    std::vector<GroupEntry> groups;
    std::vector<StepEntry> steps;  // ascending; numbers that were dropped are missing
    uint64_t gone = 0;             // behind the last step that was kept no longer
    PartGrowth growth;             // of the last "blocks" line
    uint64_t torn_bytes = 0;

    bool empty() const { return steps.empty(); }
    std::vector<double> times() const;  // of its steps
    // Never the number of one that was kept no longer: its files have that name.
    uint64_t next_step() const { return std::max(gone, steps.empty() ? 0 : steps.back().step + 1); }
    // The group that has the static distributed variables which belong to the steps of `group`; none if nothing has them.
    const GroupEntry* static_group(uint64_t group) const;
    // Groups with steps, and those whose static variables belong to such steps; ascending.
    std::vector<size_t> needed_groups() const;
    // Takes over a line; kinds that a later version may have added are passed over.
    void apply(const Json& line);
    // The steps [first, last] are no longer there.
    void drop(uint64_t first, uint64_t last, bool torn);
};

// Throws CORRUPT with the file for lines that are not of the format.
History read_history(const std::string& path);

Json run_line(const RunEntry& run);
Json coordinate_line(uint64_t variable, const std::vector<std::byte>& values);
Json blocks_line(const PartGrowth& growth);
Json drop_line(uint64_t first, uint64_t last, const std::string& why, bool kept = false);
// As text, for journal_line_of(): the ranks wait for them, and a tree of values would take most of that time.
std::string plan_text(uint64_t plan, const std::vector<std::vector<PartBox>>& boxes);
std::string step_text(const StepEntry& step, const GroupEntry& group);

std::string hex_digest(uint64_t digest);

}  // namespace tailrace
