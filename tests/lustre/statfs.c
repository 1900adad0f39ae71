/* Preloaded into the ranks: every directory is on Lustre, as far as statfs tells. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/vfs.h>

int statfs(const char *path, struct statfs *system) {
    static int (*real)(const char *, struct statfs *);
    if (!real) real = (int (*)(const char *, struct statfs *))dlsym(RTLD_NEXT, "statfs");
    const int result = real(path, system);
    system->f_type = 0x0BD00BD0;
    return result;
}

int statfs64(const char *path, struct statfs64 *system) { return statfs(path, (struct statfs *)system); }
