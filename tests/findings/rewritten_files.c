// slow: pwrite=2000
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    const int fd = make("all");
    for (int k = 0; k < (has_cause ? 50 : 1); ++k) put_at(fd, sizeof data, 0);
    return close(fd);
}
