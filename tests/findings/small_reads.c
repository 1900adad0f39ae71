// slow: read=30
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    const int fd = make("all");
    put(fd, 500000);
    lseek(fd, 0, SEEK_SET);
    for (int k = 0; k < (has_cause ? 5000 : 1); ++k)
        if (read(fd, data, has_cause ? 100 : 500000) <= 0) return 3;
    return close(fd);
}
