// Writes and reads one array of cells, as contiguous blocks and as cells that the ranks own at random, in turns:
//
//   bench_scattered DIRECTORY LAYOUT CELLS STEPS REPETITIONS
//
// Prints a JSON line for each run; repetition 0 warms up. Every value is checked after the clock has stopped.
#include <mpi.h>
#include <tailrace/tailrace.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

using tailrace::Block;

struct Run {
    std::string directory, layout;
    std::uint64_t cells = 0, steps = 0;
    int rank = 0, ranks = 1;
};

struct Owned {
    std::vector<std::uint64_t> indices;  // a contiguous range, or cells in no order
    bool is_range = false;
};

// Kilobytes of a line of /proc/self/status.
std::uint64_t memory_bytes(const std::string &line) {
    std::ifstream status("/proc/self/status");
    for (std::string text; std::getline(status, text);)
        if (text.rfind(line, 0) == 0) return std::strtoull(text.c_str() + line.size() + 1, nullptr, 10) * 1024;
    return 0;
}

// Resets the peak memory of the process (VmHWM in /proc/self/status).
void reset_peak() {
    std::ofstream("/proc/self/clear_refs") << "5\n";
    MPI_Barrier(MPI_COMM_WORLD);
}

std::uint64_t total(std::uint64_t mine) {
    std::uint64_t all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

double value_of(std::uint64_t index, std::uint64_t step) { return static_cast<double>(index) + 1e6 * static_cast<double>(step); }

void write(const Run &run, const Owned &owned) {
    tailrace::Stream stream(MPI_COMM_WORLD, run.directory, "cells", "layout = '" + run.layout + "'");
    stream.define_dim("cell", run.cells);
    const auto T = stream.define_var<double>("T", {"cell"});
    std::vector<double> values(owned.indices.size());
    for (std::uint64_t step = 0; step < run.steps; ++step) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of(owned.indices[i], step);
        stream.begin_step(static_cast<double>(step));
        if (owned.is_range)
            stream.put(T, Block<double>(values, {owned.indices.empty() ? 0 : owned.indices[0]}, {owned.indices.size()}));
        else
            stream.put_indices(T, "cell", owned.indices, values);
        stream.end_step();
    }
    stream.close();
}

// Of all steps.
std::vector<std::vector<double>> read(const Run &run, const Owned &owned) {
    std::vector<std::vector<double>> values(run.steps, std::vector<double>(owned.indices.size()));
    tailrace::Reader reader(MPI_COMM_WORLD, run.directory, "cells");
    for (std::uint64_t step = 0; step < run.steps; ++step) {
        reader.select(static_cast<std::int64_t>(step));
        if (owned.is_range)
            reader.get<double>("T", values[step], {owned.indices.empty() ? 0 : owned.indices[0]}, {owned.indices.size()});
        else
            reader.get_indices<double>("T", "cell", owned.indices, values[step]);
    }
    reader.close();
    return values;
}

std::uint64_t bytes_in(const std::string &directory) {
    std::uint64_t bytes = 0;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(directory))
        if (entry.is_regular_file()) bytes += entry.file_size();
    return bytes;
}

// Runs `work` on all ranks. Returns the seconds from the common start until all ranks have ended.
template <class Work>
double seconds(Work &&work) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    work();
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - began;
}

void measure(const Run &run, const Owned &owned, int repetition) {
    if (run.rank == 0) std::filesystem::remove_all(run.directory);
    reset_peak();
    const double write_s = seconds([&] { write(run, owned); });
    const std::uint64_t write_peak = total(memory_bytes("VmHWM:"));
    std::vector<std::vector<double>> values;
    reset_peak();
    const double read_s = seconds([&] { values = read(run, owned); });
    const std::uint64_t read_peak = total(memory_bytes("VmHWM:"));
    std::uint64_t wrong = 0;
    for (std::uint64_t step = 0; step < run.steps; ++step)
        for (std::size_t i = 0; i < owned.indices.size(); ++i) wrong += values[step][i] != value_of(owned.indices[i], step);
    if (total(wrong) > 0) {
        std::fprintf(stderr, "bench_scattered: rank %d read %llu wrong values\n", run.rank, static_cast<unsigned long long>(wrong));
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (run.rank != 0) return;
    std::printf(
        "{\"how\": \"%s\", \"layout\": \"%s\", \"cells\": %llu, \"ranks\": %d, \"repetition\": %d, \"write_s\": %.6f, "
        "\"read_s\": %.6f, \"stored_bytes\": %llu, \"write_peak_bytes\": %llu, \"read_peak_bytes\": %llu}\n",
        owned.is_range ? "blocks" : "lists", run.layout.c_str(), static_cast<unsigned long long>(run.cells), run.ranks, repetition,
        write_s, read_s, static_cast<unsigned long long>(bytes_in(run.directory)), static_cast<unsigned long long>(write_peak),
        static_cast<unsigned long long>(read_peak));
    std::fflush(stdout);
}

Owned range_of(const Run &run) {
    Owned owned{{}, true};
    const auto rank = static_cast<std::uint64_t>(run.rank), ranks = static_cast<std::uint64_t>(run.ranks);
    for (std::uint64_t i = run.cells * rank / ranks; i < run.cells * (rank + 1) / ranks; ++i) owned.indices.push_back(i);
    return owned;
}

Owned scattered(const Run &run) {
    Owned owned;
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i < run.cells; ++i)
        if (random() % static_cast<std::uint64_t>(run.ranks) == static_cast<std::uint64_t>(run.rank)) owned.indices.push_back(i);
    std::shuffle(owned.indices.begin(), owned.indices.end(), random);
    return owned;
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    Run run;
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    if (argc != 6) MPI_Abort(MPI_COMM_WORLD, 2);
    run.directory = argv[1];
    run.layout = argv[2];
    run.cells = std::strtoull(argv[3], nullptr, 10);
    run.steps = std::strtoull(argv[4], nullptr, 10);
    const Owned range = range_of(run), cells = scattered(run);
    for (int repetition = 0; repetition <= std::atoi(argv[5]); ++repetition) {
        measure(run, repetition % 2 == 0 ? range : cells, repetition);
        measure(run, repetition % 2 == 0 ? cells : range, repetition);
    }
    if (run.rank == 0) std::filesystem::remove_all(run.directory);
    MPI_Finalize();
    return 0;
}
