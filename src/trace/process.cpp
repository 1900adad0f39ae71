#include "trace/process.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/kernel.hpp"
#include "trace/raw.hpp"

namespace tailrace::trace {
namespace {

// Programs that start ranks and are no ranks themselves: their own calls are not recorded.
constexpr const char* kLaunchers[] = {
    "mpirun",        "mpiexec",         "orterun",        "orted",           "prterun",      "prted",
    "mpiexec.hydra", "hydra_pmi_proxy", "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich",
    "srun",          "sbatch",          "salloc",         "slurmstepd",      "ssh",          "sshd"};

constexpr char kCalls[] =
#define TAILRACE_CALL(name, number, group) #name " " #number " " #group "\n"
#include "trace/calls.def"
#undef TAILRACE_CALL
    "";

// The value of the first variable that is set; -1 where none is.
int32_t first_variable_of(const char* const* names, uint64_t count) {
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
    header.format.version = kVersion;
    header.format.header_bytes = kHeaderBytes;
    header.format.chunk_bytes = kChunkBytes;
    header.format.slot_bytes = kSlotBytes;
    header.numbers.process = static_cast<int32_t>(raw::call(SYS_getpid));
    header.numbers.parent = static_cast<int32_t>(raw::call(SYS_getppid));
    constexpr const char* kRanks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    constexpr const char* kSizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
    header.numbers.rank = first_variable_of(kRanks, 4);
    header.numbers.ranks = first_variable_of(kSizes, 3);
    char host[65] = "";
    gethostname(host, sizeof host);
    raw::put_text(header.host, host, sizeof header.host);
    raw::call(SYS_readlinkat, AT_FDCWD, raw::address("/proc/self/exe"), raw::address(header.program), sizeof header.program - 1);
    raw::read_file("/proc/self/cmdline", header.command, sizeof header.command - 1);
    static_assert(sizeof kCalls <= sizeof header.calls);
    memcpy(header.calls, kCalls, sizeof kCalls);
    const KernelCountsNow now = kernel_counts_now();
    header.counts.begin = now.process;
    header.thread_counts.begin = now.thread;
    header.own = now.own_reads;
}

}  // namespace tailrace::trace
