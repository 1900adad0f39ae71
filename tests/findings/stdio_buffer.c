// slow:
#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    FILE *file = fopen("all", "w");
    static char buffer[1 << 20];
    setvbuf(file, buffer, _IOFBF, has_cause ? 512 : sizeof buffer);
    for (int k = 0; k < 200000; ++k)
        if (fwrite(data, 1, 100, file) != 100) return 3;
    return fclose(file);
}
