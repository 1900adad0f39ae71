// slow: fflush=200
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    FILE *file = fopen("all", "w");
    for (int k = 0; k < 500; ++k) {
        fprintf(file, "line %d\n", k);
        if (has_cause) fflush(file);
    }
    return fclose(file);
}
