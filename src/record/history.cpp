#include "record/history.hpp"

#include <tailrace/tailrace.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/error.hpp"
#include "base/hex.hpp"
#include "record/definitions_json.hpp"
#include "record/history_reader.hpp"

namespace tailrace {
namespace {

std::string now_utc() {
    const std::time_t now = std::time(nullptr);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    return text;
}

StreamConfig config_of(const Json& effective) {
    Settings settings{"journal", {}};
    for (const auto& [key, value] : effective.items())
        if (find_key(key) != nullptr) settings.values.emplace_back(key, value.get<std::string>());
    StreamConfig config = resolve({settings});
    check_choices(config.layout);
    return config;
}

// Reads the boxes of a plan, one list for each variable or list of variables. `lists`: the most lists that there may be.
std::vector<std::vector<PartBox>> boxes_of(const Json& line, uint64_t lists) {
    std::vector<std::vector<PartBox>> boxes;
    for (const Json& entry : line.at("boxes")) {
        const std::vector<uint64_t> words = counts_of(entry, "a box of a plan");
        if (words.size() < 3 || words.size() > 3 + 2 * kMaxDims || (words.size() - 3) % 2 != 0)
            fail(Status::CORRUPT, "a box of a plan has ", words.size(),
                 " numbers, not 3 and an offset and a count for each dimension");
        if (words[0] >= lists) fail(Status::CORRUPT, "a box of a plan is of variable or list ", words[0], " of ", lists);
        const size_t dims = (words.size() - 3) / 2;
        const auto begin = words.begin() + 3, middle = begin + static_cast<long>(dims);
        if (words[0] >= boxes.size()) boxes.resize(words[0] + 1);
        boxes[words[0]].push_back({words[1], words[2], {Shape(begin, middle), Shape(middle, words.end())}});
    }
    return boxes;
}

// Reads the boxes of a "boxes" line, in which variables with equal boxes make a list. Each variable is in one list.
std::vector<std::vector<PartBox>> boxes_of_many(const Json& line, uint64_t variables) {
    const std::vector<std::vector<PartBox>> of_lists = boxes_of(line, variables);
    std::vector<std::vector<PartBox>> boxes;
    std::vector<bool> has_boxes;
    const Json& lists = line.at("variables");
    for (size_t list = 0; list < std::min(lists.size(), of_lists.size()); ++list)
        for (const uint64_t variable : counts_of(lists[list], "a list of variables of a plan")) {
            if (variable >= variables)
                fail(Status::CORRUPT, "a plan has boxes of variable number ", variable, ", but there are only ", variables);
            if (variable >= boxes.size()) boxes.resize(variable + 1), has_boxes.resize(variable + 1);
            if (has_boxes[variable]) fail(Status::CORRUPT, "a plan has two lists of boxes of variable ", variable);
            has_boxes[variable] = true;
            boxes[variable] = of_lists[list];
        }
    return boxes;
}

std::string list_text(const std::vector<uint64_t>& numbers) {
    std::string text = "[";
    for (size_t i = 0; i < numbers.size(); ++i) text.append(i > 0 ? "," : "").append(std::to_string(numbers[i]));
    return text + ']';
}

}  // namespace

std::string hex_digest(uint64_t digest) {
    char text[20];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
    return text;
}

void History::apply(const Json& line) {
    const std::string kind = line.at("kind");
    const uint64_t variables = runs.empty() ? kMostVariables : runs.back().definitions.variables().size();
    if (kind == "run") {
        apply_run(line);
    } else if (kind == "plan") {
        plans[count_at(line, "plan")] = boxes_of(line, variables);
    } else if (kind == "boxes") {
        plans[count_at(line, "plan")] = boxes_of_many(line, variables);
    } else if (kind == "coordinate") {
        coordinates[count_at(line, "variable")] = bytes_of_hex(line.at("hex").get_ref<const std::string&>());
    } else if (kind == "blocks") {
        growth = {count_at(line, "group"), count_at(line, "writers"), count_at(line, "slot"), {}};
        for (const Json& block : line.at("blocks")) {
            const std::vector<uint64_t> words = counts_of(block, "a block of steps");
            if (words.size() < 3) fail(Status::CORRUPT, "a block of steps has ", words.size(), " numbers, not 3");
            growth.blocks.push_back({words[0], words[1], words[2]});
        }
    } else if (kind == "step") {
        apply_step(line);
    } else if (kind == "staged") {
        apply_staged(line);
    } else if (kind == "unstaged") {
        unstage_from(count_at(line, "first"));
    } else if (kind == "scratch") {
        scratch = {line.at("token"), {}};
        for (const Json& place : line.at("places"))
            scratch.places.push_back({place.at(0).get<uint64_t>(), place.at(1), place.at(2)});
    } else if (kind == "copy") {
        if (!groups.empty() && groups.back().start == count_at(line, "group")) groups.back().segment = count_at(line, "segment");
    } else if (kind == "drop") {
        const bool torn = line.at("why").get_ref<const std::string&>() != kDropOld && !line.value("kept", false);
        drop(count_at(line, "first"), count_at(line, "last"), torn);
    }
}

void History::apply_run(const Json& line) {
    runs.push_back({config_of(line.at("layout")), line.at("requested"), definitions_of(line.at("definitions")),
                    count_at(line, "ranks"), count_at(line, "nodes"), line.value("storage", Json::object()),
                    line.value("origin", Json::object())});
}

void History::apply_step(const Json& line) {
    if (runs.empty()) fail(Status::CORRUPT, "a step line comes before the first run line");
    const uint64_t start = count_at(line, "group"), number = count_at(line, "step");
    if (number + 1 == next_step() && !steps.empty()) {
        // The step was written again: its first line reached storage, but the call that wrote it failed.
        GroupEntry& group = groups[steps.back().group];
        steps.pop_back();
        if (--group.steps == 0 && &group == &groups.back()) groups.pop_back();
    }
    if (number != next_step()) fail(Status::CORRUPT, "it has step ", number, " where step ", next_step(), " must follow");
    const uint64_t segment = count_at(line, "segment", 0);
    if (groups.empty() || groups.back().start != start || groups.back().steps == 0 || groups.back().segment != segment)
        add_group({start, runs.back().config.layout, count_at(line, "files"), runs.back().ranks, runs.size() - 1,
                   count_at(line, "plan"), line.at("static"), 0, 0, "", false, segment});
    if (line.value("records", false)) groups.back().lengths = Lengths::committed;
    ++groups.back().steps;
    groups.back().files_bytes = count_at(line, "bytes");
    groups.back().digest = line.at("digest");
    steps.push_back({number, real_at(line, "time"), groups.size() - 1, count_at(line, "files"), count_at(line, "bytes"),
                     line.contains("ragged") ? counts_of(line.at("ragged"), "the key 'ragged'") : std::vector<uint64_t>{}});
    std::erase_if(staged, [&](const StagedStep& step) { return step.step <= number; });
}

void History::apply_staged(const Json& line) {
    if (runs.empty()) fail(Status::CORRUPT, "a line of a staged step comes before the first run line");
    const uint64_t number = count_at(line, "step"), next = staged.empty() ? next_step() : staged.back().step + 1;
    // Written again: the first line reached storage, but the call that wrote it failed.
    if (!staged.empty() && number + 1 == next)
        staged.pop_back();
    else if (number != next)
        fail(Status::CORRUPT, "it stages step ", number, " where step ", next, " must follow");
    staged.push_back({number, real_at(line, "time"), line});
}

void History::unstage_from(uint64_t first) {
    std::erase_if(staged, [&](const StagedStep& step) { return step.step >= first; });
}

std::vector<double> History::times() const {
    std::vector<double> all;
    for (const StepEntry& step : steps) all.push_back(step.time);
    return all;
}

bool History::is_static_only() const {
    if (runs.empty() || !steps.empty()) return false;
    const size_t variables = runs.back().definitions.variables().size();
    for (size_t v = 0; v < variables; ++v)
        if (!coordinates.contains(v)) return false;
    return variables > 0;
}

void History::drop(uint64_t first, uint64_t last, bool torn) {
    if (!torn) retained_from = std::max(retained_from, last + 1);
    std::erase_if(steps, [&](const StepEntry& step) {
        if (step.step < first || step.step > last) return false;
        GroupEntry& group = groups[step.group];
        if (--group.steps == 0) group.torn = torn;
        return true;
    });
    if (!staged.empty() && staged.front().step != next_step()) staged.clear();  // they would follow a hole
}

GroupEntry& History::add_group(GroupEntry group) {
    const auto before = std::find_if(groups.rbegin(), groups.rend(), [](const GroupEntry& other) { return !other.torn; });
    const bool joins = before != groups.rend() && before->index_parts + group.parts <= kMaxIndexParts;
    group.index_start = joins ? before->index_start : group.start;
    group.index_parts = joins ? before->index_parts + group.parts : group.parts;
    return groups.emplace_back(std::move(group));
}

void History::forget_groups(const std::vector<size_t>& gone) {
    std::vector<uint64_t> number(groups.size());
    size_t kept = 0;
    for (size_t g = 0, next = 0; g < groups.size(); ++g) {
        if (next < gone.size() && gone[next] == g) {
            ++next;
            continue;
        }
        if (kept != g) groups[kept] = std::move(groups[g]);
        number[g] = kept++;
    }
    groups.resize(kept);
    for (StepEntry& step : steps) step.group = number[step.group];
}

const GroupEntry* History::static_group(uint64_t group) const {
    for (uint64_t g = group + 1; g-- > 0;)
        if (groups[g].has_static && !groups[g].torn) return &groups[g];
    return nullptr;
}

size_t History::first_run_with(size_t variable) const {
    size_t run = 0;
    while (run < runs.size() && variable >= runs[run].definitions.variables().size()) ++run;
    return run;
}

std::vector<size_t> History::needed_groups() const {
    std::vector<bool> needed(groups.size(), false);
    const GroupEntry* holder = nullptr;
    for (size_t g = 0; g < groups.size(); ++g) {
        if (groups[g].has_static && !groups[g].torn) holder = &groups[g];
        if (groups[g].steps == 0) continue;
        needed[g] = true;
        if (holder != nullptr) needed[static_cast<size_t>(holder - groups.data())] = true;
    }
    std::vector<size_t> list;
    for (size_t g = 0; g < groups.size(); ++g)
        if (needed[g]) list.push_back(g);
    return list;
}

History read_history(const std::string& path) { return history_of(read_segments(find_segments(path)), path); }

History history_of(const SegmentLines& journal, const std::string& path) {
    HistoryReader reader;
    for (size_t k = 0; k < journal.lines.size(); ++k)
        if (const auto why = reader.add(journal.lines[k]))
            fail(why->status(), path, ": line ", k + 1, ", counted without lines of overtaken runs, ",
                 why->status() == Status::CORRUPT ? "contradicts" : "cannot follow", " the lines before it: ", why->what(),
                 "; `tailrace repair` keeps the steps before that line");
    History history;
    try {
        history = reader.take();
    } catch (const Error& error) {
        throw Error(error.status(), path + ": " + error.what());
    }
    history.torn_bytes = journal.torn_bytes;
    return history;
}

Json run_line(const RunEntry& run) {
    Json line = {{"kind", "run"},
                 {"format", run.config.layout.stage == Stage::none ? kFormatWithoutStages : kJournalFormat},
                 {"version", TAILRACE_VERSION},
                 {"written", now_utc()},
                 {"ranks", run.ranks},
                 {"nodes", run.nodes},
                 {"layout", effective_json(run.config)},
                 {"requested", run.requested},
                 {"storage", run.storage}};
    if (!run.origin.empty()) line["origin"] = run.origin;
    line["definitions"] = definitions_json(run.definitions);
    return line;
}

Json coordinate_line(uint64_t variable, const std::vector<std::byte>& values) {
    return {{"kind", "coordinate"}, {"variable", variable}, {"hex", hex_bytes(values)}};
}

std::string outbox_name(const std::string& token, uint64_t part) {
    char digits[24];
    std::snprintf(digits, sizeof digits, "-%06llu", static_cast<unsigned long long>(part));
    return "tailrace-" + token + digits;
}

namespace {

const ScratchPlaces::Place* place_of(const ScratchPlaces& scratch, uint64_t part) {
    const ScratchPlaces::Place* found = nullptr;
    for (const ScratchPlaces::Place& place : scratch.places)
        if (place.first_part <= part) found = &place;
    return found;
}

}  // namespace

std::string ScratchPlaces::folder(uint64_t part, const std::string& stream) const {
    const Place* place = place_of(*this, part);
    return place == nullptr ? "" : place->scratch + "/" + outbox_name(token, part) + "/" + parts_directory(stream);
}

std::string ScratchPlaces::node(uint64_t part) const {
    const Place* place = place_of(*this, part);
    return place == nullptr ? "" : place->node;
}

Json scratch_line(const ScratchPlaces& scratch) {
    Json places = Json::array();
    for (const ScratchPlaces::Place& place : scratch.places)
        places.push_back(Json::array({place.first_part, place.node, place.scratch}));
    return {{"kind", "scratch"}, {"token", scratch.token}, {"places", places}};
}

Json unstaged_line(uint64_t first) { return {{"kind", "unstaged"}, {"first", first}}; }

Json step_line(const StagedStep& staged) {
    Json line = staged.line;
    line["kind"] = "step";
    line.erase("sum");
    return line;
}

Json copy_line(const GroupEntry& group) { return {{"kind", "copy"}, {"group", group.start}, {"segment", group.segment}}; }

void check_has_places(const PartGrowth& growth, uint64_t steps) {
    const uint64_t placed = growth.blocks.empty() ? 0 : growth.blocks.back().first_step + growth.blocks.back().steps;
    if (placed < steps)
        fail(Status::CORRUPT, "the journal says where ", placed, " steps of the part are, and has committed ", steps,
             ": somebody has changed it; run `tailrace verify`, or restore the journal from a copy");
}

Json blocks_line(const PartGrowth& growth) {
    Json list = Json::array();
    for (const StepBlock& block : growth.blocks) list.push_back({block.first_step, block.steps, block.address});
    return {
        {"kind", "blocks"}, {"group", growth.group}, {"writers", growth.writers}, {"slot", growth.slot_bytes}, {"blocks", list}};
}

Json drop_line(uint64_t first, uint64_t last, const std::string& why, bool kept) {
    Json line = {{"kind", "drop"}, {"first", first}, {"last", last}, {"why", why}};
    if (kept) line["kept"] = true;
    return line;
}

namespace {

void put_boxes(std::string& text, uint64_t number, const std::vector<PartBox>& boxes) {
    std::vector<uint64_t> words;
    for (const PartBox& box : boxes) {
        words = {number, box.part, box.block};
        words.insert(words.end(), box.box.offset.begin(), box.box.offset.end());
        words.insert(words.end(), box.box.count.begin(), box.box.count.end());
        if (text.back() != '[') text += ',';
        text += list_text(words);
    }
}

// The text of a "boxes" line: variables with equal boxes make a list.
std::string boxes_text(uint64_t plan, const std::vector<std::vector<PartBox>>& boxes) {
    std::vector<std::vector<uint64_t>> lists;
    for (uint64_t v = 0; v < boxes.size(); ++v) {
        if (boxes[v].empty()) continue;
        const auto same = std::ranges::find_if(lists, [&](const auto& list) { return boxes[list.front()] == boxes[v]; });
        same != lists.end() ? same->push_back(v) : lists.push_back({v});
    }
    std::string text = R"({"kind":"boxes","plan":)" + std::to_string(plan) + R"(,"variables":[)";
    for (const auto& list : lists) text.append(text.back() != '[' ? "," : "").append(list_text(list));
    text += R"(],"boxes":[)";
    for (uint64_t list = 0; list < lists.size(); ++list) put_boxes(text, list, boxes[lists[list].front()]);
    return text + "]}";
}

bool are_of_many_parts(const std::vector<std::vector<PartBox>>& boxes) {
    return std::ranges::any_of(boxes, [](const auto& of_variable) {
        return std::ranges::any_of(of_variable, [](const PartBox& box) { return box.part >= kMaxIndexParts; });
    });
}

}  // namespace

std::string plan_text(uint64_t plan, const std::vector<std::vector<PartBox>>& boxes) {
    if (are_of_many_parts(boxes)) return boxes_text(plan, boxes);
    std::string text = R"({"kind":"plan","plan":)" + std::to_string(plan) + R"(,"boxes":[)";
    for (uint64_t v = 0; v < boxes.size(); ++v) put_boxes(text, v, boxes[v]);
    return text + "]}";
}

std::string step_text(const StepEntry& step, const GroupEntry& group, const char* kind) {
    std::string text = std::string(R"({"kind":")") + kind + '"';
    const auto put = [&](const char* key, const std::string& value) { text.append(",\"").append(key).append("\":").append(value); };
    put("step", std::to_string(step.step));
    put("time", Json(step.time).dump());
    put("group", std::to_string(group.start));
    put("plan", std::to_string(group.plan));
    put("static", group.has_static ? "true" : "false");
    put("files", std::to_string(step.files));
    put("bytes", std::to_string(step.bytes));
    put("digest", '"' + group.digest + '"');
    if (group.segment > 0) put("segment", std::to_string(group.segment));
    if (!step.ragged.empty()) put("ragged", list_text(step.ragged));
    if (group.lengths == Lengths::committed) put("records", "true");
    return text + '}';
}

}  // namespace tailrace
