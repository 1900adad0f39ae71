// Steps that can be interrupted at any moment, every byte by a formula of (variable, step, global index).
//
//   kill_steps run DIRECTORY OPTIONS STEPS            so many more steps; ranks tell their process numbers first, then each status
//   kill_steps faults DIRECTORY OPTIONS RANK once|on  for N = 1, 2, ...: in DIRECTORY/N the Nth call of RANK on a file fails (with
//                                                     `on` all later ones too), until none fails; then a run without faults appends
//
// A line of JSON for each call: {"n", "rank", "call", "status", "message"}.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "answers.hpp"

namespace {

constexpr uint64_t kLevels = 3, kRows = 10, kColumns = 64;
constexpr int kStepsOfFaults = 3;
constexpr int kMostFaults = 2000;

// The functions of the fault injector, where it is preloaded.
template <class Function>
Function *injector(const char *name) {
    void *symbol = dlsym(RTLD_DEFAULT, name);
    Function *function = nullptr;
    std::memcpy(&function, &symbol, sizeof function);
    if (function == nullptr) MPI_Abort(MPI_COMM_WORLD, 7);
    return function;
}

void print(const std::string &line) {
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0) MPI_Abort(MPI_COMM_WORLD, 3);
}

int tell(const char *call, int status) {
    std::string message = status == TAILRACE_OK ? "" : tailrace_error_message();
    for (char &c : message)
        if (c == '"' || c == '\\') c = '\'';
    print("{\"n\": " + std::to_string(number) + ", \"rank\": " + std::to_string(rank) + ", \"call\": \"" + call +
          "\", \"status\": \"" + tailrace_status_name(status) + "\", \"message\": \"" + message + "\"}\n");
    return status;
}

void must(int status) {
    if (status == TAILRACE_OK) return;
    tell("unexpected", status);
    MPI_Abort(MPI_COMM_WORLD, 4);
}

// What `kill_values` of the tests computes too.
double value(int variable, uint64_t step, uint64_t element) {
    return static_cast<double>((variable + 1) * 100000 + static_cast<int>(step % 97) * 1000) + static_cast<double>(element % 991);
}

struct Slab {
    uint64_t first = kRows * static_cast<uint64_t>(rank) / static_cast<uint64_t>(ranks);
    uint64_t rows = kRows * static_cast<uint64_t>(rank + 1) / static_cast<uint64_t>(ranks) - first;
};

void define() {
    const char *const dims[] = {"lev", "lat", "lon"};
    must(tailrace_define_dim(stream, "lev", kLevels));
    must(tailrace_define_dim(stream, "lat", kRows));
    must(tailrace_define_dim(stream, "lon", kColumns));
    must(tailrace_define_var(stream, "lat", TAILRACE_F64, 1, dims + 1, TAILRACE_STATIC | TAILRACE_REPLICATED));
    must(tailrace_define_var(stream, "topo", TAILRACE_F32, 2, dims + 1, TAILRACE_STATIC));
    must(tailrace_define_var(stream, "T", TAILRACE_F32, 3, dims, 0));
    must(tailrace_define_var(stream, "rain", TAILRACE_F64, 2, dims + 1, 0));
    must(tailrace_define_var(stream, "mass", TAILRACE_F64, 0, nullptr, 0));
    std::vector<double> lat(kRows);
    for (uint64_t y = 0; y < kRows; ++y) lat[y] = value(0, 0, y);
    must(tailrace_put_replicated(stream, "lat", lat.data()));
}

int step() {
    const Slab slab;
    uint64_t k = 0;
    must(tailrace_step_count(stream, &k));
    must(tailrace_begin_step(stream, static_cast<double>(k)));
    std::vector<float> topo(slab.rows * kColumns), T(kLevels * slab.rows * kColumns);
    std::vector<double> rain(slab.rows * kColumns);
    for (uint64_t i = 0; i < topo.size(); ++i) {
        const uint64_t at = slab.first * kColumns + i;
        topo[i] = static_cast<float>(value(1, 0, at));
        rain[i] = value(3, k, at);
        for (uint64_t z = 0; z < kLevels; ++z) T[z * topo.size() + i] = static_cast<float>(value(2, k, z * kRows * kColumns + at));
    }
    const uint64_t offset[] = {0, slab.first, 0}, count[] = {kLevels, slab.rows, kColumns};
    const tailrace_block of_topo{topo.data(), offset + 1, count + 1, nullptr}, of_T{T.data(), offset, count, nullptr},
        of_rain{rain.data(), offset + 1, count + 1, nullptr};
    const double mass = value(4, k, 0);
    must(tailrace_put(stream, "topo", 1, &of_topo));
    must(tailrace_put(stream, "T", 1, &of_T));
    must(tailrace_put(stream, "rain", 1, &of_rain));
    must(tailrace_put_replicated(stream, "mass", &mass));
    return tell("end_step", tailrace_end_step(stream));
}

bool open_stream(const std::string &directory, const std::string &options) {
    if (tell("open", tailrace_open(MPI_COMM_WORLD, directory.c_str(), "history", options.c_str(), &stream)) != TAILRACE_OK)
        return false;
    define();
    return true;
}

void run(const std::string &directory, const std::string &options, int steps) {
    print("{\"rank\": " + std::to_string(rank) + ", \"call\": \"start\", \"pid\": " + std::to_string(getpid()) + "}\n");
    MPI_Barrier(MPI_COMM_WORLD);
    if (!open_stream(directory, options)) return;
    for (int k = 0; k < steps; ++k) step();
    tell("close", tailrace_close(&stream));
}

// One run in which calls fail; a step that failed is written again.
void run_with_faults(const std::string &directory, const std::string &options, bool once) {
    if (!open_stream(directory, options) && !(once && open_stream(directory, options))) return;
    for (int k = 0; k < kStepsOfFaults; ++k)
        if (step() != TAILRACE_OK && once) step();
    tell("close", tailrace_close(&stream));
}

void faults(const std::string &directory, const std::string &options, int at_rank, bool once) {
    auto *arm = injector<void(const char *, int, int)>("fault_arm");
    auto *disarm = injector<const char *()>("fault_disarm");
    for (number = 1; number <= kMostFaults; ++number) {
        const std::string here = directory + "/" + std::to_string(number);
        if (rank == at_rank) arm(here.c_str(), number, once ? 1 : 0);
        run_with_faults(here, options, once);
        const std::string fired = rank == at_rank ? disarm() : "";
        if (rank == at_rank && !fired.empty())
            print("{\"n\": " + std::to_string(number) + ", \"rank\": " + std::to_string(rank) +
                  ", \"call\": \"fault\", \"status\": \"" + fired + "\"}\n");
        int go_on = !fired.empty();
        MPI_Bcast(&go_on, 1, MPI_INT, at_rank, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        print("{\"n\": " + std::to_string(number) + ", \"rank\": " + std::to_string(rank) +
              ", \"call\": \"append\", \"status\": \"OK\"}\n");
        if (!open_stream(here, options)) MPI_Abort(MPI_COMM_WORLD, 8);
        step();
        tell("close", tailrace_close(&stream));
        if (!go_on) return;
    }
    MPI_Abort(MPI_COMM_WORLD, 9);  // faults without end: the limit is too small or a call is made again for ever
}

}  // namespace

int main(int argc, char **argv) {
    start(&argc, &argv);
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "run" && argc == 5)
        run(argv[2], argv[3], std::atoi(argv[4]));
    else if (what == "faults" && argc == 6)
        faults(argv[2], argv[3], std::atoi(argv[4]), std::string(argv[5]) == "once");
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Finalize();
    return 0;
}
