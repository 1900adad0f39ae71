// The plan as JSON: the C contract's tailrace_plan.
#include <algorithm>
#include <string_view>

#include "base/error.hpp"
#include "layout/flow.hpp"
#include "layout/keys.hpp"
#include "layout/open_files.hpp"
#include "layout/parts.hpp"
#include "layout/plan.hpp"

namespace tailrace {
namespace {

using Output = nlohmann::ordered_json;
using Input = nlohmann::json;

constexpr size_t kListed = 64;  // the most parts, writers of a part, and messages that are listed

[[noreturn]] void bad_request(const std::string& what) { fail(Status::BAD_ARGUMENT, "plan request: ", what); }

uint64_t whole_number(const Input& value, const std::string& name) {
    if (value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0)) return value.get<uint64_t>();
    bad_request(name + " = " + value.dump() + " is not a whole number");
}

uint64_t whole_number_or(const Input& object, const std::string& name, uint64_t otherwise) {
    return object.contains(name) ? whole_number(object[name], name) : otherwise;
}

Shape shape_of(const Input& value, const std::string& name) {
    if (!value.is_array()) bad_request(name + " = " + value.dump() + " is not a list of whole numbers");
    if (value.size() > kMaxDims) bad_request(text(name, " has ", value.size(), " dimensions; at most ", kMaxDims, " are possible"));
    Shape numbers;
    for (const Input& number : value) numbers.push_back(whole_number(number, name));
    return numbers;
}

std::string string(const Input& value, const std::string& name) {
    if (!value.is_string()) bad_request(name + " = " + value.dump() + " is not a text");
    return value.get<std::string>();
}

void check_names(const Input& object, const std::string& what, std::initializer_list<std::string_view> known) {
    if (!object.is_object()) bad_request(what + " is not a JSON object: " + object.dump());
    for (const auto& [name, value] : object.items())
        if (std::ranges::find(known, name) == known.end()) {
            std::string all;
            for (const std::string_view k : known) all += (all.empty() ? "" : ", ") + std::string(k);
            bad_request(what + " has no '" + name + "'; it has " + all);
        }
}

PlanVariable variable_of(const Input& input, uint64_t ranks) {
    check_names(input, "a variable", {"name", "type", "shape", "grid", "attributes"});
    PlanVariable variable;
    if (!input.contains("name") || !input.contains("shape")) bad_request("a variable needs 'name' and 'shape': " + input.dump());
    variable.name = string(input["name"], "name");
    if (input.contains("type")) variable.type = planned_type(string(input["type"], "type"));
    variable.shape = shape_of(input["shape"], "shape of '" + variable.name + "'");
    const bool given = input.contains("grid") && !input["grid"].is_null();
    variable.grid = given ? shape_of(input["grid"], "grid of '" + variable.name + "'") : choose_grid(ranks, variable.shape);
    return variable;
}

// The parts of the first group of steps.
Output parts_json(const PlanRequest& request, const Flow& flow) {
    const PartMap& map = flow.parts();
    const uint64_t in_group =
        request.layout.steps == Layout::kAllSteps ? request.steps : std::min(request.layout.steps, request.steps);
    Output list = Output::array();
    for (uint64_t part = 0; part < std::min<uint64_t>(map.parts(), kListed); ++part) {
        Output writers = Output::array();
        for (uint64_t k = 0; k < std::min<uint64_t>(map.writers(part), kListed); ++k) writers.push_back(map.writer(part, k));
        list.push_back({{"path", part_path(request.layout, request.stream, 0, part)},
                        {"writers", writers},
                        {"writer_count", map.writers(part)},
                        {"ranks", {map.first_rank(part), map.last_rank(part) - 1}},
                        {"bytes", flow.bytes(part) * in_group}});
    }
    return list;
}

Output messages_json(const std::vector<PlannedMessage>& messages) {
    Output list = Output::array();
    for (const PlannedMessage& message : messages)
        list.push_back({{"from", message.from}, {"to", message.to}, {"bytes", message.bytes}});
    return list;
}

// The first messages of a step.
std::vector<PlannedMessage> first_sends(const Flow& flow) {
    std::vector<PlannedMessage> first;
    if (!flow.may_have_messages()) return first;
    const PartMap& parts = flow.parts();
    for (uint64_t part = 0; part < parts.parts() && first.size() < kListed; ++part) {
        const PartFlow within(flow, part);
        for (uint64_t rank = parts.first_rank(part); rank < parts.last_rank(part) && first.size() < kListed; ++rank)
            for (const PlannedMessage& message : within.sends_of(rank))
                if (first.size() < kListed) first.push_back(message);
    }
    return first;
}

Output rank_json(const RankPlan& plan) {
    Output writes = Output::array();
    for (const PlannedWrite& write : plan.writes)
        writes.push_back({{"path", plan.path}, {"address", write.address}, {"bytes", write.bytes}, {"variable", write.variable}});
    return {{"rank", plan.rank},
            {"part", plan.part},
            {"path", plan.path},
            {"sends", messages_json(plan.sends)},
            {"receives", messages_json(plan.receives)},
            {"writes", writes}};
}

// What the layout gains and costs, compared with one file that has all steps.
std::string trade_of(const Layout& layout) {
    const std::string with_index = "The files must be copied together with the index.";
    if (layout.part_is_dataset() && layout.writers.kind == Writers::Kind::one)
        return "one file with all steps: every tool opens and copies it as it is. All data goes through the rank that writes it.";
    if (layout.part_is_dataset())
        return "one file with all steps: every tool opens and copies it as it is. Its writers on one node take turns, "
               "since a kernel lets one of them into a file at a time.";
    if (layout.files.kind == Files::Kind::one)
        return "files of few steps: old ones can leave (keep), and a damaged one costs its own steps. Each takes time to create. " +
               with_index;
    if (layout.steps == 1)
        return "several files for each step, written at the same time: the fastest for large arrays, and old ones "
               "can leave (keep). They are many to create and to list. " +
               with_index;
    return "several files with many steps each, written at the same time: fast, and few files. Steps leave only "
           "with a whole file. " +
           with_index;
}

// Notes about what the figures leave out.
Output notes_of(const PlanRequest& request, uint64_t files) {
    const Layout& layout = request.layout;
    const Topology& topology = request.topology;
    Output notes = Output::array({trade_of(layout)});
    if (const std::string note = note_of_open_files(layout, PartMap(layout, topology).parts(), files); !note.empty())
        notes.push_back(note);
    if (!layout.part_is_dataset())
        notes.push_back("NCO's tools (ncra, ncrcat, ncks) need --cnk_plc=uck on NAME.nc, since virtual datasets have no chunks");
    if (layout.steps != 1 && layout.writers.kind != Writers::Kind::one && !layout.ranks_are_apart() && topology.nodes > 1)
        notes.push_back(
            "where the clients of a file system share no cache (NFS, SMB, FUSE), a file of several steps has one writer, which "
            "flushes it before a step is committed");
    notes.push_back(layout.steps == 1
                        ? "estimated: the journal, whose lines have times and the writer's name; all other bytes are exact"
                        : "estimated: the journal, whose lines have times and the writer's name, and up to 3 % of the "
                          "metadata, since files of several steps show them in fewer versions where steps come fast");
    if (layout.storage.compression.kind != Compression::Kind::none)
        notes.push_back(
            "figures are for uncompressed arrays, and without the indexes of chunks: with compression, all ranks of a part "
            "compress "
            "chunks of large arrays, and their lengths and addresses are known only afterwards");
    if (layout.stage == Stage::scratch)
        notes.push_back(
            "end_step returns when the parts are on a disk of their nodes; a step is committed when all of them are at the target. "
            "A node that is lost before takes its steps with it, and a run that appends then stops with an error");
    if (layout.writers.kind == Writers::Kind::dedicated)
        notes.push_back(
            "the ranks are those that compute: each sends its whole step to a rank that is set aside to write, within a node "
            "through memory");
    return notes;
}

}  // namespace

Type planned_type(const std::string& code) {
    std::string codes;
#define TAILRACE_TYPE(name, number, bytes, c, numpy, fortran) \
    if (code == numpy) return Type::name;                     \
    codes += (codes.empty() ? "" : ", ") + std::string(numpy);
#include <tailrace/types.def>
#undef TAILRACE_TYPE
    bad_request("type '" + code + "' is unknown; the types are " + codes);
}

PlanRequest plan_request(const Input& input, StreamConfig& config) {
    check_names(input, "it",
                {"layout", "ranks", "nodes", "steps", "name", "variables", "rank", "coordinates", "attributes", "time_attributes"});
    config = resolve({parse_options(input.contains("layout") ? string(input["layout"], "layout") : "", "layout")});
    PlanRequest request;
    request.layout = config.layout;
    request.time_name = config.time_name;
    request.topology.ranks = whole_number_or(input, "ranks", 1);
    request.topology.nodes = whole_number_or(input, "nodes", 1);
    request.steps = whole_number_or(input, "steps", 1);
    if (input.contains("name")) request.stream = string(input["name"], "name");
    if (!input.contains("variables") || !input["variables"].is_array() || input["variables"].empty())
        bad_request("'variables' is a list of at least one {\"name\", \"type\", \"shape\", \"grid\"}");
    if (request.topology.ranks > 0)
        for (const Input& variable : input["variables"]) request.variables.push_back(variable_of(variable, request.topology.ranks));
    check_request(request);
    return request;
}

Output plan_json(const nlohmann::json& input) {
    StreamConfig config;
    const PlanRequest request = plan_request(input, config);
    const Flow flow(request);
    const Summary summary = summarise(request);
    Output answer{{"layout", effective_json(config)},
                  {"ranks", request.topology.ranks},
                  {"nodes", request.topology.nodes},
                  {"steps", request.steps},
                  {"files", summary.files},
                  {"directories", summary.directories},
                  {"writers", summary.writers},
                  {"bytes", summary.bytes},
                  {"messages", summary.messages},
                  {"message_bytes", summary.message_bytes},
                  {"largest_message_bytes", summary.largest_message_bytes},
                  {"bytes_per_writer", {{"min", summary.least_writer_bytes}, {"max", summary.most_writer_bytes}}},
                  {"entries_per_directory_max", summary.most_directory_entries},
                  {"parts", parts_json(request, flow)},
                  {"sends", messages_json(first_sends(flow))},
                  {"notes", notes_of(request, summary.files)}};
    if (input.contains("rank") && !input["rank"].is_null())
        answer["rank_plan"] = rank_json(plan_rank(request, whole_number(input["rank"], "rank")));
    return answer;
}

}  // namespace tailrace
