// A stream that could not be opened does not disturb the others: null_case DIRECTORY. The model continues with the handle of the
// failed opening on some ranks and with NULL on the others; no call waits for another rank.
#include <tailrace/tailrace.h>

#include <string>

#include "case_main.hpp"

namespace {

int run(int argc, char** argv) {
    if (argc != 2) return 2;
    tailrace_stream *history = nullptr, *plot = nullptr;
    if (tailrace_open(MPI_COMM_WORLD, argv[1], "history", "layout = 'fpp'", &history) != TAILRACE_OK) return 3;
    if (tailrace_open(MPI_COMM_WORLD, argv[1], "plot", "layout = 'none of these'", &plot) == TAILRACE_OK || plot == nullptr)
        return 4;
    tailrace_stream* const kept = plot;
    const bool forgets = rank % 2 == 1;
    const int status = forgets ? TAILRACE_BAD_ARGUMENT : TAILRACE_BAD_CONFIG;
    if (forgets) plot = nullptr;
    const char* dims[] = {"x"};
    const auto length = static_cast<uint64_t>(ranks), at = static_cast<uint64_t>(rank);
    if (tailrace_define_dim(history, "x", length) != TAILRACE_OK ||
        tailrace_define_var(history, "v", TAILRACE_F64, 1, dims, 0) != TAILRACE_OK)
        return 5;
    for (int step = 0; step < 3; ++step) {
        const double value = 100.0 * step + rank;
        const uint64_t one = 1;
        const tailrace_block block = {.data = &value, .offset = &at, .count = &one, .stride = nullptr};
        if (tailrace_begin_step(history, step) != TAILRACE_OK || tailrace_put(history, "v", 1, &block) != TAILRACE_OK) return 6;
        if (tailrace_begin_step(plot, step) != status || tailrace_end_step(plot) != status) return 7;
        if (rank == 0 && tailrace_flush(plot) != status) return 7;  // the others do not call it
        if (tailrace_end_step(history) != TAILRACE_OK) return 8;
    }
    plot = kept;
    if (tailrace_close(&plot) != TAILRACE_OK || plot != nullptr) return 10;
    return tailrace_close(&history) == TAILRACE_OK ? 0 : 9;
}

}  // namespace

int main(int argc, char** argv) { return case_main(argc, argv, run); }
