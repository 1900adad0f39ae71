#include "stream/catalog.hpp"

#include <vector>

#include "base/error.hpp"
#include "base/system.hpp"
#include "layout/parts.hpp"
#include "part/seal.hpp"
#include "stream/history.hpp"
#include "stream/index.hpp"

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
                 {"ranks", 0},
                 {"steps", Json::array()},
                 {"files", 0},
                 {"bytes", 0},
                 {"index", Json::array()},
                 {"dimensions", Json::array()},
                 {"variables", Json::array()}};
    if (history.runs.empty()) return json;
    const RunEntry& run = history.runs.back();
    json["layout"] = effective_json(run.config);
    json["requested"] = run.requested;
    json["ranks"] = run.ranks;
    for (const StepEntry& step : history.steps)
        json["steps"].push_back({{"step", step.step}, {"time", step.time}, {"files", step.files}, {"bytes", step.bytes}});
    uint64_t files = 0, bytes = 0;
    for (const GroupEntry& group : history.groups)
        for (uint64_t part = 0; part < group.parts; ++part) {
            const std::string path = directory + "/" + part_path(group.layout, stream, group.start, part);
            if (!path_exists(path)) continue;
            ++files;
            bytes += File::open_read(path).size_bytes();
        }
    json["files"] = files;
    json["bytes"] = bytes;
    for (const std::string& path : index_paths(directory, stream))
        if (!run.config.layout.part_is_dataset()) json["index"].push_back(path);
    for (const Dimension& d : run.definitions.dimensions()) json["dimensions"].push_back({{"name", d.name}, {"length", d.length}});
    for (const Variable& v : run.definitions.variables()) {
        Json dims = Json::array();
        for (const int d : v.dims) dims.push_back(run.definitions.dimensions()[static_cast<size_t>(d)].name);
        json["variables"].push_back({{"name", v.name}, {"type", type_code(v.type)}, {"dimensions", dims}, {"static", v.is_static}});
    }
    return json;
}

// Looks at the parts of one group; what is wrong goes into `problems`.
class GroupCheck {
public:
    GroupCheck(const std::string& directory, const std::string& stream, const GroupEntry& group, Json& problems)
        : directory_(directory), stream_(stream), group_(group), problems_(problems) {}

    uint64_t check(bool deep) {
        uint64_t bytes = 0;
        for (uint64_t part = 0; part < group_.parts; ++part) {
            const std::string path = directory_ + "/" + part_path(group_.layout, stream_, group_.start, part);
            try {
                if (!path_exists(path)) fail(Status::NOT_FOUND, "the part is missing");
                const File file = File::open_read(path);
                bytes += file.size_bytes();
                check_part(file, path, deep);
            } catch (const Error& error) {
                tell(path, error.what());
            }
        }
        const bool sized = group_.layout.steps == 1;
        if (sized && bytes != group_.files_bytes && problems_.empty())
            tell(directory_ + "/" + group_path(group_.layout, stream_, group_.start),
                 text("its files have ", bytes, " bytes, ", group_.files_bytes, " were committed"));
        return bytes;
    }

    uint64_t digest() const { return digest_; }
    bool has_digest() const { return has_digest_; }

private:
    void tell(const std::string& path, const std::string& what) {
        problems_.push_back({{"path", path}, {"step", group_.start}, {"problem", what}});
    }

    void check_part(const File& file, const std::string& path, bool deep) {
        const auto map = read_seal_map(path);
        if (!map || !deep) return;
        if (map->steps() < group_.steps)
            fail(Status::CORRUPT, "it has room for ", map->steps(), " steps, committed are ", group_.steps);
        for (uint64_t writer = 0; writer < map->writers; ++writer) {
            if (map->static_seal != 0)
                check_seal(file, read_seal(file, map->static_address(writer), map->slot_bytes), kSealOfStatic, writer);
            for (uint64_t step = 0; step < group_.steps; ++step)
                check_seal(file, read_seal(file, map->address(step, writer), map->slot_bytes), step, writer);
        }
    }

    void check_seal(const File& file, const Seal& seal, uint64_t step, uint64_t writer) {
        const std::string which = step == kSealOfStatic ? "static arrays" : text("step ", group_.start + step);
        if (seal.step != step || seal.writer != writer) fail(Status::CORRUPT, "the checksums of ", which, " are of something else");
        if (const auto bad = verify_records(file, seal.records))
            fail(Status::CORRUPT, which, ": bytes ", bad->address, " to ", bad->address + bad->bytes,
                 " do not have the checksum they were written with");
        const std::vector<std::byte> bytes = make_seal(seal.step, seal.writer, seal.records);
        digest_ += Checksum::of(bytes.data(), bytes.size());
        has_digest_ = true;
    }

    const std::string& directory_;
    const std::string& stream_;
    const GroupEntry& group_;
    Json& problems_;
    uint64_t digest_ = 0;
    bool has_digest_ = false;
};

void require_stream(const std::string& directory, const std::string& stream) {
    if (!path_exists(directory)) fail(Status::NOT_FOUND, "there is no directory ", directory);
    if (!path_exists(directory + "/" + journal_path(stream)))
        fail(Status::NOT_FOUND, "there is no stream '", stream, "' in ", directory, ": ", journal_path(stream), " is missing");
}

}  // namespace

Json list_streams(const std::string& directory, const std::string& stream) {
    if (!path_exists(directory)) fail(Status::NOT_FOUND, "there is no directory ", directory);
    if (!stream.empty()) require_stream(directory, stream);
    std::vector<std::string> streams = stream.empty() ? streams_in(directory) : std::vector<std::string>{stream};
    if (streams.empty()) fail(Status::NOT_FOUND, "there is no stream in ", directory, ": no NAME.parts/journal.jsonl");
    Json json = {{"directory", directory}, {"streams", Json::array()}};
    for (const std::string& name : streams) json["streams"].push_back(describe_stream(directory, name));
    return json;
}

Json verify_stream(const std::string& directory, const std::string& stream, bool deep) {
    require_stream(directory, stream);
    Json problems = Json::array();
    uint64_t files = 0, bytes = 0;
    size_t steps = 0;
    try {
        const History history = read_history(directory + "/" + journal_path(stream));
        steps = history.steps.size();
        for (const GroupEntry& group : history.groups) {
            GroupCheck check(directory, stream, group, problems);
            const size_t before = problems.size();
            bytes += check.check(deep);
            files += group.parts;
            const StepEntry& last = history.steps[group.start + group.steps - 1];
            if (deep && group.layout.steps == 1 && problems.size() == before && check.has_digest() &&
                hex_digest(check.digest()) != last.digest)
                problems.push_back({{"path", directory + "/" + group_path(group.layout, stream, group.start)},
                                    {"step", group.start},
                                    {"problem", "its parts are whole, but not those that were committed"}});
        }
        if (history.torn_bytes > 0)
            problems.push_back({{"path", directory + "/" + journal_path(stream)},
                                {"step", nullptr},
                                {"problem", text("its last ", history.torn_bytes, " bytes are torn; the next run drops them")}});
        const bool is_index = !history.empty() && !history.groups.back().layout.part_is_dataset();
        if (is_index)
            for (const IndexFile& file : index_files(history, stream))
                if (!path_exists(directory + "/" + file.path))
                    problems.push_back(
                        {{"path", directory + "/" + file.path}, {"step", file.first_step}, {"problem", "the index is missing"}});
    } catch (const Error& error) {
        problems.push_back({{"path", directory + "/" + journal_path(stream)}, {"step", nullptr}, {"problem", error.what()}});
    }
    return {{"ok", problems.empty()}, {"stream", stream}, {"deep", deep},        {"steps", steps},
            {"files", files},         {"bytes", bytes},   {"problems", problems}};
}

void index_stream(const std::string& directory, const std::string& stream) {
    require_stream(directory, stream);
    const History history = read_history(directory + "/" + journal_path(stream));
    if (history.empty()) fail(Status::NOT_FOUND, "stream '", stream, "' in ", directory, " has no committed step");
    if (!history.groups.back().layout.part_is_dataset()) write_index(directory, stream, history, false);
}

}  // namespace tailrace
