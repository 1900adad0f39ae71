// Steps whose directory goes away or may no longer be written in the middle of the run, as kill_steps.hpp writes them.
//
//   place_steps KIND RANK DIRECTORY OPTIONS...   for the Ith options in DIRECTORY/I: two steps; then RANK makes the trouble; two
//                                                steps that may fail; the trouble ends; two steps more
//
// KIND: "moved"     the directory has another name, for all ranks
//       "hidden"    RANK sees an empty directory in its place
//       "readonly"  RANK sees it in a file system that is mounted read-only
//
// The last two need root: the rank mounts in a name space of its own. Where it may not, the program ends with 77.
#include "kill_steps.hpp"

#include <sched.h>
#include <sys/mount.h>

#include <cstdio>
#include <cstdlib>

namespace {

void must_system(int result, const char *what) {
    if (result == 0) return;
    std::perror(what);
    MPI_Abort(MPI_COMM_WORLD, 5);
}

bool own_mounts() { return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0; }

void begin_trouble(const std::string &kind, const std::string &here) {
    if (kind == "moved") return must_system(rename(here.c_str(), (here + ".away").c_str()), "rename");
    if (kind == "hidden") return must_system(mount("none", here.c_str(), "tmpfs", 0, "size=1m"), "mount");
    must_system(mount(here.c_str(), here.c_str(), nullptr, MS_BIND, nullptr), "mount --bind");
    must_system(mount(nullptr, here.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), "mount -o remount,ro");
}

void end_trouble(const std::string &kind, const std::string &here) {
    if (kind == "moved") return must_system(rename((here + ".away").c_str(), here.c_str()), "rename");
    must_system(umount2(here.c_str(), MNT_DETACH), "umount");
}

void run(const std::string &kind, int at_rank, const std::string &here, const std::string &options) {
    if (!open_stream(here, options)) MPI_Abort(MPI_COMM_WORLD, 8);
    for (int k = 0; k < 2; ++k) step();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == at_rank) begin_trouble(kind, here);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < 2; ++k) step();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == at_rank) end_trouble(kind, here);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < 2; ++k) must(step());
    must(close_stream());
}

}  // namespace

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (argc < 5) MPI_Abort(MPI_COMM_WORLD, 2);
    const std::string kind = argv[1], directory = argv[3];
    const int at_rank = std::atoi(argv[2]);
    int may = kind == "moved" || rank != at_rank || own_mounts();
    MPI_Allreduce(MPI_IN_PLACE, &may, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    for (number = 0; may != 0 && number < argc - 4; ++number)
        run(kind, at_rank, directory + "/" + std::to_string(number), argv[4 + number]);
    MPI_Finalize();
    return may != 0 ? 0 : 77;
}
