// slow: stat=200
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    struct stat status;
    for (int k = 0; k < (has_cause ? 500 : 5); ++k) {
        char path[64];
        snprintf(path, sizeof path, "nowhere/%d", k);
        if (stat(path, &status) == 0) return 3;
    }
    return 0;
}
