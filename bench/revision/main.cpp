// Times two builds of libtailrace in one MPI job, by turns: what a step, and what opening and closing a stream, cost in each.
// JSON lines on standard output, one for each round and library.
//
//   mpirun -n 2 bench_revision --before /path/to/libtailrace.so --after build/lib/libtailrace.so --directory D
//                              --case fpp --steps 10 --seconds 30 --least 5
//   cases: fpp, shared   100 arrays of 64 KiB a rank, one step a file (set); timed: end_step with its puts
//          append        the same arrays, all steps appended to the one file of the default layout
//          open          one array of 64 B a rank; timed: tailrace_open, and tailrace_close after one step
#include <tailrace/tailrace.h>

#include <dlfcn.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/arrays.hpp"
#include "harness/job.hpp"
#include "harness/options.hpp"
#include "harness/values.hpp"

namespace bench {
namespace {

// The functions of one build, found by name with dlsym, because the bench is linked with neither build.
class Library {
public:
    Library(std::string label, const std::string &path)
        : label(std::move(label)), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (handle_ == nullptr) bench::fail(std::string("cannot load ") + path + ": " + dlerror());
        find(open, "tailrace_open");
        find(define_dim, "tailrace_define_dim");
        find(define_var, "tailrace_define_var");
        find(begin_step, "tailrace_begin_step");
        find(put, "tailrace_put");
        find(end_step, "tailrace_end_step");
        find(close, "tailrace_close");
        find(open_read, "tailrace_open_read");
        find(select_step, "tailrace_select_step");
        find(get, "tailrace_get");
        find(close_read, "tailrace_close_read");
        find(message, "tailrace_error_message");
    }
    void check(int status, const char *call) const {
        if (status != TAILRACE_OK) bench::fail(label + ": " + call + " failed: " + message());
    }

    const std::string label;
    decltype(&tailrace_open) open;
    decltype(&tailrace_define_dim) define_dim;
    decltype(&tailrace_define_var) define_var;
    decltype(&tailrace_begin_step) begin_step;
    decltype(&tailrace_put) put;
    decltype(&tailrace_end_step) end_step;
    decltype(&tailrace_close) close;
    decltype(&tailrace_open_read) open_read;
    decltype(&tailrace_select_step) select_step;
    decltype(&tailrace_get) get;
    decltype(&tailrace_close_read) close_read;
    decltype(&tailrace_error_message) message;

private:
    template <typename Function>
    void find(Function &function, const char *name) {
        function = reinterpret_cast<Function>(dlsym(handle_, name));
        if (function == nullptr) bench::fail(label + ": the library has no " + name);
    }
    void *handle_;
};

struct Work {
    MPI_Comm comm = MPI_COMM_WORLD;
    int rank = 0, ranks = 1;
    Case shape;
    std::string keys;  // of the layout
    bool times_opening = false;
    std::vector<Buffer> steps;  // this rank's blocks, variable after variable

    uint64_t first() const { return static_cast<uint64_t>(rank) * shape.block[0]; }
    std::array<uint64_t, 3> offset() const { return {first(), 0, 0}; }
    const std::byte *block(int step, int variable) const {
        return steps[static_cast<size_t>(step)].data() + static_cast<uint64_t>(variable) * shape.block_bytes();
    }
};

Work make_work(const Options &options) {
    const std::string name = options.text("case");
    Work work;
    MPI_Comm_rank(work.comm, &work.rank);
    MPI_Comm_size(work.comm, &work.ranks);
    work.times_opening = name == "open";
    work.keys = name == "append" ? "" : "layout = '" + std::string(work.times_opening ? "single" : name) + "'\nsteps = 1\n";
    work.shape = work.times_opening ? Case{"open", 1, {1, 1, 8}, 8, 1} : find_case("small", options.number("steps", 10));
    for (int step = 0; step < work.shape.steps; ++step) {
        work.steps.emplace_back(work.shape.rank_bytes());
        for (int v = 0; v < work.shape.variables; ++v)
            fill_values(work.steps.back().data() + static_cast<uint64_t>(v) * work.shape.block_bytes(), work.shape.element_bytes, v,
                        step, work.first() * work.shape.block[1] * work.shape.block[2], work.shape.block_elements());
    }
    return work;
}

// Seconds of each step, or of opening and of closing.
std::vector<double> write(const Library &library, const Work &work, const std::string &folder) {
    tailrace_stream *stream = nullptr;
    const std::string options = work.keys + "mode = 'replace'\ndurability = 'none'";
    Clock opening(work.comm), stepping(work.comm);
    opening.time(
        [&] { library.check(library.open(work.comm, folder.c_str(), stream_name, options.c_str(), &stream), "tailrace_open"); });
    const auto shape = work.shape.global(work.ranks);
    const char *dims[] = {"z", "y", "x"};
    for (int d = 0; d < 3; ++d)
        library.check(library.define_dim(stream, dims[d], shape[static_cast<size_t>(d)]), "tailrace_define_dim");
    const auto type = work.shape.element_bytes == 4 ? TAILRACE_F32 : TAILRACE_F64;
    for (int v = 0; v < work.shape.variables; ++v)
        library.check(library.define_var(stream, variable_name(v).c_str(), type, 3, dims, 0), "tailrace_define_var");
    const auto offset = work.offset();
    for (int step = 0; step < work.shape.steps; ++step)
        stepping.time([&] {
            library.check(library.begin_step(stream, step), "tailrace_begin_step");
            for (int v = 0; v < work.shape.variables; ++v) {
                const tailrace_block block{work.block(step, v), offset.data(), work.shape.block.data(), nullptr};
                library.check(library.put(stream, variable_name(v).c_str(), 1, &block), "tailrace_put");
            }
            library.check(library.end_step(stream), "tailrace_end_step");
        });
    opening.time([&] { library.check(library.close(&stream), "tailrace_close"); });
    return work.times_opening ? opening.seconds() : stepping.seconds();
}

// Every byte, read back by the later library: an earlier one may refuse what a later one has written.
void verify(const Library &reading, const Work &work, const std::string &folder, Buffer &found) {
    tailrace_reader *reader = nullptr;
    reading.check(reading.open_read(work.comm, folder.c_str(), stream_name, &reader), "tailrace_open_read");
    const auto offset = work.offset();
    for (int step = 0; step < work.shape.steps; ++step) {
        reading.check(reading.select_step(reader, step), "tailrace_select_step");
        for (int v = 0; v < work.shape.variables; ++v) {
            const tailrace_target target{found.data(), offset.data(), work.shape.block.data(), nullptr};
            reading.check(reading.get(reader, variable_name(v).c_str(), 1, &target), "tailrace_get");
            uint64_t wrong = 0;
            if (count_mismatches(found.data(), work.shape.element_bytes, v, step,
                                 work.first() * work.shape.block[1] * work.shape.block[2], work.shape.block_elements(), &wrong) > 0)
                bench::fail(folder + ": wrong values in " + variable_name(v) + ", step " + std::to_string(step));
        }
    }
    reading.check(reading.close_read(&reader), "tailrace_close_read");
}

void run(const Options &options) {
    const Library libraries[] = {{"before", options.text("before")}, {"after", options.text("after")}};
    Work work = make_work(options);
    Buffer found(work.shape.block_bytes());
    const std::string folder = options.text("directory");
    const double until_s = now_s() + options.number("seconds", 20);
    const int least = options.number("least", 5);
    for (int round = 0;; ++round) {  // round 0 warms up
        int more = round <= least || now_s() < until_s;
        MPI_Bcast(&more, 1, MPI_INT, 0, work.comm);
        if (!more) return;
        for (int turn = 0; turn < 2; ++turn) {
            const int mine = (round + turn) % 2;
            const std::vector<double> seconds = write(libraries[mine], work, folder);
            verify(libraries[1], work, folder, found);
            meet(work.comm);
            if (work.rank == 0) {
                std::filesystem::remove_all(folder);
                std::cout << nlohmann::json{{"library", libraries[mine].label}, {"repetition", round}, {"seconds", seconds}}.dump()
                          << std::endl;
            }
            meet(work.comm);
        }
    }
}

}  // namespace
}  // namespace bench

int main(int argc, char **argv) { return bench::run_program(argc, argv, bench::run); }
