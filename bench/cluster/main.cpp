// Measures a file system and the presets on the nodes of a cluster. Rank 0 prints one JSON line.
//
//   bench_cluster --what storage --directory D --shared 1 --files 500 --mib 64   creates, stats, bytes a second; shared 0: each
//                                                                                rank reads what it wrote itself, on its own disk
//   bench_cluster --what outputs --directory D --options "layout = 'fpp'" --steps 10 --arrays 4 --kib 4096 --seconds 30
#include "outputs.hpp"
#include "storage.hpp"

#include "harness/options.hpp"

namespace bench {
namespace {

void run(const Options &options) {
    const std::string what = options.text("what");
    if (what == "storage")
        measure_storage(options);
    else if (what == "outputs")
        measure_outputs(options);
    else
        fail("--what " + what + ": storage or outputs");
}

}  // namespace
}  // namespace bench

int main(int argc, char **argv) { return bench::run_program(argc, argv, bench::run); }
