#include "maintain/combine_log.hpp"

#include <chrono>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/journal.hpp"
#include "base/shell_word.hpp"
#include "gather/agree.hpp"

namespace tailrace {
namespace {

// The kernel's boot id; empty if it cannot be read. Bytes that were written without fsync survive a killed process, but no crash of
// the machine. So a line without `synced` is valid only until the machine boots again.
std::string boot_id() {
    std::string id(36, '\0');
    const auto error = attempt([&] { File::open_read("/proc/sys/kernel/random/boot_id").read_at(0, id.data(), id.size()); });
    return error ? "" : id;
}

// The chunks of steps [first, last) of each array: addresses and sizes in turns.
Json chunks_json(const CombinePlan& plan, const ChunkPlaces& chunks, uint64_t first, uint64_t last) {
    Json json = Json::array();
    for (size_t a = 0; a < chunks.size(); ++a) {
        std::vector<uint64_t> numbers;
        const uint64_t per_step = plan.chunks_of_step(a);
        for (uint64_t c = first * per_step; c < last * per_step; ++c)
            numbers.insert(numbers.end(), {chunks[a][c].address, chunks[a][c].bytes});
        json.push_back(numbers);
    }
    return json;
}

}  // namespace

CombineLog::CombineLog(const std::string& output) : path_(output + ".combining.jsonl"), lock_(File::open_append(path_)) {
    // Tries for a moment: the child of a killed combine ends after it, and holds the lock until then.
    constexpr auto kPause = std::chrono::milliseconds(20);
    constexpr int kMostTimes = 100;
    for (int times = 0; !lock_.try_lock(); ++times) {
        if (times < kMostTimes) {
            std::this_thread::sleep_for(kPause);
            continue;
        }
        fail(Status::BAD_ORDER, "another process is combining to ", output, "; let it end, or choose another output");
    }
}

std::optional<CombineProgress> CombineLog::read(const std::string& identity, const CombinePlan& plan) {
    const std::vector<Json> lines = read_journal(path_).lines;
    const auto is = [](const Json& line, const char* key, const Json& value) {
        return line.contains(key) && line.at(key) == value;
    };
    if (lines.empty() || !is(lines.front(), "combining", identity)) return std::nullopt;
    const std::string boot = boot_id();
    size_t last = 0;
    for (size_t i = 0; i < lines.size(); ++i)
        if (is(lines[i], "synced", true) || (!boot.empty() && is(lines[i], "boot", boot))) last = i;
    CombineProgress progress{0, plan.end(), ChunkPlaces(plan.output.arrays.size())};
    try {
        for (size_t i = 1; i <= last; ++i) apply(lines[i], plan, progress);
    } catch (const Json::exception& error) {
        refuse(error.what());
    }
    return progress;
}

void CombineLog::refuse(const std::string& why) const {
    fail(Status::CORRUPT, path_, ": ", why, ", so the combine cannot continue; run `rm ", shell_word(path_), "` and combine again");
}

void CombineLog::apply(const Json& line, const CombinePlan& plan, CombineProgress& progress) {
    const uint64_t from = count_at(line, "from", logged_steps_), done = count_at(line, "steps_done");
    if (from > done || done > plan.steps.steps) refuse(text("it has steps ", from, " to ", done, " of ", plan.steps.steps));
    progress.steps = logged_steps_ = done;
    if (!plan.is_compressed()) return;
    progress.end = count_at(line, "end");
    for (size_t a = 0; a < progress.chunks.size(); ++a) {
        std::vector<Extent>& chunks = progress.chunks[a];
        // Each line says from which step on it continues, because a crash of the machine may make lines between valid ones void.
        const uint64_t before = from * plan.chunks_of_step(a);
        if (chunks.size() < before) refuse(text("lines before step ", from, " are missing"));
        chunks.resize(before);
        const std::vector<uint64_t> numbers = counts_of(line.at("chunks").at(a), "the places of chunks");
        if (numbers.size() != 2 * (done - from) * plan.chunks_of_step(a))
            refuse(text(numbers.size() / 2, " chunks of steps ", from, " to ", done));
        for (size_t i = 0; i + 1 < numbers.size(); i += 2) chunks.push_back({numbers[i], numbers[i + 1]});
    }
}

void CombineLog::begin(const std::string& identity, const std::string& stream, uint64_t steps) const {
    Journal(path_).append({{"combining", identity}, {"stream", stream}, {"steps", steps}}, false);
}

void CombineLog::append(const CombinePlan& plan, uint64_t steps, uint64_t end, const ChunkPlaces& chunks, bool synced) {
    Json line = {{"steps_done", steps}, {"synced", synced}, {"boot", boot_id()}};
    if (plan.is_compressed()) {
        line["end"] = end;
        line["from"] = logged_steps_;
        line["chunks"] = chunks_json(plan, chunks, logged_steps_, steps);
    }
    logged_steps_ = steps;
    Journal(path_).append(line, synced);
}

}  // namespace tailrace
