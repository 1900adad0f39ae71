#include "maintain/rewind.hpp"

#include <vector>

#include "base/error.hpp"
#include "record/history.hpp"
#include "record/write_access.hpp"
#include "stream/dataset_steps.hpp"
#include "stream/leaving_steps.hpp"
#include "stream/step_times.hpp"
#include "stream/stream_paths.hpp"
#include "view/catalog.hpp"
#include "view/part_versions.hpp"

namespace tailrace {
namespace {

// The number of steps that are kept.
size_t kept_steps(const History& history, const std::string& stream, const RewindTo& to) {
    if (to.before.has_value() == to.steps.has_value())
        fail(Status::BAD_ARGUMENT, "stream '", stream,
             "': give either a time, to drop the steps at or after it, or how many of the last steps to drop");
    if (to.before) return steps_before(history.times(), *to.before);
    if (*to.steps > history.steps.size())
        fail(Status::BAD_ARGUMENT, "stream '", stream, "' has ", history.steps.size(), " steps, so the last ", *to.steps,
             " cannot leave; give at most ", history.steps.size());
    return history.steps.size() - *to.steps;
}

}  // namespace

Json rewind_stream(const std::string& directory, const std::string& stream, const RewindTo& to, bool takes_over) {
    require_stream(directory, stream);
    WriteAccess access(directory, stream, {.takes_over = takes_over});
    const StreamPaths paths{directory, stream, access.number(), access.part_number()};
    History history = access.take_history();
    check_unchanged(directory, stream, history);
    access.is_contested() ? copy_dataset(history, paths, true, access) : bring_up_last_groups(directory, stream, history);
    const size_t kept = kept_steps(history, stream, to);
    Json dropped = Json::array(), times = Json::array();
    for (size_t i = kept; i < history.steps.size(); ++i) {
        dropped.push_back(history.steps[i].step);
        times.push_back(history.steps[i].time);
    }
    std::vector<std::string> removed;
    const auto append = [&](const Json& line) { access.append(line, true); };
    if (!dropped.empty()) removed = leave_steps(paths, history, dropped.front(), kDropRewind, append);
    access.end();
    return {{"stream", stream}, {"steps", history.steps.size()}, {"dropped", dropped}, {"times", times}, {"removed", removed}};
}

}  // namespace tailrace
