#include "maintain/rewind.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "record/history.hpp"
#include "record/write_access.hpp"
#include "stream/dataset_steps.hpp"
#include "stream/group_copy.hpp"
#include "stream/leaving_steps.hpp"
#include "stream/step_times.hpp"
#include "stream/stream_paths.hpp"
#include "view/arrived_steps.hpp"
#include "view/catalog.hpp"
#include "view/part_versions.hpp"

namespace tailrace {
namespace {

// The steps of the stream, then those that are staged and not at their target.
std::vector<std::pair<uint64_t, double>> all_steps(const History& history) {
    std::vector<std::pair<uint64_t, double>> all;
    for (const StepEntry& step : history.steps) all.emplace_back(step.step, step.time);
    for (const StagedStep& step : history.staged) all.emplace_back(step.step, step.time);
    return all;
}

// The number of steps that are kept.
size_t kept_steps(const std::vector<std::pair<uint64_t, double>>& steps, const std::string& stream, const RewindTo& to) {
    if (to.before.has_value() == to.steps.has_value())
        fail(Status::BAD_ARGUMENT, "stream '", stream,
             "': give either a time, to drop the steps at or after it, or how many of the last steps to drop");
    if (to.before) {
        std::vector<double> times;
        for (const auto& [step, time] : steps) times.push_back(time);
        return steps_before(times, *to.before);
    }
    if (*to.steps > steps.size())
        fail(Status::BAD_ARGUMENT, "stream '", stream, "' has ", steps.size(), " steps, so the last ", *to.steps,
             " cannot leave; give at most ", steps.size());
    return steps.size() - *to.steps;
}

}  // namespace

Json rewind_stream(const std::string& directory, const std::string& stream, const RewindTo& to, bool takes_over) {
    require_stream(directory, stream);
    WriteAccess access(directory, stream, {.takes_over = takes_over});
    const StreamPaths paths{directory, stream, access.number(), access.part_number()};
    History history = access.take_history();
    check_unchanged(directory, stream, history);
    if (access.is_contested()) {
        copy_dataset(history, paths, true, access);
        copy_outdated_group(history, paths, true, access);
    } else {
        bring_up_last_groups(directory, stream, history);
    }
    const auto append = [&](const Json& line) { access.append(line, true); };
    commit_arrived_steps(directory, stream, history, !access.is_contested(), append);
    const std::vector<std::pair<uint64_t, double>> steps = all_steps(history);
    Json dropped = Json::array(), times = Json::array();
    for (size_t i = kept_steps(steps, stream, to); i < steps.size(); ++i) {
        dropped.push_back(steps[i].first);
        times.push_back(steps[i].second);
    }
    std::vector<std::string> removed;
    if (!dropped.empty()) removed = leave_steps(paths, history, dropped.front(), kDropRewind, append);
    access.end();
    return {{"stream", stream}, {"steps", history.steps.size()}, {"dropped", dropped}, {"times", times}, {"removed", removed}};
}

}  // namespace tailrace
