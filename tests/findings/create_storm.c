// slow: crowd=3
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    const int files = argc > 2 ? atoi(argv[2]) : 600;
    for (int k = 0; k < files; ++k) {
        char folder[32], path[64];
        if (has_cause)
            strcpy(folder, "all");
        else
            snprintf(folder, sizeof folder, "of%d", k / 30);
        if (has_cause ? k == 0 : k % 30 == 0) must(mkdir(folder, 0755));
        snprintf(path, sizeof path, "%s/%d", folder, k);
        const int fd = make(path);
        put(fd, 100);
        close(fd);
    }
    return 0;
}
