// slow: open=500
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    int fd = make("all");
    for (int k = 0; k < 100; ++k) {
        put(fd, 4096);
        if (has_cause) {
            close(fd);
            fd = must(open("all", O_WRONLY | O_APPEND));
        }
    }
    return close(fd);
}
