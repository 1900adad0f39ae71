#include "stream/continuation.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "gather/agree.hpp"
#include "layout/notation.hpp"
#include "layout/parts.hpp"
#include "part/part_reader.hpp"
#include "record/definitions_difference.hpp"
#include "record/element_text.hpp"
#include "view/reader.hpp"

namespace tailrace {
namespace {

// Static arrays are compared in pieces of at most this size (and at least one row).
constexpr uint64_t kPieceBytes = 4u << 20;

constexpr const char* kRemedy =
    "; the steps that are there would change their meaning: give it as it was, write to another stream or directory, or set mode = "
    "'replace' to begin anew";

std::string stream_text(const StreamPaths& paths) { return text("stream '", paths.name, "' in ", paths.directory); }

void check_storage(const History& history, const StreamPaths& paths, const StreamConfig& config) {
    const std::string &name = paths.name, &directory = paths.directory;
    const Layout& before = history.groups.back().layout;
    const auto stored_as = [](const Storage& storage) {
        return std::tuple(storage.compression, storage.shuffle, storage.chunk_bytes, storage.bit_round);
    };
    StreamConfig as_before;
    as_before.layout = before;
    if (before.part_is_dataset() && stored_as(before.storage) != stored_as(config.layout.storage))
        fail(Status::BAD_LAYOUT, "stream '", name, "' in ", directory, ": ", name,
             ".nc was begun with compression = ", effective_json(as_before).at("compression").get<std::string>(),
             ", and its arrays can have no other filters; ",
             "keep compression, shuffle, chunk and bit_round of the run before, or set mode = 'replace'");
    if (before.part_is_dataset() != config.layout.part_is_dataset())
        fail(Status::BAD_LAYOUT, "stream '", name, "' in ", directory, " cannot be appended to under this layout: ", name,
             ".nc is ", before.part_is_dataset() ? "the dataset itself (files = one, steps = all)" : "an index over parts",
             "; keep the layout of the run before, or set mode = 'replace'");
}

[[noreturn]] void fail_element(const StreamPaths& paths, const Variable& variable, std::span<const uint64_t> index,
                               const std::byte* before, const std::byte* now) {
    fail(Status::BAD_ARGUMENT, stream_text(paths), ": element ", index_text(index), " of the static variable '", variable.name,
         "' is ", element_text(variable.type, before), " in its steps, here ", element_text(variable.type, now), kRemedy);
}

// The index of an element of a dense array.
Shape index_in(const Shape& shape, uint64_t element) {
    Shape index(shape.size());
    for (size_t d = shape.size(); d-- > 0; element /= shape[d]) index[d] = element % shape[d];
    return index;
}

// The values of a replicated variable that earlier runs stored. Empty: they cannot be read.
std::vector<std::byte> stored_values(const History& history, size_t v, const Definitions& definitions, const StreamPaths& paths) {
    if (const auto known = history.coordinates.find(v); known != history.coordinates.end()) return known->second;
    const GroupEntry& group = history.groups[history.steps.back().group];
    const Variable& variable = definitions.variables()[v];
    if (!has_one_part(group.layout) && definitions.is_coordinate(variable)) return {};  // the parts have slices of it
    const std::string path = paths.path(part_path(group, paths.name, 0));
    std::vector<std::byte> values(variable.bytes());
    try {
        const PartReader part(path);
        read_box(part.find({definitions.array_name(variable), variable.type, variable.shape, false}, 0), whole_box(variable.shape),
                 BlockView(values.data(), type_bytes(variable.type), variable.shape, {}));
    } catch (const Error& error) {
        if (error.status() != Status::NOT_FOUND) throw;
        return {};  // the part was moved elsewhere
    }
    return values;
}

void check_static_values(const History& history, const Definitions& definitions, const StepData& data, const StreamPaths& paths) {
    for (size_t v = 0; v < definitions.variables().size(); ++v) {
        const Variable& variable = definitions.variables()[v];
        if (v >= history.runs.back().definitions.variables().size()) return;  // this run adds the variable
        if (!variable.is_static || !variable.replicated || data.values[v].empty()) continue;
        const std::vector<std::byte> stored = stored_values(history, v, definitions, paths);
        if (stored.size() != data.values[v].size()) continue;
        const uint64_t elements = volume(variable.shape), bytes = type_bytes(variable.type);
        const uint64_t at = first_difference(variable.type, stored.data(), data.values[v].data(), elements);
        if (at < elements)
            fail_element(paths, variable, index_in(variable.shape, at), stored.data() + at * bytes,
                         data.values[v].data() + at * bytes);
    }
}

// Compares a block with the stored box, in pieces of whole rows of its first dimension. Throws at the first difference.
void compare_block(const Reader& reader, const StreamPaths& paths, const Variable& variable, const Box& box,
                   const BlockView& memory) {
    const uint64_t bytes = type_bytes(variable.type);
    const uint64_t row = box.elements() / box.count[0], rows = std::max<uint64_t>(kPieceBytes / (row * bytes), 1);
    std::vector<std::byte> stored, now;
    for (uint64_t first = 0; first < box.count[0]; first += rows) {
        Box piece = box;
        piece.offset[0] += first;
        piece.count[0] = std::min(rows, box.count[0] - first);
        const uint64_t elements = piece.elements();
        stored.resize(elements * bytes);
        now.resize(elements * bytes);
        reader.get(variable.name, piece, stored.data(), {});
        memory.copy_out(first * row, elements, now.data());
        const uint64_t at = first_difference(variable.type, stored.data(), now.data(), elements);
        if (at == elements) continue;
        Shape index = index_in(piece.count, at);
        for (size_t d = 0; d < index.size(); ++d) index[d] += piece.offset[d];
        fail_element(paths, variable, index, stored.data() + at * bytes, now.data() + at * bytes);
    }
}

}  // namespace

EarlierSteps earlier_steps(const History& history, const StreamConfig& config) {
    EarlierSteps all{{}, {}, history.retained_from};
    const auto add = [&](const StepEntry& step) {
        all.numbers.push_back(step.step);
        all.times.push_back(step.time);
    };
    const bool needs_all = config.mode == "resume";
    for (const StepEntry& step : history.steps)
        if (needs_all || all.times.empty() || (all.times.size() == 1 && step.time != all.times.front())) add(step);
    if (!needs_all && !history.empty() && all.numbers.back() != history.steps.back().step) add(history.steps.back());
    for (const StagedStep& step : history.staged) {
        all.numbers.push_back(step.step);
        all.times.push_back(step.time);
    }
    all.staged = history.staged.size();
    all.kept = all.times.size();
    if (needs_all && config.resume_before) all.keep_before(*config.resume_before);
    return all;
}

Json earlier_steps_json(const EarlierSteps& steps) {
    return {{"numbers", steps.numbers},
            {"times", steps.times},
            {"retained_from", steps.retained_from},
            {"kept", steps.kept},
            {"staged", steps.staged}};
}

EarlierSteps earlier_steps_of(const Json& json) {
    return {json.at("numbers"), json.at("times"), json.at("retained_from"), json.at("kept"), json.at("staged")};
}

void check_continuation(const History& history, const Definitions& definitions, const StepData& data, const StreamPaths& paths,
                        const StreamConfig& config) {
    if (history.runs.empty()) return;
    const Definitions& earlier = history.runs.back().definitions;
    std::string why = difference_in_structure(earlier, definitions);
    if (!why.empty())
        fail(Status::BAD_SHAPE, stream_text(paths), " was written with other definitions: ", why,
             "; write to another stream or directory, or set mode = 'replace' to begin anew");
    if (history.empty()) return;
    if (why = difference_in_meaning(earlier, definitions); !why.empty())
        fail(Status::BAD_ATTRIBUTE, stream_text(paths), ": ", why, kRemedy);
    check_storage(history, paths, config);
    if (const size_t known = earlier.variables().size(); config.layout.part_is_dataset() && definitions.variables().size() > known)
        fail(Status::BAD_LAYOUT, stream_text(paths), ": variable '", definitions.variables()[known].name, "' is new, and ",
             paths.name, ".nc (files = one, steps = all) has no place for it: write it to another stream, or continue a copy that ",
             "has several files: `tailrace convert ", shell_word(paths.directory), " NEW_DIRECTORY --stream ",
             shell_word(paths.name), " --set steps=1`");
    check_static_values(history, definitions, data, paths);
}

void compare_static_arrays(const Communicator& ranks, const StreamPaths& paths, uint64_t step, const Definitions& definitions,
                           const StepData& data) {
    Reader reader(ranks.all(), paths.directory, paths.name);
    reader.select(static_cast<int64_t>(step));
    const auto error = attempt([&] {
        for (size_t v = 0; v < reader.definitions().variables().size(); ++v) {  // without those that this run adds
            const Variable& variable = definitions.variables()[v];
            if (!variable.is_static || variable.replicated) continue;
            for (size_t b = 0; b < data.boxes[v].size(); ++b)
                compare_block(reader, paths, variable, data.boxes[v][b], data.memory[v][b]);
        }
    });
    reader.close();
    if (error && error->status() != Status::NOT_FOUND) throw *error;  // NOT_FOUND: a part was moved elsewhere
}

}  // namespace tailrace
