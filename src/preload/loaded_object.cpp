#include "preload/loaded_object.hpp"

#include <dlfcn.h>
#include <link.h>

#include "trace/raw.hpp"

namespace tailrace::preload {
namespace {

namespace raw = trace::raw;

// The struct dl_find_object of <dlfcn.h> in glibc from 2.35 on.
struct FoundObject {
    unsigned long long flags;
    void *begin, *end;
    link_map* object;
    void* frames;
    unsigned long long reserved[7];
};
using FindObject = int (*)(void* address, FoundObject* found);

constinit FindObject find_object = nullptr;
constinit char program[4096] = "";  // path of the program's file, which the loader reports with an empty name

}  // namespace

void prepare_loaded_objects() {
    if (program[0] != '\0') return;
    const int64_t bytes =
        raw::call(SYS_readlinkat, AT_FDCWD, raw::address("/proc/self/exe"), raw::address(program), sizeof program - 1);
    if (bytes <= 0) program[0] = '?';
    find_object = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
}

LoadedObject loaded_object(const void* address) {
    if (find_object != nullptr) {
        FoundObject found;
        if (find_object(const_cast<void*>(address), &found) != 0 || found.object == nullptr) return {};
        const char* name = found.object->l_name;
        return {static_cast<const char*>(found.begin), name == nullptr || *name == '\0' ? program : name};
    }
    Dl_info info;
    void* object = nullptr;
    if (dladdr1(address, &info, &object, RTLD_DL_LINKMAP) == 0 || object == nullptr) return {};
    const char* name = static_cast<const link_map*>(object)->l_name;
    return {static_cast<const char*>(info.dli_fbase), name == nullptr || *name == '\0' ? program : name};
}

}  // namespace tailrace::preload
