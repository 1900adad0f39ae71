// slow: aside=1000
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    const int fd = make("all");
    for (int k = 0; k < 200; ++k) put_at(fd, 64 << 10, k * (64l << 10) + (has_cause && k >= 50 ? 1000 : 0));
    return close(fd);
}
