// Measures many ways of writing the same arrays, interleaved in one MPI job; JSON lines on standard output, one for each timing.
//
//   mpirun -n 2 bench_write --case large --steps 2 --directory D --durable 0 --entries raw_fpp:4MiB,hdf5_fpp:packed
//                           --seconds 30 --least 3 --most 20
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
#include <numeric>

namespace bench {
namespace {

// Removes a folder and waits until its file system has settled, so that the cost of it falls on no one's clock.
void remove_folder(const std::string &folder, const std::string &parent, MPI_Comm comm, int rank) {
    if (rank == 0) {
        std::filesystem::remove_all(folder);
        const int fd = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || syncfs(fd) != 0) fail("cannot open and sync " + parent);
        close(fd);
    }
    meet(comm);
}

// What reading back has freed in small pieces is put together by the next large request, whoever makes it: here.
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
std::vector<double> time_method(Method &method, const Run &run, HeldMemory &held) {
    Clock clock(run.work->comm);
    clock.time([&] { method.begin(run); });
    for (int step = 0; step < run.work->shape.steps; ++step) {
        held.free(step);
        clock.time([&] { method.write(step); });
    }
    clock.time([&] { method.end(); });
    return clock.seconds();
}

// Every rank reads what its neighbour wrote, all steps and variables, and compares every element with the formula.
void check_bytes(Method &method, const Workload &work, const std::string &entry, std::byte *block) {
    meet(work.comm);
    const int of_rank = (work.rank + 1) % work.ranks;
    const Case &shape = work.shape;
    for (int step = 0; step < shape.steps; ++step)
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

struct Bench {
    Workload work;
    Entries entries;
    std::vector<std::unique_ptr<Method>> methods;
    std::string directory;
    bool durable;
    bool keep;    // the files stay, for another bench to read
    int deflate;  // level; 0: nothing is compressed
    Buffer block;
    HeldMemory held;

    Bench(const Options &options, Entries chosen, bool with_global)
        : work(find_case(options.text("case"), options.number("steps")), MPI_COMM_WORLD, with_global), entries(std::move(chosen)),
          directory(options.text("directory")), durable(options.number("durable") != 0), keep(options.values.contains("keep")),
          deflate(options.values.contains("deflate") ? options.number("deflate") : 0), block(work.shape.block_bytes()),
          // A lone writer takes what all ranks write; what another rank gives back may stay with that rank's core.
          held(work.shape.steps, work.shape.rank_bytes() * static_cast<uint64_t>(work.rank == 0 ? work.ranks : 1)) {
        for (const Entry &entry : entries) methods.push_back(entry.make());
    }

    void measure(size_t which, int repetition) {
        const std::string name = entries[which].name();
        const std::string folder = folder_of(directory, name);
        if (work.rank == 0) std::filesystem::create_directories(folder);
        const std::vector<double> seconds = time_method(*methods[which], {&work, folder, durable, deflate}, held);
        const double t0 = MPI_Wtime();
        check_bytes(*methods[which], work, name, block.data());
        const double t1 = MPI_Wtime();
        const uint64_t stored = work.rank == 0 ? bytes_of_files(folder) : 0;
        if (!keep)
            remove_folder(folder, directory, work.comm, work.rank);
        else if (work.rank == 0)
            drop_pages(folder);  // they come back in the same way, whoever wrote them
        held.take();
        settle_heap();
        if (work.rank != 0) return;
        const uint64_t bytes = work.shape.rank_bytes() * static_cast<uint64_t>(work.ranks * work.shape.steps);
        std::cout << Json{{"entry", name},
                          {"repetition", repetition},
                          {"calls_s", seconds},
                          {"seconds", std::accumulate(seconds.begin(), seconds.end(), 0.0)},
                          {"bytes", bytes},
                          {"checked_bytes", bytes},
                          {"stored", stored},
                          {"check_s", t1 - t0},
                          {"removal_s", MPI_Wtime() - t1}}
                  << std::endl;
    }
};

void run(const Options &options) {
    if (options.values.contains("list")) return list_entries(all_entries());
    const double started = MPI_Wtime();
    Entries entries = select(all_entries(), options.text("entries"));
    const bool lone = std::any_of(entries.begin(), entries.end(),
                                  [](const Entry &e) { return e.method == "raw_single" || e.method == "raw_split"; });
    Bench bench(options, std::move(entries), lone);
    repeat(options, started, bench.entries.size(), [&](size_t which, int repetition) { bench.measure(which, repetition); });
    bench.methods.clear();
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench.work.rank == 0 && !bench.keep) std::filesystem::remove_all(bench.directory);
}

}  // namespace
}  // namespace bench

int main(int argc, char **argv) { return bench::run_program(argc, argv, bench::run); }
