// Beginning, end, communicators and their attributes, for one process.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "mpi.h"

struct tailrace_one_process_comm {
    std::map<int, void *> attributes;
};

tailrace_one_process_comm tailrace_one_process_world, tailrace_one_process_self;

namespace {

struct Key {
    MPI_Comm_copy_attr_function *copy;
    MPI_Comm_delete_attr_function *remove;
    void *extra;
};

std::atomic<bool> is_initialized{false}, is_finalized{false};
// Held for moments only, never while a function of a key is called.
std::mutex tables;

// Keys stay: attributes of a key that was freed remain until their communicators end.
std::vector<Key> &keys() {
    static auto *const all = new std::vector<Key>;  // used until the process has ended
    return *all;
}

// Fortran handles are places in this list; none is used twice.
std::vector<MPI_Comm> &handles() {
    static auto *const all = new std::vector<MPI_Comm>{MPI_COMM_WORLD, MPI_COMM_SELF};
    return *all;
}

std::optional<std::pair<int, void *>> take_last_attribute(MPI_Comm comm) {
    const std::lock_guard lock(tables);
    if (comm->attributes.empty()) return std::nullopt;
    const auto last = std::prev(comm->attributes.end());
    const std::pair<int, void *> taken(last->first, last->second);
    comm->attributes.erase(last);
    return taken;
}

Key key_of(int number) {
    const std::lock_guard lock(tables);
    return keys().at(static_cast<size_t>(number));
}

// In the opposite order of their keys.
void delete_attributes(MPI_Comm comm) {
    while (const auto attribute = take_last_attribute(comm))
        if (const Key key = key_of(attribute->first); key.remove) key.remove(comm, attribute->first, attribute->second, key.extra);
}

int new_communicator(MPI_Comm *made) {
    *made = new tailrace_one_process_comm;
    return MPI_SUCCESS;
}

void put_text(const char *text, char *to, int *length) {
    std::strcpy(to, text);
    *length = static_cast<int>(std::strlen(text));
}

}  // namespace

extern "C" {

int MPI_Init_thread(int *, char ***, int, int *provided) {
    is_initialized = true;
    *provided = MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

int MPI_Initialized(int *flag) {
    *flag = is_initialized;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag) {
    *flag = is_finalized;
    return MPI_SUCCESS;
}

int MPI_Finalize(void) {
    delete_attributes(MPI_COMM_SELF);  // first, as MPI says
    delete_attributes(MPI_COMM_WORLD);
    is_finalized = true;
    return MPI_SUCCESS;
}

int MPI_Query_thread(int *provided) {
    *provided = MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm, int code) { std::_Exit(code); }

int MPI_Get_library_version(char *text, int *length) {
    put_text("one process, without MPI", text, length);
    return MPI_SUCCESS;
}

int MPI_Error_string(int, char *text, int *length) {
    put_text("there is no other rank: this build of Tailrace has one process, without MPI", text, length);
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm, int *rank) {
    *rank = 0;
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm, int *size) {
    *size = 1;
    return MPI_SUCCESS;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy) {
    new_communicator(copy);
    std::map<int, void *> attributes;
    {
        const std::lock_guard lock(tables);
        attributes = comm->attributes;
    }
    for (const auto &[number, value] : attributes) {
        const Key key = key_of(number);
        void *copied = nullptr;
        int is_copied = 0;
        if (key.copy) key.copy(comm, number, key.extra, value, static_cast<void *>(&copied), &is_copied);
        if (is_copied) (*copy)->attributes[number] = copied;
    }
    return MPI_SUCCESS;
}

int MPI_Comm_split(MPI_Comm, int color, int, MPI_Comm *part) {
    *part = MPI_COMM_NULL;
    return color == MPI_UNDEFINED ? MPI_SUCCESS : new_communicator(part);
}

int MPI_Comm_split_type(MPI_Comm, int type, int, MPI_Info, MPI_Comm *part) {
    *part = MPI_COMM_NULL;
    return type == MPI_UNDEFINED ? MPI_SUCCESS : new_communicator(part);
}

int MPI_Comm_free(MPI_Comm *comm) {
    delete_attributes(*comm);
    {
        const std::lock_guard lock(tables);
        for (MPI_Comm &handle : handles())
            if (handle == *comm) handle = MPI_COMM_NULL;
    }
    delete *comm;
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

MPI_Fint MPI_Comm_c2f(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) return -1;
    const std::lock_guard lock(tables);
    for (size_t i = 0; i < handles().size(); ++i)
        if (handles()[i] == comm) return static_cast<MPI_Fint>(i);
    handles().push_back(comm);
    return static_cast<MPI_Fint>(handles().size() - 1);
}

MPI_Comm MPI_Comm_f2c(MPI_Fint handle) {
    const std::lock_guard lock(tables);
    return handle >= 0 && static_cast<size_t>(handle) < handles().size() ? handles()[static_cast<size_t>(handle)] : MPI_COMM_NULL;
}

int tailrace_one_process_copy(MPI_Comm, int, void *, void *value, void *copy, int *is_copied) {
    *static_cast<void **>(copy) = value;
    *is_copied = 1;
    return MPI_SUCCESS;
}

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *remove, int *key, void *extra) {
    const std::lock_guard lock(tables);
    *key = static_cast<int>(keys().size());
    keys().push_back({copy, remove, extra});
    return MPI_SUCCESS;
}

int MPI_Comm_free_keyval(int *key) {
    *key = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

int MPI_Comm_set_attr(MPI_Comm comm, int key, void *value) {
    const std::lock_guard lock(tables);
    comm->attributes[key] = value;
    return MPI_SUCCESS;
}

int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *found) {
    const std::lock_guard lock(tables);
    const auto at = comm->attributes.find(key);
    *found = at != comm->attributes.end();
    if (*found) *static_cast<void **>(value) = at->second;
    return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler) { return MPI_SUCCESS; }

int MPI_Comm_get_errhandler(MPI_Comm, MPI_Errhandler *handler) {
    *handler = MPI_ERRORS_RETURN;
    return MPI_SUCCESS;
}

int MPI_Errhandler_free(MPI_Errhandler *) { return MPI_SUCCESS; }

}  // extern "C"
