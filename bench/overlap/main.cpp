// Runs that compute and write in turns: synchronous and with steps in flight, and a memcpy of the same bytes. Prints a JSON line
// for each run.
//
//   mpirun -n 1 bench_overlap --directory D --mode cache|fsync --presets fpp,single --arrays 4 --steps 6 --in-flight 2
//                             --seconds 60 --least 3 --most 20 --dedicated 0
//
// --dedicated N sets N of the ranks aside: they write, the others compute; the preset is then `dedicated`.
//
// Every value of every step is read back and compared with the formula.
#include <tailrace/tailrace.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <sstream>

#include "harness/arrays.hpp"
#include "harness/options.hpp"
#include "harness/schedule.hpp"
#include "harness/values.hpp"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

void check(int status, const char *call) {
    if (status != TAILRACE_OK)
        fail(std::string(call) + " failed (" + tailrace_status_name(status) + "): " + tailrace_error_message());
}

// Arithmetic in registers, which takes no memory bandwidth from the writers, and which the compiler cannot remove.
double compute(uint64_t rounds) {
    double a = 1.1, b = 1.2, c = 1.3, d = 1.4;
    for (uint64_t i = 0; i < rounds; ++i) {
        a = a * 0.999 + b * 1e-3;
        b = b * 0.999 + c * 1e-3;
        c = c * 0.999 + d * 1e-3;
        d = d * 0.999 + a * 1e-3;
    }
    return a + b + c + d;
}

struct Run {
    std::vector<double> returns_s;  // seconds until begin_step, the puts and end_step have returned, for each step
    double total_s = 0, compute_s = 0;
    Json report;
};

class Bench {
public:
    Bench(const Options &options, MPI_Comm comm)
        : comm_(comm), dedicated_(options.number("dedicated")), shape_(find_case("large", options.number("steps"))),
          directory_(options.text("directory")), durable_(options.text("mode") == "fsync"),
          in_flight_(options.number("in-flight")) {
        shape_.variables = options.number("arrays");
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &ranks_);
        steps_ = Buffer(shape_.rank_bytes() * static_cast<uint64_t>(shape_.steps));
        copy_ = Buffer(shape_.rank_bytes());
        for (int s = 0; s < shape_.steps; ++s)
            for (int v = 0; v < shape_.variables; ++v)
                fill_values(block(s, v), shape_.element_bytes, v, s, shape_.block_elements() * static_cast<uint64_t>(rank_),
                            shape_.block_elements());
        std::memset(copy_.data(), 1, copy_.size());
        std::istringstream words(options.text("presets"));
        for (std::string name; std::getline(words, name, ',');)
            for (const char *how : {"sync", "overlap"}) entries_.push_back({name, how});
        entries_.push_back({dedicated_ > 0 ? "memcpy beside dedicated" : "memcpy", "memcpy"});
        rounds_per_s_ = speed_of_compute();
        calibrate();
    }

    size_t entries() const { return entries_.size(); }

    void measure(size_t which, int repetition) {
        const auto &[preset, how] = entries_[which];
        const Run run = how == "memcpy" ? copy_all() : write_all(preset, how == "overlap");
        if (rank_ != 0) return;
        std::cout << Json{{"preset", preset},
                          {"how", how},
                          {"repetition", repetition},
                          {"returns_s", run.returns_s},
                          {"total_s", run.total_s},
                          {"compute_s", run.compute_s},
                          {"bytes", shape_.rank_bytes() * static_cast<uint64_t>(ranks_)},
                          {"report", run.report}}
                  << std::endl;
    }

private:
    struct Entry {
        std::string preset, how;
    };

    // Sets the compute time to the time that a run without computing needs to write. Uses the second such run, because the first
    // one has cold memory.
    void calibrate() {
        for (const Entry &entry : entries_) {
            if (entry.how != "sync") continue;
            write_all(entry.preset, false);
            const std::vector<double> steps = write_all(entry.preset, false).returns_s;
            compute_s_[entry.preset] = std::accumulate(steps.begin(), steps.end(), 0.0) / static_cast<double>(steps.size());
        }
    }

    std::byte *block(int step, int variable) const {
        return steps_.data() + shape_.rank_bytes() * static_cast<uint64_t>(step) +
               shape_.block_bytes() * static_cast<uint64_t>(variable);
    }

    static double speed_of_compute() {
        double best = 0;
        for (int k = 0; k < 5; ++k) {
            const double started = MPI_Wtime();
            volatile double kept = compute(2'000'000);
            (void)kept;
            best = std::max(best, 2e6 / (MPI_Wtime() - started));
        }
        return best;
    }

    void compute_for(double seconds) const {
        volatile double kept = compute(static_cast<uint64_t>(seconds * rounds_per_s_));
        (void)kept;
    }

    Run copy_all() const {
        Run run;
        for (int s = 0; s < shape_.steps; ++s) {
            compute_for(compute_s_.begin()->second);  // so caches and cores are as before a step that is written
            MPI_Barrier(comm_);
            const double started = MPI_Wtime();
            for (int v = 0; v < shape_.variables; ++v)
                std::memcpy(copy_.data() + shape_.block_bytes() * static_cast<uint64_t>(v), block(s, v), shape_.block_bytes());
            run.returns_s.push_back(slowest(MPI_Wtime() - started));
        }
        return run;
    }

    double slowest(double seconds) const {
        MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm_);
        return seconds;
    }

    Run write_all(const std::string &preset, bool overlap) {
        if (rank_ == 0) std::filesystem::remove_all(directory_);
        MPI_Barrier(comm_);
        const std::string layout = dedicated_ > 0 ? "files = 'one'\nwriters = 'dedicated:" + std::to_string(dedicated_) + "'"
                                                  : "layout = '" + preset + "'";
        const std::string options = layout + "\nsteps = 1\nchecksum = 'on'\ndurability = '" + (durable_ ? "step" : "none") +
                                    "'\noverlap = " + std::to_string(overlap ? in_flight_ : 0) + "\noverlap_memory = '1 GiB'";
        tailrace_stream *stream = nullptr;
        Run run;
        const double compute_s = compute_s_[preset];
        const double started = MPI_Wtime();
        check(tailrace_open(comm_, directory_.c_str(), stream_name, options.c_str(), &stream), "tailrace_open");
        const auto global = shape_.global(ranks_);
        const char *dims[] = {"z", "y", "x"};
        for (size_t d = 0; d < 3; ++d) check(tailrace_define_dim(stream, dims[d], global[d]), "tailrace_define_dim");
        for (int v = 0; v < shape_.variables; ++v)
            check(tailrace_define_var(stream, variable_name(v).c_str(), TAILRACE_F64, 3, dims, 0), "tailrace_define_var");
        for (int s = 0; s < shape_.steps; ++s) {
            const double before = MPI_Wtime();
            compute_for(compute_s);
            const double computed = MPI_Wtime();
            run.compute_s += computed - before;
            put_step(stream, s);
            run.returns_s.push_back(MPI_Wtime() - computed);
        }
        if (overlap) check(tailrace_flush(stream), "tailrace_flush");
        const char *report = nullptr;
        check(tailrace_report(stream, &report), "tailrace_report");
        run.report = Json::parse(report).value(dedicated_ > 0 ? "forwarded" : "overlap", Json::object());
        check(tailrace_close(&stream), "tailrace_close");
        run.total_s = slowest(MPI_Wtime() - started);
        for (double &seconds : run.returns_s) seconds = slowest(seconds);
        check_values();
        return run;
    }

    void put_step(tailrace_stream *stream, int s) const {
        const uint64_t offset[] = {shape_.block[0] * static_cast<uint64_t>(rank_), 0, 0};
        check(tailrace_begin_step(stream, s), "tailrace_begin_step");
        for (int v = 0; v < shape_.variables; ++v) {
            const tailrace_block put{block(s, v), offset, shape_.block.data(), nullptr};
            check(tailrace_put(stream, variable_name(v).c_str(), 1, &put), "tailrace_put");
        }
        check(tailrace_end_step(stream), "tailrace_end_step");
    }

    // Each rank reads what its neighbour wrote.
    void check_values() const {
        const int of = (rank_ + 1) % ranks_;
        const uint64_t offset[] = {shape_.block[0] * static_cast<uint64_t>(of), 0, 0};
        tailrace_reader *reader = nullptr;
        check(tailrace_open_read(comm_, directory_.c_str(), stream_name, &reader), "tailrace_open_read");
        for (int s = 0; s < shape_.steps; ++s) {
            check(tailrace_select_step(reader, s), "tailrace_select_step");
            for (int v = 0; v < shape_.variables; ++v) {
                const tailrace_target target{copy_.data(), offset, shape_.block.data(), nullptr};
                check(tailrace_get(reader, variable_name(v).c_str(), 1, &target), "tailrace_get");
                uint64_t first = 0;
                if (count_mismatches(copy_.data(), shape_.element_bytes, v, s, shape_.block_elements() * static_cast<uint64_t>(of),
                                     shape_.block_elements(), &first) != 0)
                    fail("step " + std::to_string(s) + ", variable " + variable_name(v) + ": wrong value at global index " +
                         std::to_string(first));
            }
        }
        check(tailrace_close_read(&reader), "tailrace_close_read");
        MPI_Barrier(comm_);
    }

    MPI_Comm comm_;
    int dedicated_;
    Case shape_;
    std::string directory_;
    bool durable_;
    int in_flight_, rank_ = 0, ranks_ = 1;
    Buffer steps_, copy_;
    std::vector<Entry> entries_;
    std::map<std::string, double> compute_s_;
    double rounds_per_s_ = 0;
};

void run(const Options &options) {
    const double started = MPI_Wtime();
    const int dedicated = options.number("dedicated");
    MPI_Comm comm = MPI_COMM_WORLD;
    if (dedicated > 0) check(tailrace_set_aside(MPI_COMM_WORLD, dedicated, &comm), "tailrace_set_aside");
    if (comm == MPI_COMM_NULL) return;  // this rank only writes
    {
        Bench bench(options, comm);
        repeat(
            pace_of(options, started), all_of(bench.entries()),
            [&](size_t which, int repetition) { bench.measure(which, repetition); }, comm);
    }
    if (dedicated > 0) check(tailrace_release(&comm), "tailrace_release");
}

}  // namespace
}  // namespace bench

int main(int argc, char **argv) { return bench::run_program(argc, argv, bench::run); }
