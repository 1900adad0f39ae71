// slow: fsync=2000
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    const int fd = make("all");
    for (int k = 0; k < 50; ++k) {
        put(fd, 4096);
        if (has_cause || k == 49) must(fsync(fd));
    }
    return close(fd);
}
