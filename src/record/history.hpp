// What is committed of a stream, read from its journal: runs, plans, groups of steps and steps. The kinds of lines:
//
//   segment     the first line of a segment of the journal, and `end`, its last one (segments.hpp)
//   run         once for each run, at its first step: format, layout, requested, storage, ranks, nodes, definitions; origin (only
//               of a conversion)
//   plan        several parts: which boxes they store: plan, boxes = [[variable, part, block, offset..., count...], ...]
//   boxes       a plan for more than 256 parts: boxes = [[list, part, ...], ...]; variables = [[variable, ...], ...]: the lists
//               of variables with equal boxes. Versions before 0.2 ignore it, and read the boxes from the parts
//   coordinate  all elements of a static, replicated array: variable, hex. Written where files > 1, since a part then stores only
//               a slice of a coordinate; and for a stream without steps, which has no parts
//   blocks      where the steps of one growing part are: group, writers, slot (bytes), blocks = [[first, steps, address], ...]
//   step        commits a step: step, time, group (its first step), plan, static, files, bytes, digest. Also ragged (the lengths of
//               ragged dimensions), segment (the number in the names of the group's files), records: true (its parts have them,
//               version_record.hpp)
//   scratch     before the first step of a run with stage = scratch: token, places = [[first part, node, folder], ...]: where
//               the parts from that one on are, until they are at their target
//   staged      a step that all ranks have written, and whose parts may still be on scratch: all keys of its line `step`
//   unstaged    staged steps that leave the stream: first
//   copy        the last group of steps is now in a copied file, whose name has a number: group, segment
//   drop        removes steps from the stream: first, last, why ("keep": retention; else the damage). "resume" and "rewind" drop
//               all steps from `first` on, and their numbers and file names are used again. With kept: true the files are kept,
//               since later steps have their static arrays there
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/journal.hpp"
#include "layout/keys.hpp"
#include "layout/parts.hpp"
#include "layout/placement.hpp"
#include "record/definitions.hpp"
#include "record/part_box.hpp"
#include "record/segments.hpp"

namespace tailrace {

constexpr uint64_t kMostVariables = 1u << 20;  // in a plan whose definitions are not known

// What the length of a part's time dimension means, in a part of several steps.
enum class Lengths {
    laid_out,   // room for so many steps (versions before 0.2): the time of a step that is not written is NaN
    committed,  // the number of committed steps; the part has records of its last versions (part/version_record.hpp)
};

// A group: steps that are in the same parts.
struct GroupEntry {
    uint64_t start = 0;
    Layout layout;
    uint64_t parts = 1, ranks = 1;
    uint64_t run = 0;          // number of the run line
    uint64_t plan = 0;         // number of the plan line, if there is one
    bool has_static = false;   // its parts store the static distributed variables
    uint64_t steps = 0;        // committed and not dropped
    uint64_t files_bytes = 0;  // steps = 1: total bytes of all its parts
    std::string digest;        // digest of its last step
    bool torn = false;         // its steps were dropped (damage, resume, rewind): another group may have its number by now
    uint64_t segment = 0;      // the number in the names of its files; 0: none
    Lengths lengths = Lengths::laid_out;
    // Set by History::add_group: the first step of the index file that shows the group, and the parts in that file up to this
    // group.
    uint64_t index_start = 0, index_parts = 0;
};

// Its paths below the stream's directory.
inline std::string group_path(const GroupEntry& group, const std::string& stream) {
    return group_path(group.layout, stream, group.start, group.segment);
}
inline std::string part_path(const GroupEntry& group, const std::string& stream, uint64_t part) {
    return part_path(group.layout, stream, group.start, part, group.segment);
}

// A step that is written, and not committed until its parts are at the target (stage = scratch).
struct StagedStep {
    uint64_t step = 0;
    double time = 0;
    Json line;  // as it is in the journal; with another kind it is the step's line
};

// Where the parts of a run with stage = scratch are, until they are at their target.
struct ScratchPlaces {
    struct Place {
        uint64_t first_part = 0;  // up to the next place's
        std::string node, scratch;
    };
    std::string token;
    std::vector<Place> places;

    // The folder that `tailrace drain` takes, and the node that has it. Empty: it is not known.
    std::string folder(uint64_t part, const std::string& stream) const;
    std::string node(uint64_t part) const;
};
// Where a run keeps the part on scratch, below `scratch`; it has the directory NAME.parts.
std::string outbox_name(const std::string& token, uint64_t part);

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
    Json storage = Json::object();  // the storage keys as the file system applied them: StorageChoice::report
    Json origin = Json::object();   // of a conversion: the stream that its steps are copies of
};

// Where the steps of a growing part are.
struct PartGrowth {
    uint64_t group = 0, writers = 0, slot_bytes = 0;
    std::vector<StepBlock> blocks;
};

// Throws CORRUPT unless the blocks have at least `steps` steps: a run that writes into the part needs the address of each.
void check_has_places(const PartGrowth& growth, uint64_t steps);

// The values of `why` in drop lines. For damaged steps, `why` is the damage instead.
constexpr const char* kDropOld = "keep";       // retention
constexpr const char* kDropResume = "resume";  // a run continues before them (mode = resume)
constexpr const char* kDropRewind = "rewind";  // tailrace rewind

struct History {
    std::vector<RunEntry> runs;
    std::map<uint64_t, std::vector<std::vector<PartBox>>> plans;  // by number: [variable]
    std::map<uint64_t, std::vector<std::byte>> coordinates;       // by variable
    std::vector<GroupEntry> groups;
    std::vector<StepEntry> steps;  // ascending; dropped steps are missing
    uint64_t retained_from = 0;    // retention has dropped all steps below
    PartGrowth growth;             // from the last "blocks" line
    uint64_t torn_bytes = 0;
    std::vector<StagedStep> staged;  // they follow `steps`, without a gap
    ScratchPlaces scratch;           // of the last run with stage = scratch

    bool empty() const { return steps.empty(); }
    // Whether the stream has no step, but static arrays in the journal: the index then shows only these.
    bool is_static_only() const;
    std::vector<double> times() const;  // of its steps
    // The number of the next step. It is never that of a step which retention has dropped, whose files may still exist.
    uint64_t next_step() const { return std::max(retained_from, steps.empty() ? 0 : steps.back().step + 1); }
    // The group with the static distributed variables of the steps of `group`. Null: no group has them.
    const GroupEntry* static_group(uint64_t group) const;
    // Whether the parts of a group have a variable. They have those that the group's run defined; later runs may add variables.
    bool has_variable(const GroupEntry& group, size_t variable) const {
        return variable < runs[group.run].definitions.variables().size();
    }
    size_t first_run_with(size_t variable) const;
    // Groups with steps, and groups whose static variables belong to such steps; ascending.
    std::vector<size_t> needed_groups() const;
    // Adds a group after the others, and chooses the index file that shows it: one whose groups have at most kMaxIndexParts parts
    // together. The choice never changes, even if earlier groups lose their steps and are forgotten.
    GroupEntry& add_group(GroupEntry group);
    // Forgets groups without steps whose files were removed; `gone`: their numbers, ascending. Later groups get other numbers.
    // Otherwise each step of a long run with retention would take longer than the step before.
    void forget_groups(const std::vector<size_t>& gone);
    // Applies a line. Ignores unknown kinds, which later versions may write. Checks only the type of each number; history_of()
    // checks whether the numbers fit the lines before.
    void apply(const Json& line);
    // Drops the steps [first, last].
    void drop(uint64_t first, uint64_t last, bool torn);
    bool has_step_from(uint64_t first) const { return !steps.empty() && steps.back().step >= first; }
    // Drops all steps from `first` on; there is at least one. Their numbers are used again.
    void drop_from(uint64_t first) { drop(first, steps.back().step, true); }
    // Takes staged steps from `first` on out of the stream.
    void unstage_from(uint64_t first);

private:
    void apply_run(const Json& line);
    void apply_step(const Json& line);
    void apply_staged(const Json& line);
};

// Reads all segments of the journal, given the path of the first. Throws CORRUPT with the path for a line that is not of the
// format, or contradicts those before it (history_reader.hpp).
History read_history(const std::string& path);
History history_of(const SegmentLines& journal, const std::string& path);  // `path`: for messages

Json run_line(const RunEntry& run);
Json coordinate_line(uint64_t variable, const std::vector<std::byte>& values);
Json copy_line(const GroupEntry& group);
Json scratch_line(const ScratchPlaces& scratch);
Json unstaged_line(uint64_t first);
// The line that commits a staged step.
Json step_line(const StagedStep& staged);
Json blocks_line(const PartGrowth& growth);
Json drop_line(uint64_t first, uint64_t last, const std::string& why, bool kept = false);
// Lines as text for journal_line_of(), not as Json: all ranks wait for these lines, and making Json would take most of that time.
std::string plan_text(uint64_t plan, const std::vector<std::vector<PartBox>>& boxes);
std::string step_text(const StepEntry& step, const GroupEntry& group, const char* kind = "step");

std::string hex_digest(uint64_t digest);

}  // namespace tailrace
