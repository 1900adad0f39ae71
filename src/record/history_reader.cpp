#include "record/history_reader.hpp"

#include <algorithm>

#include "layout/parts.hpp"
#include "record/box_check.hpp"
#include "record/definitions_difference.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kMostRanks = kMostParts;
constexpr uint64_t kMostAddress = uint64_t{1} << 62, kMostBlockSteps = uint64_t{1} << 40;
constexpr size_t kMostDigest = 64;

template <class... Parts>
[[noreturn]] void refuse(Parts&&... parts) {
    fail(Status::CORRUPT, std::forward<Parts>(parts)...);
}

}  // namespace

std::optional<Error> HistoryReader::add(const Json& line) {
    try {
        const std::string kind = line.at("kind");
        check_before(kind, line);
        history_.apply(line);
        check_after(kind, line);
    } catch (const Json::exception& error) {
        return Error(Status::CORRUPT, text("a line is not a line of a stream's journal: ", error.what()));
    } catch (const Error& error) {
        return Error(error.status() == Status::UNSUPPORTED ? Status::UNSUPPORTED : Status::CORRUPT, error.what());
    }
    return std::nullopt;
}

History HistoryReader::take() {
    if (!history_.staged.empty()) {
        HistoryReader trial = *this;
        for (const StagedStep& step : history_.staged)
            if (const auto why = trial.add(step_line(step))) refuse("staged step ", step.step, " is not right: ", why->what());
    }
    return std::move(history_);
}

void HistoryReader::check_before(const std::string& kind, const Json& line) const {
    const bool needs_run = kind == "plan" || kind == "boxes" || kind == "coordinate";
    if (needs_run && history_.runs.empty()) refuse("a line '", kind, "' comes before the first run line");
    if (kind == "drop") {
        const uint64_t first = count_at(line, "first"), last = count_at(line, "last");
        if (first > last || last >= history_.next_step())
            refuse("a line drops steps ", first, " to ", last, ", but the last step is ", history_.next_step(), " - 1");
    }
    if ((kind == "plan" || kind == "boxes") && history_.plans.contains(count_at(line, "plan")))
        refuse("there are two plans with number ", count_at(line, "plan"));
}

void HistoryReader::check_after(const std::string& kind, const Json& line) {
    if (kind == "run")
        check_run();
    else if (kind == "plan" || kind == "boxes")
        check_plan(count_at(line, "plan"));
    else if (kind == "coordinate")
        check_coordinate(count_at(line, "variable"));
    else if (kind == "blocks")
        check_blocks();
    else if (kind == "step")
        check_step();
}

void HistoryReader::check_run() {
    const RunEntry& run = history_.runs.back();
    if (run.ranks == 0 || run.ranks > kMostRanks) refuse("a run has ", run.ranks, " ranks; there are 1 to ", kMostRanks);
    if (run.nodes == 0 || run.nodes > run.ranks) refuse("a run of ", run.ranks, " ranks has ", run.nodes, " nodes");
    for (const Json* object : {&run.requested, &run.storage, &run.origin})
        if (!object->is_object()) refuse("'requested', 'storage' and 'origin' of a run are objects");
    if (history_.runs.size() > 1)
        if (const std::string why = difference_in_structure(history_.runs.end()[-2].definitions, run.definitions); !why.empty())
            refuse("a run has other definitions than the one before it: ", why);
    row_bytes_.assign(run.definitions.ragged().size(), 1);
    for (const Variable& variable : run.definitions.variables()) {
        if (!run.definitions.is_ragged(variable)) continue;
        const Shape row(variable.shape.begin() + 1, variable.shape.end());
        uint64_t& most = row_bytes_[run.definitions.ragged_number(variable)];
        most = std::max(most, volume(row) * type_bytes(variable.type));
    }
    ragged_elements_.resize(row_bytes_.size(), 0);
}

void HistoryReader::check_plan(uint64_t number) {
    Needs needs{0, std::vector<uint64_t>(definitions().ragged().size(), 0)};
    const auto& boxes = history_.plans.at(number);
    for (size_t v = 0; v < boxes.size(); ++v)
        for (const PartBox& box : boxes[v]) check_box(v, box, needs);
    needs_[number] = std::move(needs);
}

void HistoryReader::check_box(size_t v, const PartBox& stored, Needs& needs) const {
    check_stored_box(definitions(), v, stored);
    needs.parts = std::max(needs.parts, stored.part + 1);
    const Variable& variable = definitions().variables()[v];
    if (!definitions().is_ragged(variable)) return;
    uint64_t& rows = needs.ragged[definitions().ragged_number(variable)];
    rows = std::max(rows, stored.box.offset[0] + stored.box.count[0]);
}

void HistoryReader::check_coordinate(uint64_t v) const {
    const auto& variables = definitions().variables();
    if (v >= variables.size()) refuse("a coordinate line is of variable number ", v, ", which does not exist");
    const uint64_t bytes = history_.coordinates.at(v).size();
    if (!variables[v].replicated || !variables[v].is_static || bytes != variables[v].bytes())
        refuse("variable '", variables[v].name, "' has ", variables[v].bytes(), " bytes, and the line has ", bytes);
}

void HistoryReader::check_blocks() const {
    const PartGrowth& growth = history_.growth;
    if (growth.writers > kMostRanks || growth.slot_bytes > kMostBlockSteps)
        refuse("a part has ", growth.writers, " writers with checksums of ", growth.slot_bytes, " bytes");
    uint64_t steps = 0;
    for (const StepBlock& block : growth.blocks) {
        if (block.first_step != steps || block.steps == 0 || block.steps > kMostBlockSteps || block.address > kMostAddress)
            refuse("a block of ", block.steps, " steps from ", block.first_step, " on at byte ", block.address, " follows ", steps,
                   " steps");
        steps += block.steps;
    }
}

void HistoryReader::check_step() {
    const StepEntry& step = history_.steps.back();
    const GroupEntry& group = history_.groups[step.group];
    if (group.steps == 1) check_new_group();
    if (step.files != group.parts)
        refuse("step ", step.step, " has ", step.files, " files, and the first step in them ", group.parts);
    check_ragged(step);
    // A group of one part has a number of a plan, too, which may be one of an earlier run.
    if (const auto needs = needs_.find(group.plan); needs != needs_.end() && !has_one_part(group.layout))
        for (size_t k = 0; k < std::min(step.ragged.size(), needs->second.ragged.size()); ++k)
            if (needs->second.ragged[k] > step.ragged[k])
                refuse("step ", step.step, " has ", step.ragged[k],
                       " elements along a ragged dimension, and a box of its plan ends at ", needs->second.ragged[k]);
}

void HistoryReader::check_new_group() const {
    const StepEntry& step = history_.steps.back();
    const GroupEntry& group = history_.groups[step.group];
    if (group.parts == 0 || group.parts > group.ranks)
        refuse("step ", step.step, " has ", group.parts, " files, and its run has ", group.ranks, " ranks");
    const bool is_one = has_one_part(group.layout);
    if (is_one && group.parts != 1) refuse("step ", step.step, " has ", group.parts, " files, and files = one");
    const uint64_t before = history_.steps.size() > 1 ? history_.steps.end()[-2].step + 1 : 0;
    if (group.start > step.step || group.start < before)
        refuse("step ", step.step, " is in the files that begin with step ", group.start, ", and follows step ", before, " - 1");
    if (group.digest.size() > kMostDigest) refuse("the digest of step ", step.step, " has ", group.digest.size(), " digits");
    if (const auto needs = needs_.find(group.plan); needs != needs_.end() && !is_one && needs->second.parts > group.parts)
        refuse("step ", step.step, " has ", group.parts, " files, and a box of its plan is in part ", needs->second.parts - 1);
}

void HistoryReader::check_ragged(const StepEntry& step) {
    if (step.ragged.size() != row_bytes_.size())
        refuse("step ", step.step, " has the lengths of ", step.ragged.size(), " ragged dimensions, and there are ",
               row_bytes_.size());
    for (size_t k = 0; k < step.ragged.size(); ++k) {
        uint64_t bytes;
        if (__builtin_add_overflow(ragged_elements_[k], step.ragged[k], &ragged_elements_[k]) ||
            __builtin_mul_overflow(ragged_elements_[k], std::max<uint64_t>(row_bytes_[k], 1), &bytes) || bytes > kMostAddress)
            refuse("step ", step.step, " has ", step.ragged[k], " elements along a ragged dimension, more than files can have");
    }
}

namespace {

// The chain of the segments before the first segment whose first line is damaged or contradicts others.
SegmentChain whole_chain(const std::string& journal, std::optional<WholeLines::Cut>& cut) {
    for (uint64_t most = segment_paths(journal).size();; --most) {
        try {
            SegmentChain chain = find_segments(journal, most);
            if (cut) cut->path = segment_path(journal, most);
            return chain;
        } catch (const Error& error) {
            if (error.status() != Status::CORRUPT || most <= 1) throw;
            cut = WholeLines::Cut{"", 0, error.what(), {}, {}};
        }
    }
}

bool has_ended(const SegmentChain& chain) {
    if (chain.empty()) return true;
    const JournalContent content = read_journal(chain.segments.back().path, UINT64_MAX, Damage::passed_over);
    return !chain.segments.back().has_head || (!content.lines.empty() && kind_of(content.lines.back()) == "end");
}

// Adds an intact line behind the cut to `cut`: the step and the group that it names.
void leave_out(const Json& line, WholeLines::Cut& cut) {
    if (kind_of(line) != "step") return;
    try {
        cut.steps.push_back(count_at(line, "step"));
        cut.groups.emplace(count_at(line, "group"), count_at(line, "segment", 0));
    } catch (const std::exception&) {
        // The line has no step or group that can be used.
    }
}

}  // namespace

WholeLines read_whole_lines(const std::string& journal) {
    WholeLines whole;
    SegmentChain chain = whole_chain(journal, whole.cut);
    const bool lacks_segments = whole.cut.has_value();
    whole.lines.has_ended = !lacks_segments && has_ended(chain);
    whole.chain.next_number = chain.next_number;
    HistoryReader reader;
    bool is_cut = false;
    for (Segment& segment : chain.segments) {
        const JournalContent content = read_journal(segment.path, segment.end_bytes, Damage::passed_over);
        size_t k = segment.has_head ? 1 : 0;
        if (!is_cut) {
            std::optional<std::string> why;
            if (content.damaged_at) why = "this line is damaged";
            const size_t undamaged = content.damaged_at ? content.lines_before_damage : content.lines.size();
            for (; k < undamaged; ++k) {
                if (const auto error = reader.add(content.lines[k])) {
                    why = error->what();
                    break;
                }
                whole.lines.lines.push_back(content.lines[k]);
            }
            is_cut = why.has_value();
            const uint64_t end = k > 0 ? content.ends[k - 1] : 0;
            whole.lines.bytes = is_cut ? end : content.intact_bytes;
            whole.lines.torn_bytes = is_cut ? 0 : content.torn_bytes;
            if (is_cut) whole.cut = WholeLines::Cut{segment.path, end, *why, {}, {}};
            if (is_cut || lacks_segments) segment.end_bytes = whole.lines.bytes;
            whole.chain.segments.push_back(segment);
        }
        for (; is_cut && k < content.lines.size(); ++k) leave_out(content.lines[k], *whole.cut);
    }
    if (whole.cut) std::ranges::sort(whole.cut->steps);
    return whole;
}

}  // namespace tailrace
