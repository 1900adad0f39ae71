// Measures many ways of writing the same arrays in one MPI job; those that make the same number of files take turns. Prints a JSON
// line for each timing.
//
//   mpirun -n 2 bench_write --case large --steps 2 --directory D --durable 0 --entries raw_fpp:4MiB,hdf5_fpp:packed
//                           --seconds 30 --least 3 --most 20
//   ... --race 2 --weak 1.25 --seldom E after two repetitions these stop: entries named E, slower settings of raw methods, and
//                                       peers that took 1.25 times as long as the fastest with as many files
//   ... --before 12                     after twelve earlier repetitions, whose orders were different
//   ... --deflate 1                     the arrays are shuffled and deflated at that level, in chunks of 1 MiB
//   ... --least 0 --most 0 --keep 1     writes every entry's files once, and leaves them
//   bench_write --list 1                the entries with their settings
#include "harness/held_memory.hpp"
#include "harness/page_cache.hpp"
#include "harness/schedule.hpp"
#include "harness/values.hpp"
#include "method.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>

namespace bench {
namespace {

// Removes a folder and syncs its file system, so that this time is not measured. Files are removed in `pieces` of about the same
// size; after each, `freed` is called on all ranks with its number.
void remove_folder(const std::string &folder, const std::string &parent, MPI_Comm comm, int rank, int pieces,
                   const std::function<void(int)> &freed) {
    std::vector<std::filesystem::directory_entry> files;
    uint64_t bytes = 0, removed = 0;
    if (rank == 0)
        for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
            if (entry.is_regular_file()) files.push_back(entry), bytes += entry.file_size();
    std::sort(files.begin(), files.end());
    auto next = files.begin();
    for (int piece = 0; piece < pieces; ++piece) {
        const auto until = bytes * static_cast<uint64_t>(piece + 1) / static_cast<uint64_t>(pieces);
        for (; next != files.end() && removed < until; ++next) {
            removed += next->file_size();
            std::filesystem::remove(next->path());
        }
        meet(comm);
        freed(piece);
    }
    if (rank == 0) {
        std::filesystem::remove_all(folder);
        const int fd = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || syncfs(fd) != 0) fail("cannot open and sync " + parent);
        close(fd);
    }
    meet(comm);
}

// Makes a large allocation before the next measurement: reading back frees memory in small pieces, and the first large allocation
// after it takes the time to join them.
void settle_heap() {
    volatile auto *piece = static_cast<char *>(std::malloc(64 << 10));
    std::free(const_cast<char *>(piece));
}

uint64_t bytes_of_files(const std::string &folder) {
    uint64_t bytes = 0;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) bytes += entry.file_size();
    return bytes;
}

// Seconds of each call: begin, the steps, end.
std::vector<double> time_method(Method &method, const Run &run, int steps, HeldMemory &held) {
    Clock clock(run.work->comm);
    clock.time([&] { method.begin(run); });
    for (int step = 0; step < steps; ++step) {
        held.before_step(step);
        clock.time([&] { method.write(step); });
        held.after_step();
    }
    clock.time([&] { method.end(); });
    return clock.seconds();
}

// Every rank reads what its neighbour wrote, all steps and variables, and compares every element with the formula.
void check_bytes(Method &method, const Workload &work, int steps, const std::string &entry, std::byte *block) {
    meet(work.comm);
    const int of_rank = (work.rank + 1) % work.ranks;
    const Case &shape = work.shape;
    for (int step = 0; step < steps; ++step)
        for (int v = 0; v < shape.variables; ++v) {
            const std::string path = method.read(step, v, of_rank, block);
            uint64_t index = 0;
            const uint64_t wrong = count_mismatches(block, shape.element_bytes, v, step, work.first_index(of_rank),
                                                    shape.block_elements(), &index, shape.pattern);
            if (wrong != 0)
                fail(entry + ": " + std::to_string(wrong) + " wrong elements in " + path + ", variable " + variable_name(v) +
                     ", step " + std::to_string(step) + ", first at global index " + std::to_string(index));
        }
    method.end_reading();
    meet(work.comm);
}

constexpr uint64_t kSpareOfOwn = 64 << 20;  // 4 ranks, disk: with 128 MiB the host took memory during a run twice as often

struct Bench {
    Workload work;
    Entries entries;
    std::vector<std::unique_ptr<Method>> methods;
    std::string directory;
    bool durable;
    bool keep;       // the files stay, for another bench to read
    int deflate;     // level; 0: nothing is compressed
    bool only_once;  // only repetition 0 is made, and it is timed
    Buffer block;
    PageSize pages = PageSize::kSmall;
    std::unique_ptr<HeldMemory> held;
    HostTaking host;
    std::unique_ptr<Method> warmer = select(all_entries(), "raw_fpp:16MiB").front().make();
    std::vector<double> least_s;  // of each entry

    Bench(const Options &options, Entries chosen, bool with_global)
        : work(find_case(options.text("case"), options.number("steps")), MPI_COMM_WORLD, with_global), entries(std::move(chosen)),
          directory(options.text("directory")), durable(options.number("durable") != 0), keep(options.values.contains("keep")),
          deflate(options.number("deflate", 0)), only_once(options.number("most") == 0), block(work.shape.block_bytes()),
          least_s(entries.size(), std::numeric_limits<double>::infinity()) {
        for (const Entry &entry : entries) methods.push_back(entry.make());
        if (work.rank == 0) std::filesystem::create_directories(directory);
        meet(work.comm);
        pages = page_size_of(directory);
    }

    // For methods with such files. A rank that writes its own file gets the warm memory that it freed itself.
    void hold_memory(const std::string &files) {
        const uint64_t mine = work.shape.rank_bytes(), all = mine * static_cast<uint64_t>(work.ranks);
        const uint64_t spare = files == "rank" ? std::min(mine, kSpareOfOwn) : work.rank == 0 ? all : mine;
        held.reset();  // before the next is made: memory has no room for both
        held = std::make_unique<HeldMemory>(work.shape.steps, mine, spare, pages);
    }

    struct Timing {
        std::vector<double> calls_s;
        double check_s, removal_s, memory_s;
        uint64_t stored;  // bytes of the files, on rank 0
    };

    // Writes the first `steps` steps, checks every byte, removes the files, and holds the memory again.
    Timing write_once(Method &method, const std::string &name, int steps) {
        const std::string folder = folder_of(directory, name);
        if (work.rank == 0) {
            std::filesystem::remove_all(folder);  // left by a run that was ended
            std::filesystem::create_directories(folder);
        }
        Timing timing{};
        timing.calls_s = time_method(method, {&work, folder, durable, deflate}, steps, *held);
        const double t0 = MPI_Wtime();
        check_bytes(method, work, steps, name, block.data());
        const double t1 = MPI_Wtime();
        timing.stored = work.rank == 0 ? bytes_of_files(folder) : 0;
        if (!keep)
            remove_folder(folder, directory, work.comm, work.rank, steps, [&](int step) { held->take_of(step); });
        else if (work.rank == 0)
            drop_pages(folder);  // so reading back is the same for all methods
        const double t2 = MPI_Wtime();
        held->take();
        settle_heap();
        timing.check_s = t1 - t0, timing.removal_s = t2 - t1, timing.memory_s = MPI_Wtime() - t2;
        return timing;
    }

    void measure(size_t which, int repetition) {
        const std::string name = entries[which].name();
        const int steps = repetition == 0 && !only_once ? 1 : work.shape.steps;  // one step is enough for a warm-up
        const Timing timing = write_once(*methods[which], name, steps);
        const double seconds = std::accumulate(timing.calls_s.begin(), timing.calls_s.end(), 0.0);
        if (repetition > 0) least_s[which] = std::min(least_s[which], seconds);
        if (!keep && pages == PageSize::kLarge) warm_up();
        if (work.rank != 0) return;
        const uint64_t bytes = work.shape.rank_bytes() * static_cast<uint64_t>(work.ranks * steps);
        std::cout << Json{{"entry", name},
                          {"repetition", repetition},
                          {"calls_s", timing.calls_s},
                          {"seconds", seconds},
                          {"bytes", bytes},
                          {"checked_bytes", bytes},
                          {"stored", timing.stored},
                          {"check_s", timing.check_s},
                          {"removal_s", timing.removal_s},
                          {"memory_s", timing.memory_s}}
                  << std::endl;
    }

    // The first write after the host took memory waits to get it back: 256 MiB took up to three times as long. So an unmeasured
    // write comes first. Only once, because the host may take memory again meanwhile. Single pages come from the processor's lists
    // anyway.
    void warm_up() {
        int taken = work.rank == 0 && host.has_taken() ? 1 : 0;
        MPI_Bcast(&taken, 1, MPI_INT, 0, work.comm);
        if (taken == 0) return;
        write_once(*warmer, "warm-up", work.shape.steps);
        host.has_taken();
    }

    // All ranks have the same clock, so all get the same result.
    std::vector<size_t> survivors(const std::vector<size_t> &going, const std::string &seldom, double weak) const {
        std::map<std::string, double> fastest;  // by raw method, and by the peers' number of files
        const auto rivals = [&](const Entry &entry) { return entry.family() == "raw" ? entry.method : "files: " + entry.files; };
        for (const size_t e : going) {
            if (entries[e].family() == "tailrace") continue;
            double &best = fastest.try_emplace(rivals(entries[e]), least_s[e]).first->second;
            best = std::min(best, least_s[e]);
        }
        std::vector<size_t> result;
        for (const size_t e : going) {
            const Entry &entry = entries[e];
            const bool goes_on = entry.family() == "tailrace" ? !names(seldom, entry.name())
                                 : entry.family() == "raw"    ? least_s[e] == fastest.at(rivals(entry))
                                                              : least_s[e] < weak * fastest.at(rivals(entry));
            if (goes_on) result.push_back(e);
        }
        return result;
    }
};

std::vector<std::vector<size_t>> groups_of(const Entries &entries) {
    std::map<std::string, std::vector<size_t>> of_files;
    for (size_t e = 0; e < entries.size(); ++e) of_files[entries[e].files].push_back(e);
    std::vector<std::vector<size_t>> groups;
    for (auto &[files, group] : of_files) groups.push_back(std::move(group));
    return groups;
}

void run(const Options &options) {
    if (options.values.contains("list")) return list_entries(all_entries());
    const double started = MPI_Wtime();
    Entries entries = select(all_entries(), options.text("entries"));
    const bool lone = std::any_of(entries.begin(), entries.end(),
                                  [](const Entry &e) { return e.method == "raw_single" || e.method.starts_with("raw_split"); });
    Bench bench(options, std::move(entries), lone);
    Race race;
    if (options.values.contains("race")) {
        race.repetitions = options.number("race");
        race.survivors = [&](const std::vector<size_t> &going) {
            return bench.survivors(going, options.text("seldom"), std::stod(options.text("weak")));
        };
    }
    // Entries with the same number of files form a group, and groups run one after the other. Only entries of a group are compared,
    // and a method leaves free memory or a busy device only to its rivals.
    Pace pace = pace_of(options, started);
    const double end = pace.until;
    auto groups = groups_of(bench.entries);
    for (size_t g = 0; g < groups.size(); ++g) {
        size_t left = 0;
        for (size_t later = g; later < groups.size(); ++later) left += groups[later].size();
        const double now = MPI_Wtime();
        pace.until = now + (end - now) * static_cast<double>(groups[g].size()) / static_cast<double>(left);
        bench.hold_memory(bench.entries[groups[g].front()].files);
        repeat(pace, groups[g], [&](size_t which, int repetition) { bench.measure(which, repetition); }, MPI_COMM_WORLD, race);
    }
    bench.methods.clear();
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench.work.rank == 0 && !bench.keep) std::filesystem::remove_all(bench.directory);
}

}  // namespace
}  // namespace bench

int main(int argc, char **argv) { return bench::run_program(argc, argv, bench::run); }
