// slow: open=200
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    for (int k = 0; k < (has_cause ? 400 : 4); ++k) {
        const int fd = must(open("/bin/sh", O_RDONLY));
        close(fd);
    }
    return 0;
}
