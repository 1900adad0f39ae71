// slow: pread=2000
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    const int fd = make("all");
    put(fd, sizeof data);
    for (int k = 0; k < (has_cause ? 50 : 1); ++k)
        if (pread(fd, data, sizeof data, 0) != sizeof data) return 3;
    return close(fd);
}
