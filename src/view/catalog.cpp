#include "view/catalog.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"
#include "base/shell_word.hpp"
#include "layout/parts.hpp"
#include "record/history.hpp"
#include "record/stream_lock.hpp"
#include "record/write_access.hpp"
#include "view/arrived_steps.hpp"
#include "view/index.hpp"
#include "view/part_versions.hpp"

namespace tailrace {
namespace {

constexpr std::string_view kPartsEnding = ".parts";

std::vector<std::string> streams_in(const std::string& directory) {
    std::vector<std::string> streams;
    for (const std::string& name : list_directory(directory))
        if (name.ends_with(kPartsEnding) && path_exists(directory + "/" + name + "/journal.jsonl"))
            streams.push_back(name.substr(0, name.size() - kPartsEnding.size()));
    return streams;
}

Json describe_stream(const std::string& directory, const std::string& stream) {
    const History history = read_history(directory + "/" + journal_path(stream));
    Json json = {{"name", stream},
                 {"path", directory + "/" + dataset_path(stream)},
                 {"layout", Json::object()},
                 {"requested", Json::object()},
                 {"storage", Json::object()},
                 {"ranks", 0},
                 {"steps", Json::array()},
                 {"staged", Json::array()},
                 {"files", 0},
                 {"bytes", 0},
                 {"index", Json::array()},
                 {"notes", Json::array()},
                 {"dimensions", Json::array()},
                 {"variables", Json::array()}};
    if (history.runs.empty()) return json;
    const RunEntry& run = history.runs.back();
    json["layout"] = effective_json(run.config);
    json["requested"] = run.requested;
    json["storage"] = run.storage;
    json["ranks"] = run.ranks;
    for (const StepEntry& step : history.steps)
        json["steps"].push_back({{"step", step.step}, {"time", step.time}, {"files", step.files}, {"bytes", step.bytes}});
    for (const StagedStep& step : history.staged)
        json["staged"].push_back({{"step", step.step},
                                  {"time", step.time},
                                  {"files", count_at(step.line, "files")},
                                  {"bytes", count_at(step.line, "bytes")}});
    uint64_t files = 0, bytes = 0;
    for (const size_t g : history.needed_groups()) {
        const GroupEntry& group = history.groups[g];
        const uint64_t parts = parts_to_look_at(directory, stream, group);
        for (uint64_t part = 0; part < parts; ++part) {
            const std::string path = directory + "/" + part_path(group, stream, part);
            if (!path_exists(path)) continue;
            ++files;
            bytes += File::open_read(path).size_bytes();
        }
    }
    json["files"] = files;
    json["bytes"] = bytes;
    for (const std::string& path : index_paths(directory, stream))
        if (history.is_static_only() || !run.config.layout.part_is_dataset()) json["index"].push_back(path);
    if (const std::string note = note_of_open_files(history, stream); !note.empty()) json["notes"].push_back(note);
    if (const std::string staged = text_of_staged(directory, stream, history); !staged.empty() && !living_writer(directory, stream))
        json["notes"].push_back(staged);
    Definitions definitions = run.definitions;
    if (!history.empty()) definitions.set_ragged_lengths(history.steps.back().ragged);
    for (const Dimension& d : definitions.dimensions())
        json["dimensions"].push_back({{"name", d.name}, {"length", d.length}, {"ragged", d.ragged}});
    for (const Variable& v : run.definitions.variables()) {
        Json dims = Json::array();
        for (const int d : v.dims) dims.push_back(run.definitions.dimensions()[static_cast<size_t>(d)].name);
        json["variables"].push_back({{"name", v.name}, {"type", type_code(v.type)}, {"dimensions", dims}, {"static", v.is_static}});
    }
    return json;
}

}  // namespace

void require_directory(const std::string& directory) {
    if (!path_exists(directory)) fail(Status::NOT_FOUND, "there is no directory ", directory);
    const std::filesystem::path path = directory;
    if (std::error_code none; std::filesystem::is_regular_file(path, none))
        fail(Status::NOT_FOUND, directory, " is a file: give the directory that contains it, ",
             path.has_parent_path() ? path.parent_path().string() : ".", ", and the name of the stream");
}

void require_stream(const std::string& directory, const std::string& stream) {
    require_directory(directory);
    if (stream.find('/') != std::string::npos)
        fail(Status::BAD_ARGUMENT, "stream name '", stream,
             "' leads to another directory: give the directory that contains the stream, ", "and its name without '/'");
    if (!path_exists(directory + "/" + journal_path(stream)))
        fail(Status::NOT_FOUND, "there is no stream '", stream, "' in ", directory, ": ", journal_path(stream), " is missing",
             path_exists(directory + "/" + parts_directory(stream))
                 ? "; the stream was opened, but no step was committed"
                 : text("; list the streams: `tailrace ls ", shell_word(directory), "`"));
}

Json list_streams(const std::string& directory, const std::string& stream) {
    stream.empty() ? require_directory(directory) : require_stream(directory, stream);
    std::vector<std::string> streams = stream.empty() ? streams_in(directory) : std::vector<std::string>{stream};
    if (streams.empty())
        fail(Status::NOT_FOUND, "there is no stream in ", directory,
             ": no NAME.parts/journal.jsonl, which a stream has from its first committed step on");
    Json json = {{"directory", directory}, {"streams", Json::array()}};
    for (const std::string& name : streams) json["streams"].push_back(describe_stream(directory, name));
    return json;
}

namespace {

// Commits the staged steps that have arrived. This needs a segment of the journal, and so the stream.
void commit_staged(const std::string& directory, const std::string& stream, bool takes_over) {
    WriteAccess access(directory, stream, {.takes_over = takes_over});
    History history = access.take_history();
    if (commit_arrived_steps(directory, stream, history, !access.is_contested(),
                             [&](const Json& line) { access.append(line, true); }))
        access.end();
}

}  // namespace

namespace {

// Another run may still write the parts. Throws IN_USE if one of them shows fewer steps than an index over it would promise.
void check_none_is_outdated(const std::string& directory, const std::string& stream, const History& history) {
    for (const size_t g : history.needed_groups()) {
        const GroupEntry& group = history.groups[g];
        if (group.layout.steps == 1 || group.layout.part_is_dataset() || group.lengths != Lengths::committed) continue;
        for (uint64_t part = 0; part < parts_to_look_at(directory, stream, group); ++part) {
            const std::string path = directory + "/" + part_path(group, stream, part);
            if (path_exists(path) && state_of_part(path, history, g) == PartState::outdated)
                fail(Status::IN_USE, path, " does not show its last step, and another run may still write it: `tailrace repair ",
                     shell_word(directory), " -s ", shell_word(stream), " --take-over` makes a copy that shows it");
        }
    }
}

}  // namespace

void index_stream(const std::string& directory, const std::string& stream, bool takes_over) {
    require_stream(directory, stream);
    if (!read_history(directory + "/" + journal_path(stream)).staged.empty()) commit_staged(directory, stream, takes_over);
    // Takes the lock without beginning a segment, since the journal does not change: a run that is still alive can continue.
    const StreamLock lock(directory, stream, takes_over);
    const std::string journal = directory + "/" + journal_path(stream);
    const SegmentChain chain = find_segments(journal);
    const History history = history_of(read_segments(chain), journal);
    if (history.empty() && !history.is_static_only())
        fail(Status::NOT_FOUND, "stream '", stream, "' in ", directory, " has no committed step",
             history.staged.empty() ? "" : ": ", text_of_staged(directory, stream, history));
    if (lock.overrode())
        check_none_is_outdated(directory, stream, history);
    else
        for (const size_t group : history.needed_groups()) bring_up_group(directory, stream, history, group);
    show_journal(directory, stream, chain.next_number, false);
}

}  // namespace tailrace
