// Measures many ways of writing the same arrays, interleaved in one MPI job; JSON lines on standard output, one for each timing.
//
//   mpirun -n 2 bench_write --case large --steps 2 --directory D --durable 0 --entries raw_fpp:4MiB,hdf5_fpp:packed
//                           --seconds 30 --least 3 --most 20
//   bench_write --list 1     the entries with their settings
#include "method.hpp"
#include "schedule.hpp"
#include "values.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
    std::map<std::string, std::string> values;

    Options(int argc, char **argv) {
        for (int i = 1; i + 1 < argc; i += 2) {
            const std::string key = argv[i];
            if (!key.starts_with("--")) fail("unexpected argument '" + key + "'; arguments are pairs --key value");
            values[key.substr(2)] = argv[i + 1];
        }
        if (argc % 2 == 0) fail(std::string("argument '") + argv[argc - 1] + "' has no value");
    }
    std::string text(const std::string &key) const {
        const auto found = values.find(key);
        if (found == values.end()) fail("--" + key + " is missing; see the head of bench/write/main.cpp");
        return found->second;
    }
    int number(const std::string &key) const { return std::stoi(text(key)); }
};

void list_entries() {
    for (const Entry &entry : all_entries())
        std::cout << Json{{"entry", entry.name()}, {"files", entry.files}, {"settings", entry.settings}} << '\n';
}

Entries select(const std::string &names) {
    Entries selected;
    const Entries all = all_entries();
    std::istringstream words(names);
    for (std::string name; std::getline(words, name, ',');) {
        const auto found = std::find_if(all.begin(), all.end(), [&](const Entry &entry) { return entry.name() == name; });
        if (found == all.end()) fail("no entry '" + name + "'; `bench_write --list 1` prints them");
        selected.push_back(*found);
    }
    if (selected.empty()) fail("--entries names none");
    return selected;
}

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

// Memory that is touched and held until a step is written. A virtual machine may give free memory back to its host, and gets it
// back at a tenth of the speed: whoever writes next would pay for it.
class HeldMemory {
public:
    HeldMemory(int pieces, uint64_t piece_bytes) : pieces_(static_cast<size_t>(pieces)), piece_bytes_(piece_bytes) { take(); }
    void take() {
        for (auto &piece : pieces_)
            if (!piece) piece.emplace(piece_bytes_);
    }
    void free(int which) { pieces_[static_cast<size_t>(which)].reset(); }

private:
    std::vector<std::optional<Buffer>> pieces_;
    uint64_t piece_bytes_;
};

// Seconds of each call: begin, the steps, end. Each from the first rank's start to the last rank's end; the ranks share the clock
// of one machine, and start together.
std::vector<double> time_method(Method &method, const Run &run, HeldMemory &held) {
    const Workload &work = *run.work;
    std::vector<double> starts, ends;
    const auto time = [&](auto &&call) {
        MPI_Barrier(work.comm);
        starts.push_back(MPI_Wtime());
        call();
        ends.push_back(MPI_Wtime());
        meet(work.comm);
    };
    time([&] { method.begin(run); });
    for (int step = 0; step < work.shape.steps; ++step) {
        held.free(step);
        time([&] { method.write(step); });
    }
    time([&] { method.end(); });
    const int calls = static_cast<int>(starts.size());
    MPI_Allreduce(MPI_IN_PLACE, starts.data(), calls, MPI_DOUBLE, MPI_MIN, work.comm);
    MPI_Allreduce(MPI_IN_PLACE, ends.data(), calls, MPI_DOUBLE, MPI_MAX, work.comm);
    std::vector<double> seconds;
    for (size_t call = 0; call < starts.size(); ++call) seconds.push_back(ends[call] - starts[call]);
    return seconds;
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
            const uint64_t wrong =
                count_mismatches(block, shape.element_bytes, v, step, work.first_index(of_rank), shape.block_elements(), &index);
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
    Buffer block;
    HeldMemory held;

    Bench(const Options &options, Entries chosen, bool with_global)
        : work(find_case(options.text("case"), options.number("steps")), MPI_COMM_WORLD, with_global), entries(std::move(chosen)),
          directory(options.text("directory")), durable(options.number("durable") != 0), block(work.shape.block_bytes()),
          held(work.shape.steps, work.shape.rank_bytes()) {
        for (const Entry &entry : entries) methods.push_back(entry.make());
    }

    void measure(size_t which, int repetition) {
        const std::string name = entries[which].name();
        std::string folder = directory + "/" + name;
        std::replace(folder.begin() + static_cast<long>(directory.size()), folder.end(), ':', '-');
        if (work.rank == 0) std::filesystem::create_directories(folder);
        const std::vector<double> seconds = time_method(*methods[which], {&work, folder, durable}, held);
        const double t0 = MPI_Wtime();
        check_bytes(*methods[which], work, name, block.data());
        const double t1 = MPI_Wtime();
        remove_folder(folder, directory, work.comm, work.rank);
        held.take();
        if (work.rank != 0) return;
        const uint64_t bytes = work.shape.rank_bytes() * static_cast<uint64_t>(work.ranks * work.shape.steps);
        std::cout << Json{{"entry", name},      {"repetition", repetition},
                          {"calls_s", seconds}, {"seconds", std::accumulate(seconds.begin(), seconds.end(), 0.0)},
                          {"bytes", bytes},     {"checked_bytes", bytes},
                          {"check_s", t1 - t0}, {"removal_s", MPI_Wtime() - t1}}
                  << std::endl;
    }
};

// Repetition 0 warms up. Then at least `least`, and more while another one as long as the longest so far still fits.
void run(const Options &options) {
    const double started = MPI_Wtime();
    Entries entries = select(options.text("entries"));
    const bool lone = std::any_of(entries.begin(), entries.end(), [](const Entry &e) { return e.method == "raw_single"; });
    Bench bench(options, std::move(entries), lone);
    const int least = options.number("least");
    const int most = options.number("most");
    const double allowed = std::stod(options.text("seconds"));
    double longest = 0;
    for (int repetition = 0; repetition <= most; ++repetition) {
        int go = repetition <= least || MPI_Wtime() - started + longest <= allowed ? 1 : 0;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (go == 0) break;
        const double begun = MPI_Wtime();
        for (const size_t which : order_of(repetition, bench.entries.size())) bench.measure(which, repetition);
        if (repetition > 0) longest = std::max(longest, MPI_Wtime() - begun);
    }
    bench.methods.clear();
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench.work.rank == 0) std::filesystem::remove_all(bench.directory);
}

}  // namespace
}  // namespace bench

int main(int argc, char **argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    try {
        const bench::Options options(argc, argv);
        if (options.values.contains("list"))
            bench::list_entries();
        else
            bench::run(options);
    } catch (const std::exception &error) {
        bench::fail(error.what());
    }
    MPI_Finalize();
    return 0;
}
