#include "trace/process.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/kernel.hpp"
#include "trace/raw.hpp"

namespace tailrace::trace {
namespace {

// They start ranks and are none; nor do they tell of their own calls.
constexpr const char* kLaunchers[] = {
    "mpirun",        "mpiexec",         "orterun",        "orted",           "prterun",      "prted",
    "mpiexec.hydra", "hydra_pmi_proxy", "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich",
    "srun",          "sbatch",          "salloc",         "slurmstepd",      "ssh",          "sshd"};

constexpr char kCalls[] =
#define TAILRACE_CALL(name, number, group) #name " " #number " " #group "\n"
#include "trace/calls.def"
#undef TAILRACE_CALL
    "";

int32_t first_number_of(const char* const* names, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i)
        if (const char* text = getenv(names[i])) return static_cast<int32_t>(number_at(text, 0));
    return -1;
}

}  // namespace

bool is_launcher(const char* program) {
    const char* slash = strrchr(program, '/');
    const char* name = slash == nullptr ? program : slash + 1;
    for (const char* launcher : kLaunchers)
        if (strcmp(name, launcher) == 0) return true;
    return false;
}

void describe_process(Header& header) {
    memcpy(header.magic, kMagic, sizeof kMagic);
    header.version = kVersion;
    header.header_bytes = kHeaderBytes;
    header.chunk_bytes = kChunkBytes;
    header.slot_bytes = kSlotBytes;
    header.process = static_cast<int32_t>(raw::call(SYS_getpid));
    header.parent = static_cast<int32_t>(raw::call(SYS_getppid));
    constexpr const char* kRanks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    constexpr const char* kSizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
    header.rank = first_number_of(kRanks, 4);
    header.ranks = first_number_of(kSizes, 3);
    char host[65] = "";
    gethostname(host, sizeof host);
    raw::put_text(header.host, host, sizeof header.host);
    raw::call(SYS_readlinkat, AT_FDCWD, raw::address("/proc/self/exe"), raw::address(header.program), sizeof header.program - 1);
    raw::read_file("/proc/self/cmdline", header.command, sizeof header.command - 1);
    static_assert(sizeof kCalls <= sizeof header.calls);
    memcpy(header.calls, kCalls, sizeof kCalls);
    const Counted now = count_now();
    header.at_begin = now.process;
    header.thread_at_begin = now.thread;
    header.own = now.asking;
}

}  // namespace tailrace::trace
