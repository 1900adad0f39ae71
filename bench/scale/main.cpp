// The work of one rank, and of rank 0, in a job of many ranks, without communication. Prints a JSON line for each figure.
//
//   bench_scale plan RANKS SEED COUNT         a rank's own plan, under every layout: the first, the last and the middle rank, and
//                                             COUNT ranks and COUNT first ranks of nodes drawn by SEED
//   bench_scale manifest RANKS DIRECTORY      the journal's lines for a plan and for a step
//   bench_scale index RANKS DIRECTORY         the index of min(RANKS, 256) parts
//   bench_scale directories RANKS             the fullest directory, fpp and hds
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <random>
#include <set>
#include <stdexcept>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"
#include "cost.hpp"
#include "job.hpp"
#include "layout/parts.hpp"
#include "view/index.hpp"

namespace tailrace::bench {
namespace {

void print(const char* figure, const std::string& layout, uint64_t ranks, const Cost& cost, const Json& more) {
    Json row{
        {"figure", figure}, {"layout", layout}, {"ranks", ranks}, {"seconds", cost.seconds}, {"memory_bytes", cost.peak_bytes}};
    row.update(more);
    std::cout << row.dump() << std::endl;
}

std::set<uint64_t> sample(uint64_t ranks, uint64_t seed, uint64_t count) {
    std::mt19937_64 random(seed);
    std::set<uint64_t> chosen{0, ranks / 2, ranks - 1};
    for (uint64_t i = 0; i < count; ++i) {
        chosen.insert(random() % ranks);
        chosen.insert(random() % (ranks / kRanksOnNode) * kRanksOnNode);
    }
    return chosen;
}

void measure_plan(uint64_t ranks, uint64_t seed, uint64_t count) {
    for (const NamedLayout& layout : all_layouts(ranks)) {
        const Job job(layout.toml, ranks);
        for (const uint64_t rank : sample(ranks, seed, count)) {
            const RankPlan plan = plan_rank(job.request, rank);
            print("plan", layout.name, ranks, cost_of([&] { plan_rank(job.request, rank); }),
                  {{"rank", rank},
                   {"role", plan.writes.empty() ? "other" : "writer"},
                   {"sends", plan.sends.size()},
                   {"receives", plan.receives.size()},
                   {"writes", plan.writes.size()}});
        }
    }
}

void measure_manifest(uint64_t ranks, const std::string& directory) {
    constexpr int kSteps = 200;
    std::vector<NamedLayout> layouts = all_layouts(ranks);
    layouts.push_back(most_indexed_parts());
    for (const NamedLayout& layout : layouts) {
        const Job job(layout.toml, ranks);
        const std::string path = directory + "/" + layout.name + ".jsonl";
        const std::vector<std::vector<PartBox>> boxes = job.part_boxes();
        const History history = job.history({});
        Journal(path).append(run_line(history.runs.back()), false);
        if (!boxes.empty()) {
            const Cost cost = cost_of([&] { Journal(path).append_line(journal_line_of(plan_text(1, boxes)), false); });
            print("plan line", layout.name, ranks, cost,
                  {{"bytes", journal_line_of(plan_text(1, boxes)).size()}, {"boxes", boxes.front().size()}});
        }
        // The first step reads a plan's line, all others a step's.
        StepEntry step = history.steps.back();
        std::string line;
        std::vector<double> seconds;
        uint64_t most_bytes = 0;
        for (; step.step < kSteps; ++step.step) {
            const uint64_t before = heap_bytes();
            forget_peak();
            Stopwatch watch;
            line = journal_line_of(step_text(step, history.groups.back()));
            Journal(path).append_line(line, false);
            seconds.push_back(watch.lap());
            if (step.step > 0) most_bytes = std::max(most_bytes, peak_heap_bytes() - before);
        }
        std::nth_element(seconds.begin(), seconds.begin() + kSteps / 2, seconds.end());
        print("step line", layout.name, ranks, {seconds[kSteps / 2], most_bytes}, {{"bytes", line.size()}});
        remove_file(path);
    }
}

void measure_index(uint64_t ranks, const std::string& directory) {
    const NamedLayout layout = most_indexed_parts();
    const Job job(layout.toml, ranks);
    const History history = job.history(job.part_boxes());
    uint64_t sources = 0, most_boxes = 0;  // in the index; of a variable in a part
    for (const std::vector<PartBox>& boxes : history.plans.at(1)) {
        sources += boxes.size();
        for (const PartBox& box : boxes) most_boxes = std::max(most_boxes, box.block + 1);
    }
    make_directories(directory + "/" + parts_directory(kStream));  // where the index is written first
    const auto write = [&](const History& of) { write_index(directory, kStream, of, {}, false); };
    const Cost cost = cost_of([&] { write(history); });
    const std::string path = directory + "/" + dataset_path(kStream);
    const uint64_t bytes = File::open_read(path).size_bytes();
    print("index", layout.name, ranks, cost,
          {{"parts", job.parts().parts()}, {"sources", sources}, {"most_boxes", most_boxes}, {"bytes", bytes}});
    remove_file(path);
}

void measure_directories(uint64_t ranks) {
    for (const char* name : {"fpp", "hds"}) {
        const Job job(std::string("layout = '") + name + "'", ranks);
        const Summary summary = summarise(job.request);
        print("directories", name, ranks, {}, {{"directories", summary.directories}, {"entries", summary.most_directory_entries}});
    }
}

void measure(const std::vector<std::string>& words) {
    const std::string what = words.at(0);
    const uint64_t ranks = std::stoull(words.at(1));
    if (what == "plan")
        measure_plan(ranks, std::stoull(words.at(2)), std::stoull(words.at(3)));
    else if (what == "manifest")
        measure_manifest(ranks, words.at(2));
    else if (what == "index")
        measure_index(ranks, words.at(2));
    else if (what == "directories")
        measure_directories(ranks);
    else
        throw std::out_of_range(what);
}

}  // namespace
}  // namespace tailrace::bench

int main(int argc, char** argv) {
    try {
        tailrace::bench::measure({argv + 1, argv + argc});
        return 0;
    } catch (const std::logic_error&) {
        std::fprintf(stderr, "bench_scale: wrong arguments; the head of bench/scale/main.cpp lists them\n");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_scale: %s\n", error.what());
    }
    return 1;
}
