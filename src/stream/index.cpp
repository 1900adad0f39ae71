#include "stream/index.hpp"

#include <algorithm>
#include <cstdio>

#include "base/error.hpp"
#include "base/system.hpp"
#include "layout/parts.hpp"
#include "part/image.hpp"
#include "part/part_file.hpp"
#include "stream/part_content.hpp"

namespace tailrace {
namespace {

constexpr const char* kUnfinished = ".new";

// HDF5 takes the names of a virtual dataset's sources for patterns, in which a percent sign is written twice.
std::string as_pattern(const std::string& name) {
    std::string pattern;
    for (const char c : name) pattern.append(c == '%' ? 2 : 1, c);
    return pattern;
}

// Steps that follow each other in a group, and in an index.
struct Stretch {
    const GroupEntry* group;
    uint64_t from;  // in the group
    uint64_t to;    // in the index
    uint64_t steps;
};

std::vector<Stretch> stretches_of(const History& history, const IndexFile& file) {
    std::vector<Stretch> stretches;
    for (size_t i = file.from; i < file.to; ++i) {
        const StepEntry& step = history.steps[i];
        const GroupEntry& group = history.groups[step.group];
        const uint64_t in_group = step.step - group.start;
        if (!stretches.empty() && stretches.back().group == &group && stretches.back().from + stretches.back().steps == in_group)
            ++stretches.back().steps;
        else
            stretches.push_back({&group, in_group, i - file.from, 1});
    }
    return stretches;
}

// Adds the leading time dimension.
Box with_time(const Box& box, uint64_t first, uint64_t steps) {
    Box result = box;
    result.offset.insert(result.offset.begin(), first);
    result.count.insert(result.count.begin(), steps);
    return result;
}

class IndexBuilder {
public:
    IndexBuilder(const History& history, const std::string& stream, const IndexFile& file)
        : history_(history), stream_(stream), file_(file), definitions_(history.runs.back().definitions),
          last_group_(history.steps[file.to - 1].group), stretches_(stretches_of(history, file)) {
        std::vector<uint64_t> lengths(definitions_.ragged().size(), 0);
        for (size_t i = file.from; i < file.to; ++i)
            for (size_t k = 0; k < lengths.size(); ++k) lengths[k] += history.steps[i].ragged.at(k);
        definitions_.set_ragged_lengths(lengths);
    }

    Description describe() const {
        Description description;
        description.dimensions = definitions_.dimensions();
        description.time_name = definitions_.time_name();
        description.attributes = definitions_.attributes();
        description.attributes.push_back(
            text_attribute("tailrace_index", "virtual datasets over the parts in " + parts_directory(stream_) +
                                                 "/; keep both together; 'tailrace verify' tells whether all parts are there"));
        for (size_t v = 0; v < definitions_.variables().size(); ++v) {
            const Variable& variable = definitions_.variables()[v];
            const bool varies = !variable.is_static && !definitions_.is_ragged(variable);
            Array array{variable.name, variable.type, variable.dims, varies, variable.attributes, variable.fill, {}};
            if (!history_.coordinates.contains(v)) array.sources = sources_of(v);
            description.arrays.push_back(std::move(array));
        }
        for (const int d : definitions_.ragged()) {
            const Dimension& dimension = definitions_.dimension(d);
            description.arrays.push_back({row_size_name(dimension),
                                          Type::I64,
                                          {},
                                          true,
                                          {text_attribute("long_name", "number of " + dimension.name + " elements of each step"),
                                           text_attribute("sample_dimension", dimension.name)},
                                          {},
                                          {}});
        }
        description.arrays.push_back({definitions_.time_name(), Type::F64, {}, true, definitions_.time_attributes(), {}, {}});
        return description;
    }

private:
    std::vector<Source> sources_of(size_t v) const {
        const Variable& variable = definitions_.variables()[v];
        std::vector<Source> sources;
        if (definitions_.is_ragged(variable)) return ragged_sources(v);
        if (variable.is_static) {
            // Replicated ones are in every group.
            const GroupEntry* group = variable.replicated ? &history_.groups[last_group_] : history_.static_group(last_group_);
            if (group != nullptr) add_group(sources, v, *group, std::nullopt);
            return sources;
        }
        for (const Stretch& stretch : stretches_) add_group(sources, v, *stretch.group, stretch);
        return sources;
    }

    void add_group(std::vector<Source>& sources, size_t v, const GroupEntry& group, const std::optional<Stretch>& stretch) const {
        const Variable& variable = definitions_.variables()[v];
        const Box whole = whole_box(variable.shape);
        const auto add = [&](uint64_t part, const std::string& dataset, const Box& from, const Box& to) {
            sources.push_back(source_in(group, part, dataset, stretch ? with_time(from, stretch->from, stretch->steps) : from,
                                        stretch ? with_time(to, stretch->to, stretch->steps) : to));
        };
        if (variable.replicated) return add(0, variable.name, whole, whole);
        for (const PartBox& box : boxes_of(group, v, whole))
            add(box.part, block_name(variable.name, box.block), whole_box(box.box.count), box.box);
    }

    Source source_in(const GroupEntry& group, uint64_t part, const std::string& dataset, const Box& from, const Box& to) const {
        return {as_pattern(part_path(group.layout, stream_, group.start, part)), as_pattern(dataset), from, to};
    }

    // The steps one behind the other along the first dimension, which is no step's alone.
    std::vector<Source> ragged_sources(size_t v) const {
        const Variable& variable = definitions_.variables()[v];
        const auto& ragged = definitions_.ragged();
        const auto k = static_cast<size_t>(std::find(ragged.begin(), ragged.end(), variable.dims[0]) - ragged.begin());
        std::vector<Source> sources;
        uint64_t before = 0;
        for (size_t i = file_.from; i < file_.to; ++i) {
            const StepEntry& step = history_.steps[i];
            const GroupEntry& group = history_.groups[step.group];
            Box whole = whole_box(variable.shape);
            whole.count[0] = step.ragged[k];
            for (const PartBox& box : boxes_of(group, v, whole)) {
                Box to = box.box;
                to.offset[0] += before;
                sources.push_back(source_in(group, box.part, block_name(variable.name, box.block),
                                            with_time(whole_box(to.count), step.step - group.start, 1), to));
            }
            before += step.ragged[k];
        }
        return sources;
    }

    // Where the blocks of a distributed variable are; `whole` is where there is one part.
    std::vector<PartBox> boxes_of(const GroupEntry& group, size_t v, const Box& whole) const {
        std::vector<PartBox> boxes;
        const auto plan = history_.plans.find(group.plan);
        if (has_one_part(group.layout))
            boxes = {{0, 0, whole}};
        else if (plan != history_.plans.end() && v < plan->second.size())
            boxes = plan->second[v];
        std::erase_if(boxes, [](const PartBox& box) { return box.box.elements() == 0; });
        return boxes;
    }

    const History& history_;
    const std::string& stream_;
    const IndexFile& file_;
    Definitions definitions_;
    const uint64_t last_group_;
    const std::vector<Stretch> stretches_;
};

// One array's fill values, piece by piece.
void write_fill(File& out, uint64_t address, uint64_t bytes, const std::vector<std::byte>& fill) {
    constexpr uint64_t piece_bytes = 1u << 20;
    std::vector<std::byte> piece(std::min(bytes, piece_bytes));
    for (size_t i = 0; i < piece.size(); ++i) piece[i] = fill[i % fill.size()];
    for (uint64_t done = 0; done < bytes; done += piece.size())
        out.write_at(address + done, piece.data(), std::min<uint64_t>(piece.size(), bytes - done));
}

// What the index holds itself, besides the times and the lengths of ragged dimensions: the arrays that the journal has; and of
// which no rank has put anything, fill values.
void write_own_arrays(File& out, const Description& description, const Placement& placement, const std::vector<StepBlock>& blocks,
                      const History& history) {
    size_t static_slot = 0, step_slot = 0;
    for (size_t v = 0; v < history.runs.back().definitions.variables().size(); ++v) {
        const Array& array = description.arrays[v];
        if (array.is_virtual()) continue;
        const uint64_t bytes = bytes_of(description, array);
        const auto values = history.coordinates.find(v);
        if (values != history.coordinates.end())
            out.write_at(placement.static_addresses()[static_slot++], values->second.data(), values->second.size());
        else if (!array.varies && !array.fill.empty())
            write_fill(out, placement.static_addresses()[static_slot++], bytes, array.fill);
        else if (array.varies && !array.fill.empty()) {
            for (uint64_t k = 0; k < blocks.front().steps; ++k)
                write_fill(out, step_address(placement, blocks, k) + placement.step_offsets()[step_slot], bytes, array.fill);
            ++step_slot;
        } else {
            ++(array.varies ? step_slot : static_slot);  // an array without elements
        }
    }
}

void write_file(const std::string& path, const Description& description, const History& history, const IndexFile& file, bool sync) {
    const Placement placement(part_bytes(description, 0), {});
    const std::vector<StepBlock> blocks = {{0, file.steps(), placement.static_end()}};
    const Image image = make_image(description, placement, blocks, file.steps(), block_end(placement, blocks.front()));
    const std::string temporary = path + kUnfinished;
    File out = File::create(temporary);
    write_own_arrays(out, description, placement, blocks, history);
    for (uint64_t k = 0; k < file.steps(); ++k) {
        const StepEntry& step = history.steps[file.from + k];
        const uint64_t address = step_address(placement, blocks, k);
        const auto offsets = placement.step_offsets().end() - static_cast<long>(step.ragged.size()) - 1;
        for (size_t r = 0; r < step.ragged.size(); ++r) out.write_at(address + offsets[static_cast<long>(r)], &step.ragged[r], 8);
        out.write_at(address + placement.step_offsets().back(), &step.time, 8);
    }
    out.write_at(image.metadata_address, image.metadata.data(), image.metadata.size());
    out.write_at(0, image.superblock.data(), image.superblock.size());
    out.set_size(image.file_bytes);
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
        const Description description = IndexBuilder(history, stream, file).describe();
        write_file(path, description, history, file, sync);
    }
    for (const std::string& path : stale) remove_file(path);
}

}  // namespace tailrace
