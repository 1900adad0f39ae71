// Steps during which calls fail, as kill_steps.hpp writes them. For N = 1, 2, ... in DIRECTORY/N the Nth call of RANK on a file
// fails, until none fails; the error is the Nth of CODES (numbers with commas between them), round and round.
//
//   fault_steps once DIRECTORY OPTIONS RANK CODES   what failed is done again; then a run without faults appends a step
//   fault_steps again DIRECTORY OPTIONS RANK CODES  the same in a stream that has steps of a run before
//   fault_steps memory DIRECTORY OPTIONS RANK CODES the same for calls on shared memory; the blocks are others at each step
//   fault_steps on DIRECTORY OPTIONS RANK CODES     all later calls fail, too; then a run without faults appends a step
//   fault_steps later DIRECTORY OPTIONS RANK CODES  steps are in flight: a step that failed is the last; then the same run
//   fault_steps new DIRECTORY OPTIONS RANK NUMBERS  not every N but these, of the requests for memory (tests/faults/allocate.cpp);
//                                                   what failed is done again; then a run without faults appends a step
//   fault_steps aside DIRECTORY OPTIONS RANK NUMBERS
//                                                   the same by the ranks but the last, which writes for them. For that rank
//                                                   only the first number, from its call of tailrace_set_aside on, and no run
//                                                   after it
//   fault_steps read-new DIRECTORY OPTIONS RANK NUMBERS
//                                                   the same where every value of a stream is read
//   fault_steps read DIRECTORY OPTIONS RANK CODES   every value of a stream that is written before; what failed is read again
//
// The run without faults has other blocks than those before it.
#include "kill_steps.hpp"

#include <cstdlib>
#include <sstream>

namespace {

constexpr int kSteps = 3;
constexpr int kMostFaults = 2000;

struct Fault {
    int at_rank;
    std::vector<int> codes;
    bool once;
    std::string fired;  // on that rank

    int code() const { return codes[static_cast<size_t>(number - 1) % codes.size()]; }
    void arm(const std::string &below) {
        if (rank == at_rank) injector<void(const char *, int, int, int)>("fault_arm")(below.c_str(), number, once ? 1 : 0, code());
    }
    void disarm_here() {
        fired = rank == at_rank ? injector<const char *()>("fault_disarm")() : "";
        if (!fired.empty())
            print("{\"n\": " + std::to_string(number) + ", \"rank\": " + std::to_string(rank) +
                  ", \"call\": \"fault\", \"status\": \"" + fired + "\", \"code\": " + std::to_string(code()) + "}\n");
    }
    // Whether there was such a call.
    bool disarm() {
        disarm_here();
        int any = !fired.empty();
        MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, over);
        return any != 0;
    }
};

// A call that failed once is made again; the second time it must go well.
template <class Call>
void once_more(const char *name, Call &&call) {
    if (tell(name, call()) != TAILRACE_OK) must(tell(name, call()));
}

// A step that failed is written again.
void run_with_faults(const std::string &directory, const std::string &options, bool once, bool other_blocks) {
    if (!open_stream(directory, options) && !(once && open_stream(directory, options))) return;
    for (int k = 0; k < kSteps; ++k) {
        turned = other_blocks && k % 2 == 1;
        if (step() != TAILRACE_OK && once) step();
    }
    close_stream();
}

// Without faults.
void run(const std::string &directory, const std::string &options, int steps, bool has_turned) {
    turned = has_turned;
    if (!open_stream(directory, options)) MPI_Abort(MPI_COMM_WORLD, 8);
    for (int k = 0; k < steps; ++k) step();
    close_stream();
    turned = false;
}

// What fails while the run goes on is told by a later call; the steps after it are lost.
void run_with_overlap(const std::string &directory, const std::string &options) {
    if (!open_stream(directory, options)) return;
    for (int k = 0; k < kSteps; ++k)
        if (step() != TAILRACE_OK) break;
    tell("flush", tailrace_flush(stream));
    close_stream();
}

void write_with_faults(const std::string &directory, const std::string &options, Fault &fault, const std::string &what) {
    for (number = 1; number <= kMostFaults; ++number) {
        const std::string here = directory + "/" + std::to_string(number);
        // Memory that an earlier number has got would serve this one: a communicator of its own has none.
        if (what == "memory") MPI_Comm_dup(MPI_COMM_WORLD, &over);
        if (what == "again") run(here, options, kSteps, false);
        fault.arm(what == "memory" ? "/dev/shm" : here);
        if (what == "later")
            run_with_overlap(here, options);
        else
            run_with_faults(here, options, fault.once, what == "memory");
        const bool go_on = fault.disarm();
        print("{\"n\": " + std::to_string(number) + ", \"rank\": " + std::to_string(rank) +
              ", \"call\": \"append\", \"status\": \"OK\"}\n");
        run(here, options, 1, true);
        if (what == "memory") MPI_Comm_free(&over);
        if (!go_on) return;
    }
    MPI_Abort(MPI_COMM_WORLD, 9);  // faults without end: the limit is too small or a call is made again for ever
}

void write_without_memory(const std::string &directory, const std::string &options, Fault &fault) {
    for (const int chosen : fault.codes) {
        number = chosen;
        const std::string here = directory + "/" + std::to_string(number);
        fault.arm(here);
        run_with_faults(here, options, true, true);
        const bool go_on = fault.disarm();
        print("{\"n\": " + std::to_string(number) + ", \"rank\": " + std::to_string(rank) +
              ", \"call\": \"append\", \"status\": \"OK\"}\n");
        run(here, options, 1, true);
        if (!go_on) return;
    }
}

// The last rank writes for the others. Its fault stays armed until they release it, so that no run without faults comes after.
void write_without_memory_aside(const std::string &directory, const std::string &options, Fault &fault) {
    const bool at_writer = fault.at_rank == ranks - 1;
    number = fault.codes[0];
    if (at_writer) fault.arm(directory);
    once_more("set_aside", [] { return tailrace_set_aside(MPI_COMM_WORLD, 1, &over); });
    if ((over == MPI_COMM_NULL) != (rank == --ranks)) MPI_Abort(MPI_COMM_WORLD, 5);
    if (over == MPI_COMM_NULL)
        fault.disarm_here();
    else if (at_writer)
        run_with_faults(directory + "/" + std::to_string(number), options, true, true);
    else
        write_without_memory(directory, options, fault);
    if (!at_writer) number = 0;  // not of the last run
    if (over != MPI_COMM_NULL) tell("release", tailrace_release(&over));
}

void compare(const char *variable, int number_of, uint64_t step_read, const std::vector<double> &found) {
    for (uint64_t i = 0; i < found.size(); ++i) {
        if (found[i] == value(number_of, step_read, i)) continue;
        print("{\"n\": " + std::to_string(number) + ", \"rank\": " + std::to_string(rank) +
              ", \"call\": \"unexpected\", \"status\": \"" + variable + " of step " + std::to_string(step_read) + " is wrong at " +
              std::to_string(i) + "\"}\n");
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
}

void read_step(tailrace_reader *reader, uint64_t k) {
    once_more("select_step", [&] { return tailrace_select_step(reader, static_cast<int64_t>(k)); });
    std::vector<float> T(kLevels * kRows * kColumns);
    std::vector<double> rain(kRows * kColumns), lat(kRows), mass(1);
    const uint64_t offset[] = {0, 0, 0}, count[] = {kLevels, kRows, kColumns};
    const tailrace_target of_T{T.data(), offset, count, nullptr}, of_rain{rain.data(), offset + 1, count + 1, nullptr},
        of_mass{mass.data(), offset, count, nullptr};
    once_more("get", [&] { return tailrace_get(reader, "T", 1, &of_T); });
    once_more("get", [&] { return tailrace_get(reader, "rain", 1, &of_rain); });
    once_more("get", [&] { return tailrace_get(reader, "mass", 1, &of_mass); });
    once_more("get_shared", [&] { return tailrace_get_shared(reader, "lat", lat.data()); });
    compare("T", 2, k, {T.begin(), T.end()});
    compare("rain", 3, k, rain);
    compare("mass", 4, k, mass);
    compare("lat", 0, 0, lat);
}

// Whether anything failed.
bool read_all(const std::string &directory, Fault &fault) {
    tailrace_reader *reader = nullptr;
    fault.arm(directory);
    once_more("open_read", [&] { return tailrace_open_read(MPI_COMM_WORLD, directory.c_str(), "history", &reader); });
    for (int k = kSteps; k-- > 0;) read_step(reader, static_cast<uint64_t>(k));
    must(tell("close_read", tailrace_close_read(&reader)));
    return fault.disarm();
}

void read_with_faults(const std::string &directory, const std::string &options, Fault &fault) {
    run(directory, options, kSteps, false);
    for (number = 1; number <= kMostFaults; ++number)
        if (!read_all(directory, fault)) return;
    MPI_Abort(MPI_COMM_WORLD, 9);
}

void read_without_memory(const std::string &directory, const std::string &options, Fault &fault) {
    run(directory, options, kSteps, false);
    for (const int chosen : fault.codes) {
        number = chosen;
        read_all(directory, fault);
    }
}

std::vector<int> numbers(const std::string &text) {
    std::vector<int> list;
    std::istringstream stream_of(text);
    for (std::string word; std::getline(stream_of, word, ',');) list.push_back(std::atoi(word.c_str()));
    return list;
}

}  // namespace

int main(int argc, char **argv) {
    start(&argc, &argv);
    const std::string what = argc == 6 ? argv[1] : "";
    const std::string known = " once again memory new aside on later read read-new ";
    if (known.find(" " + what + " ") == std::string::npos) MPI_Abort(MPI_COMM_WORLD, 2);
    Fault fault{std::atoi(argv[4]), numbers(argv[5]), what != "on", ""};
    if (what == "read")
        read_with_faults(argv[2], argv[3], fault);
    else if (what == "read-new")
        read_without_memory(argv[2], argv[3], fault);
    else if (what == "aside")
        write_without_memory_aside(argv[2], argv[3], fault);
    else if (what == "new")
        write_without_memory(argv[2], argv[3], fault);
    else
        write_with_faults(argv[2], argv[3], fault, what);
    MPI_Finalize();
    return 0;
}
