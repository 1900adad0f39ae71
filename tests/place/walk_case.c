/* Walks by nftw and fts over a folder whose files may be placed or staged. Prints each entry, sorted where directories have no
 * order. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES 4000
static char *lines[LINES];
static int count = 0;

static void keep(char *line) {
    if (count == LINES) abort();
    lines[count++] = line;
}

static int compare_lines(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void print_sorted(const char *title, int number) {
    printf("%s %d: %d lines\n", title, number, count);
    qsort(lines, (size_t)count, sizeof lines[0], compare_lines);
    for (int i = 0; i < count; ++i) {
        puts(lines[i]);
        free(lines[i]);
    }
    count = 0;
}

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        perror(path);
        exit(2);
    }
}

static int ends = -1; /* the visit that ends the walk; -1: none */

static int visit(const char *path, const struct stat *file, int kind, struct FTW *at) {
    char *line = NULL;
    const int is_there = access(path + at->base, F_OK);
    if (asprintf(&line, "%s kind %d level %d base %d size %ld from here %d", path, kind, at->level, at->base,
                 kind == FTW_F ? (long)file->st_size : 0, is_there) < 0)
        abort();
    keep(line);
    return count - 1 == ends ? 7 : 0;
}

static int by_name(const FTSENT **a, const FTSENT **b) { return strcmp((*a)->fts_name, (*b)->fts_name); }

static char *line_of(const FTSENT *entry, int options) {
    char *line = NULL;
    const int has_size = entry->fts_info == FTS_F && (options & FTS_NOSTAT) == 0;
    if (asprintf(&line, "%.*s %s level %d info %d lengths %d %d errno %d size %ld there %d cycle %s", entry->fts_pathlen,
                 entry->fts_path, entry->fts_name, entry->fts_level, entry->fts_info, entry->fts_pathlen, entry->fts_namelen,
                 entry->fts_errno, has_size ? (long)entry->fts_statp->st_size : -1, access(entry->fts_accpath, F_OK),
                 entry->fts_info == FTS_DC ? entry->fts_cycle->fts_name : "-") < 0)
        abort();
    return line;
}

static FTS *opened(int options, int is_sorted) {
    char data[] = "data", notes[] = "data/notes", none[] = "none", slash[] = "data/folder/", link[] = "data/to folder";
    char *paths[] = {data, notes, none, slash, link, NULL};
    FTS *walk = fts_open(paths, options, is_sorted ? by_name : NULL);
    if (walk == NULL) {
        perror("fts_open");
        exit(2);
    }
    return walk;
}

static void walk_all(int options) {
    FTS *walk = opened(options, 0);
    const FTSENT *entry;
    while ((entry = fts_read(walk)) != NULL) keep(line_of(entry, options));
    const int code = errno;
    print_sorted("fts", options);
    printf("end %d, close %d\n", code, fts_close(walk));
}

/* In the order of names, with instructions, and with lists of children. */
static void walk_instructed(int options) {
    FTS *walk = opened(options, 1);
    FTSENT *entry;
    int again = 0;
    for (const FTSENT *root = fts_children(walk, 0); root != NULL; root = root->fts_link) printf("root %s\n", root->fts_name);
    while ((entry = fts_read(walk)) != NULL) {
        char *line = line_of(entry, options);
        puts(line);
        free(line);
        if (entry->fts_info == FTS_D && strcmp(entry->fts_name, "folder") == 0 && entry->fts_level == 1)
            printf("skip %d\n", fts_set(walk, entry, FTS_SKIP));
        if (entry->fts_info == FTS_SL) printf("follow %d\n", fts_set(walk, entry, FTS_FOLLOW));
        if (entry->fts_info == FTS_F && again++ == 0) printf("again %d\n", fts_set(walk, entry, FTS_AGAIN));
        if (entry->fts_info != FTS_D) continue;
        for (FTSENT *child = fts_children(walk, 0); child != NULL; child = child->fts_link) {
            printf("child %s info %d\n", child->fts_name, child->fts_info);
            if (strcmp(child->fts_name, "b.0.0001") == 0) fts_set(walk, child, FTS_SKIP);
        }
        if (entry->fts_level != 0) continue;
        for (const FTSENT *child = fts_children(walk, 0x0100); child != NULL; child = child->fts_link)
            printf("name %s info %d\n", child->fts_name, child->fts_info);
    }
    printf("close %d\n", fts_close(walk));
    walk = opened(options, 1);
    for (int k = 0; k < 5; ++k) fts_read(walk);
    printf("wrong %d", fts_set(walk, NULL, 99));
    printf(" %d", fts_children(walk, 1) == NULL);
    printf(" %d\n", errno == EINVAL);
    printf("close early %d\n", fts_close(walk));
}

int main(void) {
    if (mkdir("data", 0755) != 0 || mkdir("data/folder", 0755) != 0 || mkdir("data/folder/inner", 0755) != 0) return 2;
    if (mkdir("data/empty", 0755) != 0) return 2;
    put("data/folder/inner/x.0.1", "not placed");
    for (int i = 0; i < 12; ++i) {
        char name[40];
        snprintf(name, sizeof name, "data/%c.%d.%04d", 'a' + i % 2, i % 3, i);
        put(name, "text");
    }
    put("data/notes", "flat");
    if (symlink("none", "data/link") != 0 || symlink("..", "data/folder/up") != 0 || symlink("folder", "data/to folder") != 0)
        return 2;
    for (int flags = 0; flags < 16; ++flags) {
        printf("result %d\n", nftw("data", visit, 10, flags));
        print_sorted("nftw", flags);
        ends = 3;
        printf("ended %d ", nftw("./data/", visit, 10, flags));
        printf("%d here %d\n", count, access("data", F_OK));
        while (count > 0) free(lines[--count]); /* which ones they are depends on the directory */
        ends = -1;
    }
    const int kinds[] = {FTS_PHYSICAL, FTS_LOGICAL, FTS_PHYSICAL | FTS_COMFOLLOW};
    const int more[] = {0, FTS_NOCHDIR, FTS_NOSTAT, FTS_SEEDOT, FTS_XDEV | FTS_NOCHDIR, FTS_NOSTAT | FTS_SEEDOT | FTS_NOCHDIR};
    for (size_t k = 0; k < 3; ++k)
        for (size_t m = 0; m < 6; ++m) walk_all(kinds[k] | more[m]);
    /* Without FTS_NOCHDIR the C library ends a walk that follows a link to .. */
    for (size_t k = 0; k < 3; ++k) walk_instructed(kinds[k] | FTS_NOCHDIR);
    printf("here %d\n", access("data", F_OK));
    char empty[] = "";
    char *wrong[] = {empty, NULL}, *nothing[] = {NULL};
    printf("wrong %d", fts_open(wrong, FTS_PHYSICAL, NULL) == NULL);
    printf(" %d", errno);
    printf(" %d", fts_open(nothing, 0x10000, NULL) == NULL);
    printf(" %d\n", errno);
    return 0;
}
