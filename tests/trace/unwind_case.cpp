// What ends calls from within: unwind_case FOLDER. A thread that is cancelled while it reads, an exception of a function that the C
// library calls. Both pass through the tracer's hooks to the program.
#include <ftw.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>

namespace {

std::atomic<int> ended = 0;

struct OnTheWay {
    ~OnTheWay() { ++ended; }
};

int never[2];

void* reads_for_ever(void*) {
    const OnTheWay here;
    char byte;
    if (read(never[0], &byte, 1) < 0) std::perror("read");
    return nullptr;
}

int refuse(const char*, const struct stat*, int, FTW*) { throw std::runtime_error("found"); }

bool throws(const char* folder) {
    const OnTheWay here;
    try {
        nftw(folder, refuse, 4, FTW_PHYS);
    } catch (const std::runtime_error&) {
        return true;
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 || pipe(never) != 0) return 1;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, reads_for_ever, nullptr) != 0) return 1;
    usleep(100'000);
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
    if (ended != 1) return 2;
    if (!throws(argv[1]) || ended != 2) return 3;
    return write(never[1], "x", 1) == 1 ? 0 : 4;
}
