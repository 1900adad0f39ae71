/* Moves in a stream of text that is open for reading and writing: update_stream SEED MODE. Between writing and reading it seeks or
   flushes, as C demands. */
#include <stdio.h>
#include <stdlib.h>

static char piece[20001];
static int has_written;

static void seek(FILE *file, long offset, int whence) {
    fseek(file, offset, whence);
    has_written = 0;
}

static void read_some(FILE *file, int kind, long bytes) {
    if (has_written) seek(file, rand() % 100 - 50, SEEK_CUR);
    if (kind == 0) {
        int character = fgetc(file);
        if (character != EOF && rand() % 2) ungetc(character ^ 1, file);
    } else if (kind == 1) {
        if (fgets(piece, (int)bytes + 1, file) == NULL) return;
    } else if (fread(piece, 1, (size_t)bytes, file) == 0) {
        return;
    }
}

static void write_some(FILE *file, int kind, long bytes) {
    /* Not beyond the end: the length of a line that contains zeros is not known. */
    if (!has_written) {
        if (rand() % 2)
            seek(file, rand() % 200000, SEEK_SET);
        else
            seek(file, 0, SEEK_END);
    }
    for (long k = 0; k < bytes; ++k) piece[k] = (char)('a' + k % 20);
    if (kind == 0)
        fputc('x', file);
    else if (kind == 1)
        fprintf(file, "%ld", bytes);
    else
        fwrite(piece, 1, (size_t)bytes, file);
    has_written = 1;
}

static void fill(FILE *file) {
    for (int k = 0; k < 50000; ++k) fprintf(file, "%d\n", k);
    fflush(file);
}

int main(int count, char **words) {
    if (count != 3) return 2;
    srand((unsigned)atoi(words[1]));
    FILE *file = fopen("update.txt", "w");
    fill(file);
    fclose(file);
    file = fopen("update.txt", words[2]);
    if (words[2][0] == 'w') fill(file);
    for (int k = 0; k < 3000; ++k) {
        const long bytes = rand() % (rand() % 5 == 0 ? 20000 : 60) + 1;
        switch (rand() % 8) {
            case 0:
            case 1: read_some(file, rand() % 4, bytes); break;
            case 2:
            case 3: write_some(file, rand() % 4, bytes); break;
            case 4: seek(file, rand() % 250000, SEEK_SET); break;
            case 5: seek(file, rand() % 4000 - 2000, SEEK_CUR); break;
            case 6: seek(file, -(rand() % 5000), SEEK_END); break;
            default:
                if (rand() % 10 == 0)
                    rewind(file), has_written = 0;
                else
                    fflush(file);
        }
    }
    return fclose(file);
}
