#include "stream/planned_files.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "layout/flow.hpp"
#include "layout/part_boxes.hpp"
#include "layout/parts.hpp"
#include "layout/placement.hpp"
#include "record/definitions.hpp"
#include "record/history.hpp"
#include "record/writer.hpp"
#include "stream/box_plan.hpp"
#include "stream/part_content.hpp"
#include "stream/part_space.hpp"
#include "stream/planned_definitions.hpp"
#include "view/index.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kMostParts = 16384;  // if there are more parts, only about this number, evenly spaced, are computed
// An index with more sources or steps than these is computed for fewer, and extrapolated linearly.
constexpr uint64_t kMostSources = 100'000, kMostIndexSteps = 20'000;
constexpr uint64_t kMostLines = 100'000;  // of the journal's lines of steps
constexpr uint64_t kMostVersions = 64;    // after this number of versions of a part, one for each block of steps is computed

uint64_t rounded_up(uint64_t value, uint64_t by) { return value / by + (value % by != 0); }

uint64_t steps_of_group(const PlanRequest& request) {
    return request.layout.steps == Layout::kAllSteps ? request.steps : std::min(request.layout.steps, request.steps);
}

// The different decompositions of a request, and that of each variable. Variables with the same one have the same boxes.
class Decompositions {
public:
    explicit Decompositions(const PlanRequest& request) {
        for (const PlanVariable& variable : request.variables) {
            const Decomposition decomposition(variable.shape, variable.grid);
            const auto found = std::ranges::find(different_, decomposition);
            of_variable_.push_back(static_cast<size_t>(found - different_.begin()));
            if (found == different_.end()) different_.push_back(decomposition);
        }
    }
    // The boxes of the variables with each decomposition, in the part of the ranks [first_rank, last_rank): [decomposition][box].
    std::vector<std::vector<Box>> boxes(const Layout& layout, uint64_t first_rank, uint64_t last_rank) const {
        std::vector<std::vector<Box>> boxes;
        for (const Decomposition& decomposition : different_)
            boxes.push_back(decomposition.shape().empty() ? std::vector<Box>{}
                                                          : boxes_of_part(layout, decomposition, first_rank, last_rank));
        return boxes;
    }
    const Decomposition& of(size_t variable) const { return different_[of_variable_[variable]]; }
    size_t number(size_t variable) const { return of_variable_[variable]; }

private:
    std::vector<Decomposition> different_;
    std::vector<size_t> of_variable_;
};

// A key of a part's boxes: parts with equal keys have files of the same length. It has the boxes' shapes, and which of them begin
// at the same index along a dimension.
std::vector<uint64_t> alike(const std::vector<std::vector<Box>>& boxes, uint64_t writers) {
    std::vector<uint64_t> key{writers};
    for (const std::vector<Box>& of_decomposition : boxes) {
        key.push_back(of_decomposition.size());
        for (const Box& box : of_decomposition)
            for (size_t d = 0; d < box.count.size(); ++d) {
                const auto same = [&](const Box& other) { return other.offset[d] == box.offset[d]; };
                key.push_back(box.count[d]);
                key.push_back(static_cast<uint64_t>(std::ranges::find_if(of_decomposition, same) - of_decomposition.begin()));
            }
    }
    return key;
}

class PlannedParts {
public:
    PlannedParts(const PlanRequest& request, const StreamConfig& config, const Definitions& definitions)
        : request_(request), config_(config), definitions_(definitions), decompositions_(request), flow_(request),
          parts_(request.layout, request.topology) {}

    // The bytes of all parts of a group of `steps` steps, without the arrays.
    uint64_t metadata_bytes(uint64_t steps) {
        known_.clear();
        const uint64_t every = rounded_up(parts_.parts(), kMostParts);
        uint64_t bytes = 0, computed = 0;
        for (uint64_t part = 0; part < parts_.parts(); part += every, ++computed)
            bytes += bytes_of_part(part, steps) - flow_.bytes(part) * steps;
        return every == 1 ? bytes
                          : static_cast<uint64_t>(static_cast<double>(bytes) / static_cast<double>(computed) *
                                                  static_cast<double>(parts_.parts()));
    }

    // For a history: [variable], of the first parts.
    std::vector<std::vector<PartBox>> boxes(uint64_t parts) const {
        std::vector<std::vector<PartBox>> boxes(definitions_.variables().size());
        for (uint64_t part = 0; part < parts; ++part) {
            const auto of_part = decompositions_.boxes(request_.layout, parts_.first_rank(part), parts_.last_rank(part));
            for (size_t v = 0; v < request_.variables.size(); ++v)
                for (uint64_t block = 0; const Box& box : of_part[decompositions_.number(v)])
                    boxes[v].push_back({part, block++, box});
        }
        return boxes;
    }
    uint64_t parts() const { return parts_.parts(); }
    // Where the steps of the last part are that was computed, if it has several steps.
    const PartGrowth& growth() const { return growth_; }

private:
    uint64_t bytes_of_part(uint64_t part, uint64_t steps) {
        const uint64_t first = parts_.first_rank(part), last = parts_.last_rank(part), writers = parts_.writers(part);
        const auto boxes = decompositions_.boxes(request_.layout, first, last);
        const auto [known, is_new] = known_.try_emplace(alike(boxes, writers), 0);
        if (is_new) known->second = bytes_of_file(content_of(boxes, last - first, writers), steps);
        return known->second;
    }

    std::shared_ptr<DescribedPart> content_of(const std::vector<std::vector<Box>>& boxes, uint64_t ranks, uint64_t writers) const {
        std::vector<BoxPlan> plans;
        uint64_t direct_spans = 0;
        for (size_t v = 0; v < request_.variables.size(); ++v)
            for (uint64_t number = 0; const Box& box : boxes[decompositions_.number(v)]) {
                const BoxSpans spans = spans_in_box(decompositions_.of(v), box, type_bytes(request_.variables[v].type));
                if (is_written_by_owners(request_.layout, ranks, spans)) direct_spans += spans.most;
                plans.push_back({v, number++, box, {}});
            }
        const uint64_t records = seal_records_of_writer(definitions_.variables().size(), plans.size(), direct_spans);
        const uint64_t slot = request_.layout.storage.checksum ? seal_slot_bytes(records) : 0;
        return std::make_shared<DescribedPart>(DescribedPart{describe_part(definitions_, config_, plans, slot, true, writers)});
    }

    // The length of a part's file, computed by laying out and showing one step after another, as a run does.
    uint64_t bytes_of_file(std::shared_ptr<DescribedPart> part, uint64_t steps) {
        growth_ = {0, part->content.seal_writers, part->content.seal_slot_bytes, {}};
        PartSpace space(request_.layout);
        space.set_content(std::move(part));
        for (uint64_t step = 0; step < steps;) {
            if (step == space.laid_out_steps()) {
                space.add(space.next_block());
                space.update_metadata();
            }
            if (!space.has_several_steps()) return space.image()->file_bytes;
            step = step < kMostVersions ? step + 1 : std::min(steps, space.laid_out_steps());
            space.version(step);
        }
        growth_.blocks = space.blocks();
        return space.last_version(steps).file_bytes;
    }

    const PlanRequest& request_;
    const StreamConfig& config_;
    const Definitions& definitions_;
    const Decompositions decompositions_;
    const Flow flow_;
    const PartMap parts_;
    PartGrowth growth_;
    std::map<std::vector<uint64_t>, uint64_t> known_;  // the result of alike() -> the length of the part
};

struct PlannedIndex {
    double files = 0, bytes = 0;
};

// The value at `x` of the line through two points.
PlannedIndex on_line(uint64_t x0, PlannedIndex y0, uint64_t x1, PlannedIndex y1, uint64_t x) {
    const double share = (static_cast<double>(x) - static_cast<double>(x0)) / static_cast<double>(x1 - x0);
    return {y0.files + (y1.files - y0.files) * share, y0.bytes + (y1.bytes - y0.bytes) * share};
}

// The journal and the index, computed from the history that the run would have.
class PlannedRecord {
public:
    PlannedRecord(const PlanRequest& request, const StreamConfig& config, const Definitions& definitions, const PlannedParts& parts)
        : request_(request), config_(config), definitions_(definitions), parts_(parts), in_group_(steps_of_group(request)) {}

    // The size of the index. It grows linearly with the parts and with the steps, except up to its first full file.
    PlannedIndex index() const {
        constexpr uint64_t few = 2 * kMaxIndexParts;
        if (parts_.parts() <= 2 * few || 2 * parts_.parts() * request_.variables.size() <= kMostSources)
            return index(parts_.parts());
        return on_line(few, index(few), 2 * few, index(2 * few), parts_.parts());
    }

    // Times count as the numbers of the steps, and the writer as this process. `part_bytes`: of all parts of a group.
    double journal_bytes(const Json& requested, uint64_t part_bytes) const {
        const uint64_t parts = std::min(parts_.parts(), kMostParts);
        const History history = history_of(parts, 1);
        SegmentHead head;
        head.writer = Writer::of_this_process(request_.topology.nodes);
        RunEntry run = history.runs[0];
        run.requested = requested;
        run.storage = {{"file_system", "other"}, {"block_bytes", 4096}, {"striping_by", "none"}, {"notes", Json::array()}};
        double bytes = 0;
        const auto add = [&](const Json& line) { bytes += static_cast<double>(journal_line(line).size()); };
        for (const Json& line : {head.json(), run_line(run), Json{{"kind", "end"}}}) add(line);
        for (const auto& [variable, values] : history.coordinates) add(coordinate_line(variable, values));
        if (!has_one_part(request_.layout))
            bytes += static_cast<double>(journal_line_of(plan_text(1, history.plans.at(0))).size()) / static_cast<double>(parts) *
                     static_cast<double>(parts_.parts());
        if (request_.layout.part_is_dataset()) {
            PartGrowth growth = parts_.growth();
            for (std::vector<StepBlock> blocks = std::exchange(growth.blocks, {}); const StepBlock& block : blocks) {
                growth.blocks.push_back(block);
                add(blocks_line(growth));
            }
        }
        return bytes + step_lines_bytes(history.groups[0], part_bytes);
    }

private:
    PlannedIndex index(uint64_t parts) const {
        const bool is_one_group = in_group_ >= request_.steps;
        const uint64_t unit = is_one_group ? 1 : in_group_ * std::max<uint64_t>(1, kMaxIndexParts / parts);
        const uint64_t groups = kMostSources / (parts * request_.variables.size());
        uint64_t most = is_one_group ? kMostIndexSteps : std::min(groups, kMostIndexSteps / in_group_) * in_group_;
        most = std::max(most / unit, uint64_t{2}) * unit;
        if (request_.steps <= most) return exact_index(parts, request_.steps);
        const uint64_t half = std::max(most / unit / 2, uint64_t{1}) * unit;
        return on_line(half, exact_index(parts, half), most, exact_index(parts, most), request_.steps);
    }

    PlannedIndex exact_index(uint64_t parts, uint64_t steps) const {
        const IndexSize size = index_size(history_of(parts, steps), request_.stream);
        return {static_cast<double>(size.files), static_cast<double>(size.bytes)};
    }

    double step_lines_bytes(GroupEntry group, uint64_t part_bytes) const {
        group.plan = has_one_part(request_.layout) ? 0 : 1;
        group.digest = std::string(16, '0');
        const uint64_t every = rounded_up(request_.steps, kMostLines);
        double bytes = 0, computed = 0;
        for (uint64_t step = 0; step < request_.steps; step += every, ++computed) {
            group.start = step / in_group_ * in_group_;
            const StepEntry entry{step, static_cast<double>(step), 0, parts_.parts(), in_group_ == 1 ? part_bytes : 0};
            bytes += static_cast<double>(journal_line_of(step_text(entry, group)).size());
        }
        return bytes / computed * static_cast<double>(request_.steps);
    }

    History history_of(uint64_t parts, uint64_t steps) const {
        History history;
        RunEntry run;
        run.config = config_;
        run.definitions = definitions_;
        run.ranks = request_.topology.ranks;
        run.nodes = request_.topology.nodes;
        history.runs.push_back(std::move(run));
        history.plans[0] = parts_.boxes(parts);
        for (size_t v = 0; v < definitions_.variables().size() && !has_one_part(request_.layout); ++v)
            if (definitions_.is_coordinate(definitions_.variables()[v]))
                history.coordinates[v] = std::vector<std::byte>(definitions_.variables()[v].bytes());
        for (uint64_t step = 0; step < steps; ++step) {
            if (step % in_group_ == 0) {
                GroupEntry group;
                group.start = step;
                group.layout = request_.layout;
                group.parts = parts;
                group.lengths = request_.layout.steps == 1 ? Lengths::laid_out : Lengths::committed;
                history.add_group(group);
            }
            ++history.groups.back().steps;
            history.steps.push_back({step, static_cast<double>(step), history.groups.size() - 1});
        }
        return history;
    }

    const PlanRequest& request_;
    const StreamConfig& config_;
    const Definitions& definitions_;
    const PlannedParts& parts_;
    const uint64_t in_group_;
};

}  // namespace

PlannedFiles planned_files(const PlanRequest& request, const StreamConfig& config, const nlohmann::json& submitted) {
    const Definitions definitions = planned_definitions(request, submitted);
    PlannedParts parts(request, config, definitions);
    const uint64_t in_group = steps_of_group(request), rest = request.steps % in_group;
    const uint64_t of_group = parts.metadata_bytes(in_group);
    PlannedFiles files;
    files.metadata_bytes = request.steps / in_group * of_group;
    const PlannedRecord record(request, config, definitions, parts);
    const Json requested = requested_json(
        {parse_options(submitted.contains("layout") ? submitted["layout"].get<std::string>() : "", "options of tailrace_open")});
    files.journal_bytes =
        static_cast<uint64_t>(record.journal_bytes(requested, of_group + summarise(request).bytes / request.steps));
    if (rest > 0) files.metadata_bytes += parts.metadata_bytes(rest);
    if (request.layout.part_is_dataset()) return files;
    const PlannedIndex index = record.index();
    files.index_files = static_cast<uint64_t>(index.files);
    files.index_bytes = static_cast<uint64_t>(index.bytes);
    return files;
}

}  // namespace tailrace
