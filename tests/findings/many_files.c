// slow: open=300
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    int fd = has_cause ? -1 : make("all");
    for (int k = 0; k < 400; ++k) {
        char path[64];
        snprintf(path, sizeof path, "%d", k);
        if (has_cause) fd = make(path);
        put(fd, 1024);
        if (has_cause) close(fd);
    }
    return 0;
}
