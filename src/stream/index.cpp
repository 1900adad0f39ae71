#include "stream/index.hpp"

#include <algorithm>
#include <cstdio>

#include "base/error.hpp"
#include "base/system.hpp"
#include "layout/parts.hpp"
#include "part/image.hpp"
#include "stream/dataset.hpp"

namespace tailrace {
namespace {

constexpr const char* kUnfinished = ".new";

void write_file(const std::string& path, const Description& description, const History& history, const IndexFile& file, bool sync) {
    const Placement placement(part_bytes(description, 0), {});
    const StepBlock block{0, file.steps(), placement.static_end()};
    const Image image = make_image(description, placement, {block}, file.steps(), block_end(placement, block));
    const std::string temporary = path + kUnfinished;
    File out = File::create(temporary);
    write_known(out, description, places_of(description, placement), placement, block, history, file.from);
    put_in_force(out, image);
    if (sync) out.sync();
    out.close();
    rename_path(temporary, path);
}

// The files NAME.nc and NAME.SSSSSS.nc with an ending behind.
std::vector<std::string> index_paths_ending(const std::string& directory, const std::string& stream, const std::string& ending) {
    std::vector<std::string> paths;
    const auto is_number = [](const std::string& text) {
        return text.size() >= 6 && std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
    };
    for (const std::string& entry : list_directory(directory)) {
        if (!entry.ends_with(ending)) continue;
        const std::string name = entry.substr(0, entry.size() - ending.size());
        const bool numbered = name.size() > stream.size() + 4 && name.starts_with(stream + ".") && name.ends_with(".nc") &&
                              is_number(name.substr(stream.size() + 1, name.size() - stream.size() - 4));
        if (name == dataset_path(stream) || numbered) paths.push_back(directory + "/" + entry);
    }
    return paths;
}

}  // namespace

std::vector<IndexFile> index_files(const History& history, const std::string& stream) {
    std::vector<IndexFile> files;
    uint64_t parts = 0;
    for (size_t i = 0; i < history.steps.size(); ++i) {
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
    return index_paths_ending(directory, stream, "");
}

std::vector<std::string> unfinished_index_paths(const std::string& directory, const std::string& stream) {
    return index_paths_ending(directory, stream, kUnfinished);
}

void write_index(const std::string& directory, const std::string& stream, const History& history, size_t unchanged, bool sync) {
    std::vector<std::string> stale = index_paths(directory, stream);
    const std::vector<IndexFile> files = index_files(history, stream);
    for (const IndexFile& file : files) {
        const std::string path = directory + "/" + file.path;
        std::erase(stale, path);
        if (file.to <= unchanged && path_exists(path)) continue;
        Description description = describe_steps(history, stream, file.from, file.to);
        description.attributes.push_back(
            text_attribute("tailrace_index", "virtual datasets over the parts in " + parts_directory(stream) +
                                                 "/; keep both together; 'tailrace verify' tells whether all parts are there"));
        write_file(path, description, history, file, sync);
    }
    for (const std::string& path : stale) remove_file(path);
}

}  // namespace tailrace
