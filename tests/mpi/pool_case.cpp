// Streams over one communicator, one after the other and several at a time: pool_case DIRECTORY [threads]. Counts what is asked
// of MPI, and for shared memory.
#include <dlfcn.h>
#include <tailrace/tailrace.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "case_main.hpp"

namespace {

int duplicates = 0, splits = 0, memories = 0;
constexpr std::uint64_t length = 5;

}  // namespace

// Debian's MPICH links with optimisation across files, which would leave it out: only the library calls it.
extern "C" __attribute__((used, visibility("default"))) int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    ++duplicates;
    return PMPI_Comm_dup(comm, made);
}

extern "C" __attribute__((used, visibility("default"))) int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
    ++splits;
    return PMPI_Comm_split(comm, color, key, made);
}

extern "C" __attribute__((used, visibility("default"))) int shm_open(const char* name, int flags, mode_t mode) {
    ++memories;
    return reinterpret_cast<int (*)(const char*, int, mode_t)>(dlsym(RTLD_NEXT, "shm_open"))(name, flags, mode);
}

namespace {

using tailrace::Stream;

struct Open {
    Stream stream;
    tailrace::Variable<double> x;

    Open(MPI_Comm comm, const std::string& directory, const std::string& name, const std::string& layout = "single")
        : stream(comm, directory, name, "layout = '" + layout + "'\nmode = 'replace'") {
        int size = 1;
        MPI_Comm_size(comm, &size);
        stream.define_dim("n", length * static_cast<std::uint64_t>(size));
        x = stream.define_var<double>("x", {"n"});
    }
    void write(MPI_Comm comm, double step) {
        int mine = 0;
        MPI_Comm_rank(comm, &mine);
        const std::vector<double> values(length, step * 100 + mine);
        stream.begin_step(step);
        stream.put(x, tailrace::Block<double>(values, {length * static_cast<std::uint64_t>(mine)}, {length}));
        stream.end_step();
    }
};

bool is_right(MPI_Comm comm, const std::string& directory, const std::string& name, double step) {
    tailrace::Reader reader(comm, directory, name);
    int size = 1;
    MPI_Comm_size(comm, &size);
    std::vector<double> found(length * static_cast<std::uint64_t>(size));
    reader.get<double>("x", found, {std::uint64_t{0}}, {found.size()});
    reader.close();
    bool well = true;
    for (std::size_t i = 0; i < found.size(); ++i) well = well && found[i] == step * 100 + static_cast<double>(i / length);
    return well;
}

// How many duplicates it took.
int cycle(MPI_Comm comm, const std::string& directory) {
    const int before = duplicates;
    Open a(comm, directory, "a"), b(comm, directory, "b");
    a.write(comm, 1);
    b.write(comm, 2);
    a.stream.close();
    Open c(comm, directory, "c");
    c.write(comm, 3);
    b.write(comm, 4);
    c.stream.close();
    b.stream.close();
    if (!is_right(comm, directory, "a", 1) || !is_right(comm, directory, "b", 4) || !is_right(comm, directory, "c", 3)) return -1;
    return duplicates - before;
}

bool failed(const char* what) {
    std::fprintf(stderr, "rank %d: %s\n", rank, what);
    return false;
}

// Whether streams with other parts than the one before, and with the same, are right; the same need nothing new.
bool parts(const std::string& directory) {
    for (const char* layout : {"split:2", "split:3", "split:2"})
        for (int time = 0; time < 2; ++time) {
            const int splits_before = splits, memories_before = memories;
            Open one(MPI_COMM_WORLD, directory, "parts", layout);
            one.write(MPI_COMM_WORLD, time);
            one.stream.close();
            if (!is_right(MPI_COMM_WORLD, directory, "parts", time)) return failed("wrong values in parts");
            if (time > 0 && (splits > splits_before || memories > memories_before))
                return failed("the ranks of a part and their memory are there already");
        }
    return true;
}

bool all(const std::string& directory) {
    if (cycle(MPI_COMM_WORLD, directory) != 2) return failed("two streams at a time need two communicators");
    const int memories_before = memories;
    if (cycle(MPI_COMM_WORLD, directory) != 0) return failed("the second time there are two already");
    if (memories > memories_before) return failed("the second time there is memory already");
    if (!parts(directory)) return false;
    // The facade closes what its owner leaves; a stream that could not be opened has none.
    { const Open left(MPI_COMM_WORLD, directory, "left"); }
    if (cycle(MPI_COMM_WORLD, directory) != 0) return failed("one was closed by its owner's end");
    try {
        const Stream none(MPI_COMM_WORLD, directory, "none", "layout = 'nonsense'");
        return failed("a layout that is none was taken");
    } catch (const tailrace::Error&) {
        if (cycle(MPI_COMM_WORLD, directory) != 1) return failed("what could not be opened is not used again");
    }
    // Other ranks, freed by the user before and after the streams over them are closed.
    for (int k = 0; k < 3; ++k) {
        MPI_Comm half;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
        const std::string own = directory + "/half" + std::to_string(rank % 2);
        if (cycle(half, own) != 2 || cycle(half, own) != 0) return failed("another communicator has streams of its own");
        Open last(half, own, "last");
        last.write(half, 5);
        if (k == 1) {
            MPI_Comm kept;
            PMPI_Comm_dup(half, &kept);
            MPI_Comm_free(&half);
            last.stream.close();
            if (!is_right(kept, own, "last", 5)) return failed("closed after its communicator was freed");
            half = kept;
        } else {
            last.stream.close();
        }
        MPI_Comm_free(&half);
    }
    return cycle(MPI_COMM_WORLD, directory) == 0 || failed("those of all ranks are still there");
}

}  // namespace

int main(int argc, char** argv) {
    const auto run = [](int words, char** word) { return words < 2 ? 2 : all(word[1]) ? 0 : 1; };
    return case_main(argc, argv, run, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
}
