/* Preloaded into the ranks: every directory is on Lustre, as far as statfs tells, or on the file system whose number is in
   STATFS_TYPE. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/vfs.h>

int statfs(const char *path, struct statfs *system) {
    static int (*real)(const char *, struct statfs *);
    if (!real) real = (int (*)(const char *, struct statfs *))dlsym(RTLD_NEXT, "statfs");
    const int result = real(path, system);
    const char *type = getenv("STATFS_TYPE");
    system->f_type = type ? strtol(type, NULL, 0) : 0x0BD00BD0;
    return result;
}

int statfs64(const char *path, struct statfs64 *system) { return statfs(path, (struct statfs *)system); }
