#include "stream/earlier_runs.hpp"

#include <algorithm>
#include <utility>

#include "base/paths.hpp"
#include "base/shell_word.hpp"
#include "gather/agree.hpp"
#include "layout/value.hpp"
#include "stream/continuation.hpp"
#include "stream/dataset_steps.hpp"
#include "stream/group.hpp"
#include "stream/group_copy.hpp"
#include "view/arrived_steps.hpp"
#include "view/index.hpp"
#include "view/part_versions.hpp"

namespace tailrace {
namespace {

// Removes the groups of runs before number `run`. Groups of a run that has taken over meanwhile stay: its number is higher.
void remove_groups(const std::string& directory, uint64_t run) {
    const auto is_digit = [](unsigned char c) { return c >= '0' && c <= '9'; };
    for (const std::string& entry : list_directory(directory)) {
        const std::string path = directory + "/" + entry;
        const bool is_of_tree = entry == "+" || (entry.size() == 3 && std::ranges::all_of(entry, is_digit));
        if (is_of_tree) {
            remove_groups(path, run);
            remove_directory_if_empty(path);
        } else if (is_digit(static_cast<unsigned char>(entry.front())) && segment_of_group(entry) < std::max<uint64_t>(run, 1)) {
            remove_tree(path);
        }
    }
}

// A run that appends behind steps which are not there would leave a hole in time, which no reader would notice.
void check_all_have_arrived(const StreamPaths& paths, const History& history) {
    if (history.staged.empty()) return;
    fail(Status::NOT_FOUND, "stream '", paths.name, "' in ", paths.directory, ": ",
         text_of_staged(paths.directory, paths.name, history, true),
         ". To continue without them, open with mode = 'resume' and a time up to ", real_text(history.staged.front().time),
         ", or take them out first: `tailrace rewind ", shell_word(paths.directory), " -s ", shell_word(paths.name), " --steps ",
         history.staged.size(), "`");
}

void replace_history(const StreamPaths& paths, WriteAccess& access) {
    // The first line of the new segment makes all earlier lines invalid. Remove files only after that.
    access.segment_of_new_stream().check_is_last();
    remove_index(paths.directory, paths.name);
    remove_groups(paths.parts(), access.number());
    for (const std::string& entry : list_directory(paths.parts()))
        if (entry.starts_with("torn-")) remove_tree(paths.parts() + "/" + entry);
}

}  // namespace

EarlierRuns load_history(const Communicator& ranks, StreamPaths& paths, const StreamConfig& config, const Json& requested) {
    EarlierRuns earlier;
    Json found = Json::object();
    const auto error = attempt([&] {
        if (ranks.rank() != 0) return;
        History& history = earlier.history;
        const bool replaces = config.mode == "replace";
        if (!replaces) check_index_path(paths.directory, paths.name);
        make_directories(paths.parts(), "", config.layout.storage.durability != Durability::none);
        earlier.access = std::make_shared<WriteAccess>(
            paths.directory, paths.name,
            WriteAccess::Wish{config.takes_over, replaces ? WriteAccess::Earlier::is_replaced : WriteAccess::Earlier::counts,
                              ranks.nodes()});
        const WriteAccess& access = *earlier.access;
        if (!replaces) history = earlier.access->take_history();
        check_unchanged(paths.directory, paths.name, history);
        if (!access.is_contested()) {
            for (const std::string& entry : pending_paths(paths.directory, paths.name, access.number())) remove_tree(entry);
            bring_up_last_groups(paths.directory, paths.name, history);
        } else if (!replaces) {
            copy_outdated_group(history, {paths.directory, paths.name, access.number(), access.part_number()},
                                config.layout.storage.durability != Durability::none, *earlier.access);
        }
        commit_arrived_steps(paths.directory, paths.name, history, !access.is_contested(),
                             [&](const Json& line) { earlier.access->append(line, true); });
        if (config.mode == "append") check_all_have_arrived(paths, history);
        StorageChoice storage = choose_storage(paths.directory, config, requested, history);
        if (!access.lock().note().empty()) storage.report["notes"].push_back(access.lock().note());
        found["storage"] = storage_json(storage, config);
        const EarlierSteps steps = earlier_steps(history, config);
        found["steps"] = earlier_steps_json(steps);
        found["run"] = access.number();
        found["segment"] = access.part_number();
        const bool grows = config.layout.part_is_dataset() && steps.next_step() > 0;
        if (grows && history.groups.back().layout.part_is_dataset()) {
            check_has_places(history.growth, history.groups.back().steps);
            found["blocks"] = blocks_line(history.growth);
            found["has_static"] = history.groups.back().has_static;
            found["dataset_segment"] = access.is_contested() ? access.part_number() : history.groups.back().segment;
        }
    });
    found = Json::parse(agree_on_text(ranks, OpenVote{}, error, [&] { return found.dump(); }));
    earlier.steps = earlier_steps_of(found.at("steps"));
    earlier.storage = storage_of(found.at("storage"));
    paths.run = found.at("run");
    paths.segment = found.at("segment");
    if (!found.contains("blocks")) return earlier;
    earlier.part.has_static = found.at("has_static");
    earlier.part.segment = found.at("dataset_segment");
    History of_part;
    of_part.apply(found.at("blocks"));
    earlier.part.growth = of_part.growth;
    return earlier;
}

void begin_run_after(History& history, const EarlierSteps& steps, const Definitions& definitions, const StepData& data,
                     const StreamPaths& paths, const StreamConfig& config, WriteAccess& access) {
    if (config.mode == "replace") return replace_history(paths, access);
    if (steps.some_leave() && history.has_step_from(steps.first_leaving())) {
        History kept = history;
        kept.drop_from(steps.first_leaving());
        check_continuation(kept, definitions, data, paths, config);
    } else {
        check_continuation(history, definitions, data, paths, config);
    }
    access.segment();
    const bool continues_dataset = config.layout.part_is_dataset() && !history.empty();
    if (continues_dataset && access.is_contested())
        copy_dataset(history, paths, config.layout.storage.durability != Durability::none, access);
}

}  // namespace tailrace
