#include "view/step_location.hpp"

#include <bit>

#include "gather/box_words.hpp"
#include "gather/words.hpp"
#include "layout/parts.hpp"

namespace tailrace {

void put_boxes(std::vector<uint64_t>& words, const std::vector<std::vector<PartBox>>& boxes) {
    for (uint64_t v = 0; v < boxes.size(); ++v)
        for (const PartBox& box : boxes[v]) {
            words.insert(words.end(), {v, box.part, box.block, box.box.count.size()});
            put_box(words, box.box);
        }
}

void take_boxes(const std::vector<uint64_t>& words, std::vector<std::vector<PartBox>>& boxes) {
    for (size_t at = 0; at < words.size();) {
        const uint64_t v = words[at], part = words[at + 1], block = words[at + 2], dims = words[at + 3];
        at += 4;
        boxes.at(v).push_back({part, block, take_box(words, at, dims)});
    }
}

// Sends the run and the coordinates in the form of journal lines.
void put_summary(std::vector<uint64_t>& words, const History& history) {
    Json lines = Json::array({run_line(history.runs.back())});
    for (const auto& [v, values] : history.coordinates) lines.push_back(coordinate_line(v, values));
    put_text(words, lines.dump());
    std::vector<uint64_t> steps, times;
    for (const StepEntry& step : history.steps) {
        steps.push_back(step.step);
        times.push_back(std::bit_cast<uint64_t>(step.time));
    }
    put_list(words, steps);
    put_list(words, times);
    for (const StepEntry& step : history.steps) put_list(words, step.ragged);
    std::vector<uint64_t> joined;
    for (size_t v = 0; v < history.runs.back().definitions.variables().size(); ++v)
        if (!history.coordinates.contains(v) && history.first_run_with(v) > 0) joined.push_back(v);
    put_list(words, joined);
}

StreamSummary take_summary(const std::vector<uint64_t>& words, size_t& at) {
    History history;
    for (const Json& line : Json::parse(take_text(words, at))) history.apply(line);
    StreamSummary stream;
    stream.layout = history.runs.back().config.layout;
    stream.definitions = std::move(history.runs.back().definitions);
    stream.coordinates = std::move(history.coordinates);
    stream.steps = take_list(words, at);
    for (const uint64_t time : take_list(words, at)) stream.times.push_back(std::bit_cast<double>(time));
    for (size_t i = 0; i < stream.steps.size(); ++i) stream.ragged.push_back(take_list(words, at));
    const std::vector<uint64_t> joined = take_list(words, at);
    stream.joined.insert(joined.begin(), joined.end());
    return stream;
}

void put_location(std::vector<uint64_t>& words, const History& history, const GroupEntry* group, uint64_t in_group) {
    words.push_back(group != nullptr);
    if (group == nullptr) return;
    const auto plan = history.plans.find(group->plan);
    const bool one_part = has_one_part(group->layout), in_journal = one_part || plan != history.plans.end();
    words.insert(words.end(), {group->start, in_group, group->parts, group->segment, in_journal});
    const bool by_last_run = group->run + 1 == history.runs.size();  // all ranks know its layout already
    put_text(words, by_last_run ? "" : run_line(history.runs[group->run]).dump());
    std::vector<uint64_t> boxes;
    if (in_journal && !one_part) put_boxes(boxes, plan->second);
    put_list(words, boxes);
}

std::optional<StepLocation> take_location(const std::vector<uint64_t>& words, size_t& at, const StreamSummary& stream) {
    if (words[at++] == 0) return std::nullopt;
    StepLocation location;
    location.layout = stream.layout;
    location.variables = stream.definitions.variables().size();
    location.start = words[at++];
    location.in_group = words[at++];
    location.parts = words[at++];
    location.segment = words[at++];
    location.in_journal = words[at++] != 0;
    if (const std::string run = take_text(words, at); !run.empty()) {
        History history;
        history.apply(Json::parse(run));
        location.layout = history.runs.back().config.layout;
        location.variables = history.runs.back().definitions.variables().size();
    }
    const auto& variables = stream.definitions.variables();
    location.boxes.resize(variables.size());
    take_boxes(take_list(words, at), location.boxes);
    if (has_one_part(location.layout))
        for (size_t v = 0; v < location.variables; ++v) location.boxes[v] = {{0, 0, whole_box(variables[v].shape)}};
    return location;
}

}  // namespace tailrace
