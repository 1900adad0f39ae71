/* A stand-in for liblustreapi: it keeps the striping of a file under its inode in $FAKE_LUSTRE, notes the calls there, and has 12
 * storage servers. Directories stripe over 1 of them by 1 MiB. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct llapi_layout {
    uint64_t count, bytes;
};

static FILE *store(const char *name, const char *mode) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("FAKE_LUSTRE"), name);
    return fopen(path, mode);
}

static FILE *striping(const char *path, const char *mode) {
    struct stat status;
    char name[32];
    if (stat(path, &status) != 0) return NULL;
    snprintf(name, sizeof name, "%llu", (unsigned long long)status.st_ino);
    return store(name, mode);
}

int llapi_file_create(const char *path, unsigned long long bytes, int offset, int count, int pattern) {
    FILE *calls = store("calls", "a");
    fprintf(calls, "llapi_file_create %llu %d %d %d %s\n", bytes, offset, count, pattern, path);
    fclose(calls);
    if (count == 12) return -ENOSPC;
    const int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0666);
    if (file < 0) return -errno;
    close(file);
    FILE *kept = striping(path, "w");
    fprintf(kept, "%d %llu", count == 0 ? 1 : count > 12 ? 12 : count, bytes == 0 ? 1048576 : bytes);
    fclose(kept);
    return 0;
}

struct llapi_layout *llapi_layout_get_by_path(const char *path, uint32_t flags) {
    (void)flags;
    struct llapi_layout *layout = malloc(sizeof *layout);
    layout->count = 1, layout->bytes = 1048576;
    FILE *kept = striping(path, "r");
    if (kept && fscanf(kept, "%lu %lu", &layout->count, &layout->bytes) != 2) abort();
    if (kept) fclose(kept);
    return layout;
}

int llapi_layout_stripe_count_get(const struct llapi_layout *layout, uint64_t *count) { return *count = layout->count, 0; }
int llapi_layout_stripe_size_get(const struct llapi_layout *layout, uint64_t *bytes) { return *bytes = layout->bytes, 0; }
void llapi_layout_free(struct llapi_layout *layout) { free(layout); }
