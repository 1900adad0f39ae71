#include "view/index.hpp"

#include <algorithm>
#include <cstdio>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"
#include "gather/agree.hpp"
#include "layout/parts.hpp"
#include "part/image.hpp"
#include "part/part_reader.hpp"
#include "view/dataset.hpp"

namespace tailrace {
namespace {

constexpr const char* kIndexAttribute = "tailrace_index";

std::string where_parts_are(const std::string& stream) {
    return "virtual datasets over the parts in " + parts_directory(stream) + "/";
}

// `temporary` is in the directory of the parts, where no other program has files.
void write_file(const std::string& path, const std::string& temporary, const Description& description, const History& history,
                const IndexFile& file, bool sync) {
    const Placement placement(part_bytes(description, 0), {});
    const StepBlock block{0, file.steps(), placement.static_end()};
    const Image image = make_image(description, placement, {block}, file.steps(), block_end(placement, block));
    File out = File::create(temporary);
    write_arrays_without_sources(out, description, places_of(description, placement), placement, block, history, file.from);
    put_in_force(out, image);
    if (sync) out.sync();
    out.close();
    rename_path(temporary, path);
}

// Whether the name is NAME.SSSSSS.nc. Such a file may also be another stream's, or no index.
bool is_numbered(const std::string& name, const std::string& stream) {
    if (name.size() <= stream.size() + 4 || !name.starts_with(stream + ".") || !name.ends_with(".nc")) return false;
    const std::string number = name.substr(stream.size() + 1, name.size() - stream.size() - 4);
    return number.size() >= 6 && std::all_of(number.begin(), number.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool is_index(const std::string& path, const std::string& stream) {
    const auto found = root_text(path, kIndexAttribute);
    return found && found->starts_with(where_parts_are(stream));
}

void check_index_path(const std::string& path, const std::string& stream) {
    if (path_exists(path) && !is_index(path, stream))
        fail(Status::BAD_ARGUMENT, path, " exists and is not an index of stream '", stream, "', which needs that name; ",
             "move the file elsewhere, or give the stream another name");
}

bool has_index(const History& history) {
    if (history.empty()) return history.is_static_only();
    return !history.groups.back().layout.part_is_dataset();
}

std::vector<IndexFile> index_files(const History& history, const std::string& stream, size_t end) {
    if (history.is_static_only()) return {{0, 0, dataset_path(stream)}};
    std::vector<IndexFile> files;
    uint64_t parts = 0;
    for (size_t i = 0; i < std::min(end, history.steps.size()); ++i) {
        const uint64_t group = history.steps[i].group, more = history.groups[group].parts;
        if (more > kMaxIndexParts) return {};
        if (i == 0 || history.steps[i - 1].group != group) {
            parts += more;
            if (files.empty() || parts > kMaxIndexParts) {
                files.push_back({i, i, ""});
                parts = more;
            }
        }
        ++files.back().to;
    }
    for (IndexFile& file : files) {
        char number[16];
        std::snprintf(number, sizeof number, ".%06llu", static_cast<unsigned long long>(history.steps[file.from].step));
        file.path = files.size() == 1 ? dataset_path(stream) : stream + number + ".nc";
    }
    return files;
}

std::vector<std::string> index_paths(const std::string& directory, const std::string& stream) {
    std::vector<std::string> paths;
    for (const std::string& entry : list_directory(directory)) {
        const std::string path = directory + "/" + entry;
        if (entry == dataset_path(stream) || (is_numbered(entry, stream) && is_index(path, stream))) paths.push_back(path);
    }
    return paths;
}

void write_index(const std::string& directory, const std::string& stream, const History& history, const IndexedSteps& steps,
                 bool sync, uint64_t run) {
    std::vector<std::string> stale = index_paths(directory, stream);
    const std::vector<IndexFile> files = index_files(history, stream, steps.end);
    for (const IndexFile& file : files) {
        const std::string path = directory + "/" + file.path;
        std::erase(stale, path);
        if (file.steps() > 0 && file.to <= steps.unchanged && path_exists(path)) continue;
        if (files.size() > 1) check_index_path(path, stream);
        Description description = describe_steps(history, stream, file.from, file.to);
        description.attributes.push_back(text_attribute(
            kIndexAttribute, where_parts_are(stream) + "; keep both together; 'tailrace verify' checks that all parts are there"));
        const std::string temporary = directory + "/" + pending_index_path(stream, run);
        try {
            write_file(path, temporary, description, history, file, sync);
        } catch (const Error&) {
            attempt([&] { remove_file(temporary); });  // gives a full device room again
            throw;
        }
    }
    for (const std::string& path : stale) remove_file(path);
}

void show_journal(const std::string& directory, const std::string& stream, uint64_t run, bool sync) {
    const std::string journal = directory + "/" + journal_path(stream);
    // What was read may be older than what another run has shown meanwhile: then again.
    constexpr int kMostTimes = 100;
    for (int times = 0; times < kMostTimes; ++times) {
        const SegmentChain chain = find_segments(journal);
        const SegmentLines lines = read_segments(chain);
        const History history = history_of(lines, journal);
        if (has_index(history))
            write_index(directory, stream, history, {}, sync, run);
        else if (!history.empty())
            show_dataset(directory, stream, history.groups.back(), run);
        else
            return;
        const SegmentChain later = find_segments(journal);
        if (later.next_number == chain.next_number && read_journal(later.segments.back().path).intact_bytes == lines.bytes) return;
    }
}

void show_dataset(const std::string& directory, const std::string& stream, const GroupEntry& group, uint64_t run) {
    if (group.segment == 0) return;
    const std::string part = directory + "/" + part_path(group, stream, 0);
    const std::string dataset = directory + "/" + dataset_path(stream);
    if (!is_same_file(part, dataset)) link_in_place(part, dataset, directory + "/" + pending_index_path(stream, run));
}

}  // namespace tailrace
