// slow: unlink=300
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    for (int k = 0; k < 400; ++k) {
        char path[64];
        snprintf(path, sizeof path, "%d", k);
        close(make(path));
        if (has_cause) must(unlink(path));
    }
    return 0;
}
