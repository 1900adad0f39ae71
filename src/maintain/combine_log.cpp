#include "maintain/combine_log.hpp"

#include <vector>

#include "base/error.hpp"
#include "base/journal.hpp"
#include "gather/agree.hpp"

namespace tailrace {
namespace {

// Of the running system; empty where it cannot be read. Bytes that were written without fsync survive a killed process, but no
// crash of the machine. So a line without `synced` counts only while the same system runs.
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
    if (!lock_.try_lock())
        fail(Status::BAD_ORDER, "another process is combining to ", output, "; let it end, or choose another output");
}

std::optional<CombineProgress> CombineLog::read(const std::string& identity, const CombinePlan& plan) {
    const std::vector<Json> lines = read_journal(path_).lines;
    if (lines.empty() || lines.front().value("combining", "") != identity) return std::nullopt;
    const std::string boot = boot_id();
    size_t last = 0;
    for (size_t i = 0; i < lines.size(); ++i)
        if (lines[i].value("synced", false) || (!boot.empty() && lines[i].value("boot", "") == boot)) last = i;
    CombineProgress progress{0, plan.end(), ChunkPlaces(plan.output.arrays.size())};
    for (size_t i = 1; i <= last; ++i) apply(lines[i], plan, progress);
    return progress;
}

void CombineLog::apply(const Json& line, const CombinePlan& plan, CombineProgress& progress) {
    const uint64_t from = line.value("from", logged_steps_);
    progress.steps = logged_steps_ = line.at("steps_done").get<uint64_t>();
    if (!line.contains("chunks")) return;  // nothing is compressed
    progress.end = line.at("end").get<uint64_t>();
    for (size_t a = 0; a < progress.chunks.size(); ++a) {
        std::vector<Extent>& chunks = progress.chunks[a];
        // Lines that a crash of the machine made void may stand between those that count. So each says where it continues.
        const uint64_t before = from * plan.chunks_of_step(a);
        if (chunks.size() < before)
            fail(Status::CORRUPT, path_, ": lines before step ", from, " are missing, so the combine cannot continue; run `rm '",
                 path_, "'` and combine again");
        chunks.resize(before);
        const auto numbers = line.at("chunks").at(a).get<std::vector<uint64_t>>();
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
