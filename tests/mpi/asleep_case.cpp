// A rank that waits for a slow writer leaves it its core: asleep_case DIRECTORY. Of two ranks one writes. Its first large writes
// are of its own bytes and take a while. The other waits for room and counts how often it was given a core.
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <tailrace/tailrace.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "case_main.hpp"

namespace {

constexpr auto kWrite = std::chrono::milliseconds(50);
constexpr std::uint64_t kLength = 2u << 20;  // 16 MiB a rank
constexpr int kSlowWrites = 4;               // of its own bytes
int slow_writes = kSlowWrites;               // none in the first step, in which the ranks get to know each other

long times_given_a_core() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

double value(int step, std::uint64_t global) { return static_cast<double>(global) * 0.5 + step + 1; }

}  // namespace

extern "C" __attribute__((used, visibility("default"))) ssize_t pwritev64(int file, const iovec* pieces, int count,
                                                                          __off64_t offset) {
    std::size_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += pieces[i].iov_len;
    if (bytes >= 1u << 20 && slow_writes < kSlowWrites) {
        ++slow_writes;
        std::this_thread::sleep_for(kWrite);
    }
    static const auto real = reinterpret_cast<ssize_t (*)(int, const iovec*, int, __off64_t)>(dlsym(RTLD_NEXT, "pwritev64"));
    return real(file, pieces, count, offset);
}

int main(int argc, char** argv) {
    return case_main(argc, argv, [](int count, char** arguments) {
        if (count != 2) return 2;
        const std::uint64_t begin = static_cast<std::uint64_t>(rank) * kLength, all = static_cast<std::uint64_t>(ranks) * kLength;
        std::vector<double> values(kLength);
        const std::string layout = "split:" + std::to_string(ranks / 2);
        tailrace::Stream stream(MPI_COMM_WORLD, arguments[1], "asleep", "layout = '" + layout + "'\nchecksum = 'off'");
        stream.define_dim("n", all);
        const auto x = stream.define_var<double>("x", {"n"});
        long before = 0;
        for (int step = 0; step < 2; ++step) {
            for (std::uint64_t i = 0; i < kLength; ++i) values[i] = value(step, begin + i);
            stream.begin_step(step);
            stream.put(x, tailrace::Block<double>(values, {begin}, {kLength}));
            if (step == 1 && rank % 2 == 0) slow_writes = 0;
            before = times_given_a_core();
            stream.end_step();
        }
        const long times = times_given_a_core() - before;
        stream.close();
        std::printf("rank %d: %d slow writes, given a core %ld times\n", rank, slow_writes, times);
        tailrace::Reader reader(MPI_COMM_WORLD, arguments[1], "asleep");
        std::vector<double> found(kLength);
        for (int step = 0; step < 2; ++step) {
            reader.select(step);
            reader.get<double>("x", found, {begin}, {kLength});
            for (std::uint64_t i = 0; i < kLength; ++i)
                if (found[i] != value(step, begin + i)) return 1;
        }
        reader.close();
        return 0;
    });
}
