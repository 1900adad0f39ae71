// Measures many ways of reading arrays that other ranks wrote, interleaved in one MPI job. Prints a JSON line for each timing.
// `bench_write --keep 1` writes the files before.
//
//   mpirun -n 4 bench_restart --writers 2 --split rows --directory D --mode cached --entries tailrace_fpp:default,raw:4MiB
//                             --seconds 30 --least 3 --most 20
//   bench_restart --list 1     the entries with their settings
#include "harness/page_cache.hpp"
#include "harness/schedule.hpp"
#include "harness/values.hpp"
#include "method.hpp"

#include <cstring>

namespace bench {
namespace {

Restart make_restart(const Options &options) {
    Restart restart{MPI_COMM_WORLD, 0, find_case("large", 1), {}, {}, {}};
    int ranks = 0;
    MPI_Comm_rank(restart.comm, &restart.rank);
    MPI_Comm_size(restart.comm, &ranks);
    restart.global = restart.shape.global(options.number("writers"));
    restart.slab = slab_of(options.text("split"), restart.global, restart.rank, ranks);
    uint64_t elements = restart.slab.elements();
    MPI_Allreduce(MPI_IN_PLACE, &elements, 1, MPI_UINT64_T, MPI_SUM, restart.comm);
    if (elements != restart.global[0] * restart.global[1] * restart.global[2]) fail("the slabs do not make up the arrays");
    restart.memory = Buffer(restart.slab_bytes() * static_cast<uint64_t>(restart.shape.variables));
    return restart;
}

// Every rank compares every element that it read with the formula.
void check_values(const Restart &restart, const std::string &entry) {
    const auto element = static_cast<uint64_t>(restart.shape.element_bytes);
    for (int v = 0; v < restart.shape.variables; ++v) {
        uint64_t wrong = 0, first = 0;
        for_spans(restart.global, restart.slab, [&](uint64_t index, uint64_t before, uint64_t length) {
            uint64_t first_here = 0;
            const uint64_t here = count_mismatches(restart.of_variable(v) + before * element, restart.shape.element_bytes, v, 0,
                                                   index, length, &first_here);
            if (wrong == 0) first = first_here;
            wrong += here;
        });
        if (wrong != 0)
            fail(entry + ": " + std::to_string(wrong) + " wrong elements of variable " + variable_name(v) + " on rank " +
                 std::to_string(restart.rank) + ", first at global index " + std::to_string(first));
    }
    meet(restart.comm);
}

struct Bench {
    Restart restart;
    Entries entries;
    std::vector<std::unique_ptr<Method>> methods;
    std::string directory;
    bool cached;

    explicit Bench(const Options &options)
        : restart(make_restart(options)), entries(select(all_entries(), options.text("entries"))),
          directory(options.text("directory")), cached(options.text("mode") == "cached") {
        for (const Entry &entry : entries) methods.push_back(entry.make());
        for (const Entry &entry : entries)
            if (cached && restart.rank == 0) load_pages(folder_of(directory, entry.files));
        meet(restart.comm);
    }

    void measure(size_t which, int repetition) {
        const std::string name = entries[which].name();
        const std::string folder = folder_of(directory, entries[which].files);
        // Overwrite the memory, so that no method finds the values that the previous one has read.
        std::memset(restart.memory.data(), 0xff, restart.memory.size());
        if (!cached) drop_pages(folder);
        meet(restart.comm);
        const uint64_t left = !cached && restart.rank == 0 ? bytes_in_memory(folder) : 0;
        Clock clock(restart.comm);
        clock.time([&] { methods[which]->read(restart, folder); });
        const std::vector<double> seconds = clock.seconds();
        check_values(restart, name);
        if (restart.rank != 0) return;
        const uint64_t bytes = restart.global[0] * restart.global[1] * restart.global[2] *
                               static_cast<uint64_t>(restart.shape.element_bytes * restart.shape.variables);
        std::cout << Json{{"entry", name},  {"repetition", repetition}, {"calls_s", seconds},     {"seconds", seconds.front()},
                          {"bytes", bytes}, {"checked_bytes", bytes},   {"undropped_bytes", left}}
                  << std::endl;
    }
};

void run(const Options &options) {
    if (options.values.contains("list")) return list_entries(all_entries());
    const double started = MPI_Wtime();
    Bench bench(options);
    repeat(pace_of(options, started), all_of(bench.entries.size()),
           [&](size_t which, int repetition) { bench.measure(which, repetition); });
}

}  // namespace
}  // namespace bench

int main(int argc, char **argv) { return bench::run_program(argc, argv, bench::run); }
