// Steps that can be interrupted at any moment, as kill_steps.hpp writes them.
//
//   kill_steps run DIRECTORY OPTIONS STEPS     so many more steps; ranks tell their process numbers first
//   kill_steps kill DIRECTORY OPTIONS STEPS TRACE RANK STAGE CALL N HOW DELAY_US
//                                              the same; RANK tells its calls in TRACE and is killed as fault_kill says
//   kill_steps trace DIRECTORY STEPS OPTIONS...  nobody is killed: for the Ith options two runs in DIRECTORY/I; before the second
//                                              one of a step was between, and a pending step is left. Every rank tells its calls
//                                              in DIRECTORY/I.RUN.RANK
#include "kill_steps.hpp"

#include <sys/stat.h>

#include <cstdlib>

namespace {

using Trace = void(const char *, const char *);
using Kill = void(int, const char *, int, const char *, int);

void run(const std::string &directory, const std::string &options, int steps) {
    if (!open_stream(directory, options)) return;
    for (int k = 0; k < steps; ++k) step();
    close_stream();
}

void tell_process() {
    print("{\"rank\": " + std::to_string(rank) + ", \"call\": \"start\", \"pid\": " + std::to_string(getpid()) + "}\n");
    MPI_Barrier(MPI_COMM_WORLD);
}

void watch(char **argv) {
    if (rank != std::atoi(argv[6])) return;
    injector<Trace>("fault_trace")(argv[2], argv[5]);
    injector<Kill>("fault_kill")(std::atoi(argv[7]), argv[8], std::atoi(argv[9]), argv[10], std::atoi(argv[11]));
}

// As a run leaves it that was killed.
void leave_pending(const std::string &directory) {
    const std::string left = directory + "/history.parts/.pending-left";
    if (rank == 0 && (mkdir(left.c_str(), 0777) != 0 || mkdir((left + "/of-a-step").c_str(), 0777) != 0))
        MPI_Abort(MPI_COMM_WORLD, 6);
    MPI_Barrier(MPI_COMM_WORLD);
}

void trace(const std::string &directory, int steps, int cases, char **options) {
    for (int i = 0; i < cases; ++i) {
        const std::string here = directory + "/" + std::to_string(i);
        const auto traced = [&](const std::string &name, int of_run) {
            const std::string file = here + "." + name + "." + std::to_string(rank);
            injector<Trace>("fault_trace")(here.c_str(), file.c_str());
            run(here, options[i], of_run);
        };
        traced("0", steps);
        // Else a run of as many steps would use just the room that is laid out for it.
        traced("between", 1);
        leave_pending(here);
        traced("1", steps);
    }
}

}  // namespace

int main(int argc, char **argv) {
    start(&argc, &argv);
    const std::string what = argc > 1 ? argv[1] : "";
    const bool runs = (what == "run" && argc == 5) || (what == "kill" && argc == 12);
    if (runs) {
        tell_process();
        if (what == "kill") watch(argv);
        run(argv[2], argv[3], std::atoi(argv[4]));
    } else if (what == "trace" && argc > 4) {
        trace(argv[2], std::atoi(argv[3]), argc - 4, argv + 4);
    } else {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
