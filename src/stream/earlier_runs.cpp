#include "stream/earlier_runs.hpp"

#include <tuple>

#include "base/paths.hpp"
#include "gather/agree.hpp"
#include "stream/group.hpp"
#include "view/index.hpp"

namespace tailrace {
namespace {

void check_history(const History& history, const Definitions& definitions, const StreamPaths& paths, const StreamConfig& config) {
    if (history.runs.empty()) return;
    const std::string &name = paths.name, &directory = paths.directory;
    std::string why;
    if (!definitions.same_structure(history.runs.back().definitions, why))
        fail(Status::BAD_SHAPE, "stream '", name, "' in ", directory, " was written with other definitions: ", why,
             "; write to another stream or directory, or set mode = 'replace' to begin anew");
    if (history.empty()) return;
    const Layout& before = history.groups.back().layout;
    const auto stored_as = [](const Storage& storage) {
        return std::tuple(storage.compression, storage.shuffle, storage.chunk_bytes, storage.bit_round);
    };
    if (before.part_is_dataset() && stored_as(before.storage) != stored_as(config.layout.storage))
        fail(Status::BAD_LAYOUT, "stream '", name, "' in ", directory, ": ", name,
             ".nc was begun with compression = ", effective_json({.layout = before}).at("compression").get<std::string>(),
             ", and its arrays can have no other filters; ",
             "keep compression, shuffle, chunk and bit_round of the run before, or set mode = 'replace'");
    if (before.part_is_dataset() != config.layout.part_is_dataset())
        fail(Status::BAD_LAYOUT, "stream '", name, "' in ", directory, " cannot be appended to under this layout: ", name,
             ".nc is ", before.part_is_dataset() ? "the dataset itself (files = one, steps = all)" : "an index over parts",
             "; keep the layout of the run before, or set mode = 'replace'");
}

}  // namespace

EarlierRuns load_history(const Communicator& ranks, const StreamPaths& paths, const StreamConfig& config, const Json& requested) {
    EarlierRuns earlier;
    Json found = Json::object();
    const auto error = attempt([&] {
        if (ranks.rank() != 0) return;
        History& history = earlier.history;
        earlier.made_directory = !path_exists(paths.parts());
        if (earlier.made_directory && config.mode != "replace") check_index_path(paths.dataset(), paths.name);
        make_directories(paths.parts());
        if (config.mode != "replace") {
            history = read_history(paths.journal());
            for (const std::string& entry : pending_paths(paths.directory, paths.name)) remove_tree(entry);
        }
        found["storage"] = storage_json(choose_storage(paths.directory, config, requested, history), config);
        found["next_step"] = history.next_step();
        const bool grows = config.layout.part_is_dataset() && history.next_step() > 0;
        if (grows && history.groups.back().layout.part_is_dataset()) {
            found["blocks"] = blocks_line(history.growth);
            found["has_static"] = history.groups.front().has_static;
        }
    });
    found = Json::parse(agree_on_text(ranks, OpenVote{}, error, [&] { return found.dump(); }));
    earlier.next_step = found.at("next_step");
    earlier.storage = storage_of(found.at("storage"));
    if (!found.contains("blocks")) return earlier;
    earlier.part.has_static = found.at("has_static");
    History of_part;
    of_part.apply(found.at("blocks"));
    earlier.part.growth = of_part.growth;
    return earlier;
}

void check_or_replace_history(const History& history, const Definitions& definitions, const StreamPaths& paths,
                              const StreamConfig& config, bool made_directory) {
    if (config.mode != "replace") return check_history(history, definitions, paths, config);
    for (const std::string& entry : index_paths(paths.directory, paths.name)) remove_file(entry);
    if (made_directory) return;
    remove_tree(paths.parts());
    make_directories(paths.parts());
}

}  // namespace tailrace
