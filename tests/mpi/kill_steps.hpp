// What kill_steps, fault_steps and place_steps write: every byte by a formula of (variable, step, global index). Each call is told
// as a line of JSON: {"n", "rank", "call", "status", "message"}. The fault injector, where it is preloaded, is told the stages of
// a run.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "answers.hpp"

constexpr uint64_t kLevels = 3, kRows = 10, kColumns = 1024;

// A function of the fault injector; nullptr where that is not preloaded.
template <class Function>
Function *injected(const char *name) {
    void *symbol = dlsym(RTLD_DEFAULT, name);
    Function *function = nullptr;
    std::memcpy(&function, &symbol, sizeof function);
    return function;
}

template <class Function>
Function *injector(const char *name) {
    auto *function = injected<Function>(name);
    if (function == nullptr) MPI_Abort(MPI_COMM_WORLD, 7);
    return function;
}

inline void stage(const char *name) {
    static auto *tell_stage = injected<void(const char *)>("fault_stage");
    if (tell_stage != nullptr) tell_stage(name);
}

inline void print(const std::string &line) {
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0) MPI_Abort(MPI_COMM_WORLD, 3);
}

inline int tell(const char *call, int status) {
    std::string message = status == TAILRACE_OK ? "" : tailrace_error_message();
    for (char &c : message)
        if (c == '"' || c == '\\') c = '\'';
    print("{\"n\": " + std::to_string(number) + ", \"rank\": " + std::to_string(rank) + ", \"call\": \"" + call +
          "\", \"status\": \"" + tailrace_status_name(status) + "\", \"message\": \"" + message + "\"}\n");
    return status;
}

inline void must(int status) {
    if (status == TAILRACE_OK) return;
    tell("unexpected", status);
    MPI_Abort(MPI_COMM_WORLD, 4);
}

// What `kill_values` of the tests computes too.
inline double value(int variable, uint64_t step, uint64_t element) {
    return static_cast<double>((variable + 1) * 100000 + static_cast<int>(step % 97) * 1000) + static_cast<double>(element % 991);
}

inline MPI_Comm over = MPI_COMM_WORLD;  // whose ranks write
inline bool turned = false;             // the ranks have each other's blocks: the first has the last ones

struct Slab {
    uint64_t place = static_cast<uint64_t>(turned ? ranks - 1 - rank : rank);
    uint64_t first = kRows * place / static_cast<uint64_t>(ranks);
    uint64_t rows = kRows * (place + 1) / static_cast<uint64_t>(ranks) - first;
};

inline void define() {
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

inline int step() {
    const Slab slab;
    uint64_t k = 0;
    must(tailrace_step_count(stream, &k));
    stage("step");
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
    stage("end_step");
    return tell("end_step", tailrace_end_step(stream));
}

inline bool open_stream(const std::string &directory, const std::string &options) {
    stage("open");
    if (tell("open", tailrace_open(over, directory.c_str(), "history", options.c_str(), &stream)) != TAILRACE_OK) return false;
    define();
    return true;
}

inline int close_stream() {
    stage("close");
    const int status = tell("close", tailrace_close(&stream));
    stage("closed");
    return status;
}
