// slow: write=30
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    const int fd = make("all");
    for (int k = 0; k < (has_cause ? 5000 : 1); ++k) put(fd, has_cause ? 100 : 500000);
    return close(fd);
}
