#include "preload/mpi.hpp"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "environment/variables.hpp"
#include "preload/handles.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload {

extern "C" {
// The place where Fortran code has called MPI. Declared extern "C", because access to a C++ thread_local of another file calls a
// function that initialises it.
[[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]] thread_local constinit const void* tailrace_fortran_site = nullptr;
}

namespace {

namespace raw = trace::raw;

constinit Handles groups = {};  // communicator -> id of its group of ranks

Word masked(const void* object, Word handle) {
    const MpiAbi* abi = mpi_abi(object);
    return abi == nullptr ? handle : handle & abi->handle_mask;
}

// Memory from mmap, not malloc, which is freed at the end of the scope.
class Pages {
public:
    explicit Pages(uint64_t bytes) : bytes_(bytes) {
        at_ = raw::call(SYS_mmap, 0, static_cast<int64_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages() {
        if (is_mapped()) raw::call(SYS_munmap, at_, static_cast<int64_t>(bytes_));
    }
    bool is_mapped() const { return at_ > 0; }
    int* numbers() const { return reinterpret_cast<int*>(at_); }

private:
    const uint64_t bytes_;
    int64_t at_;
};

// The id of a group's name, such as "MPI ranks 0-3,8". If the name is too long, it has the number of ranks and a hash of them.
uint64_t name_ranks(const int* ranks, int count) {
    constexpr uint64_t kMost = 2000;
    char text[kMost + 64] = "MPI ranks ";
    uint64_t at = 10;
    for (int first = 0; first < count && at < kMost;) {
        int last = first;
        while (last + 1 < count && ranks[last + 1] == ranks[last] + 1) ++last;
        if (first > 0) text[at++] = ',';
        at += raw::put_number(text + at, static_cast<uint64_t>(ranks[first]));
        if (last > first) {
            text[at++] = '-';
            at += raw::put_number(text + at, static_cast<uint64_t>(ranks[last]));
        }
        first = last + 1;
    }
    if (at >= kMost) {
        at = 10 + raw::put_number(text + 10, static_cast<uint64_t>(count));
        memcpy(text + at, " of #", 5);
        const uint64_t hash = trace::hash_of(reinterpret_cast<const char*>(ranks), static_cast<uint64_t>(count) * sizeof(int));
        at += 5 + raw::put_number(text + at + 5, hash);
    }
    return trace::name_id(text, at);
}

// The id of the group of a communicator's ranks, as numbered in MPI_COMM_WORLD.
uint64_t find_group(const void* object, const MpiAbi& abi, Word communicator) {
    void* const group_of = LIBRARY_FUNCTION(PMPI_Comm_group)(object);
    void* const free_group = LIBRARY_FUNCTION(PMPI_Group_free)(object);
    Word group = 0, world = 0;  // large enough for a handle of any MPI library
    int count = 0;
    uint64_t name = 0;
    if (as_int(call_words(group_of, {{communicator, as_word(&group)}})) != 0) return 0;
    if (as_int(call_words(group_of, {{abi.world, as_word(&world)}})) == 0) {
        call_words(LIBRARY_FUNCTION(PMPI_Group_size)(object), {{group, as_word(&count)}});
        const Pages pages(2 * sizeof(int) * static_cast<uint64_t>(count) + 1);
        if (count > 0 && pages.is_mapped()) {
            int *const mine = pages.numbers(), *const in_world = mine + count;
            for (int i = 0; i < count; ++i) mine[i] = i;
            void* const translate = LIBRARY_FUNCTION(PMPI_Group_translate_ranks)(object);
            if (as_int(call_words(translate, {{group, count, as_word(mine), world, as_word(in_world)}})) == 0)
                name = name_ranks(in_world, count);
        }
        call_words(free_group, {{as_word(&world)}});
    }
    call_words(free_group, {{as_word(&group)}});
    return name;
}

// Whether MPI is initialized and not finalized. A barrier at any other time would end the program.
bool is_mpi_active(const void* object) {
    int begun = 0, ended = 1;
    call_words(LIBRARY_FUNCTION(PMPI_Initialized)(object), {{as_word(&begun)}});
    if (begun != 0) call_words(LIBRARY_FUNCTION(PMPI_Finalized)(object), {{as_word(&ended)}});
    return begun != 0 && ended == 0;
}

// Whether the call is in TAILRACE_BARRIERS. With a barrier before it, waiting within the call becomes visible as waiting.
bool wants_barrier(Call call) {
    static constinit std::atomic<const char*> names = nullptr;
    const char* wanted = names.load(std::memory_order_relaxed);
    if (wanted == nullptr) {
        wanted = getenv(variable::BARRIERS);
        if (wanted == nullptr) wanted = "";
        names.store(wanted);
    }
    if (*wanted == '\0') return false;
    const char* name = trace::name_of(call);
    const uint64_t bytes = strlen(name);
    for (const char* at = strstr(wanted, name); at != nullptr; at = strstr(at + 1, name))
        if ((at == wanted || at[-1] == ',') && (at[bytes] == ',' || at[bytes] == '\0')) return true;
    return false;
}

}  // namespace

const MpiAbi* mpi_abi(const void* object) {
    // Each MPI library is recognised by a symbol that only it defines.
    static constinit std::atomic<const MpiAbi*> known = nullptr;
    if (const MpiAbi* abi = known.load(std::memory_order_acquire)) return abi;
    static constinit MpiAbi open_mpi = {.world = 0, .no_status = 0, .in_place = 1, .handle_mask = -1, .handle_bytes = 8};
    static constinit MpiAbi mpich = {
        .world = 0x44000000, .no_status = 1, .in_place = -1, .handle_mask = 0xFFFFFFFF, .handle_bytes = 4};
    // Look this symbol up with RTLD_DEFAULT, as the program would: it is a data object, of which the program may have a copy that
    // MPI then uses.
    void* world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
    if (world == nullptr) world = LIBRARY_FUNCTION(ompi_mpi_comm_world)(object);
    if (world != nullptr) {
        open_mpi.world = as_word(world);
        known.store(&open_mpi, std::memory_order_release);
    } else if (LIBRARY_FUNCTION(MPIR_Dup_fn)(object) != nullptr) {
        known.store(&mpich, std::memory_order_release);
    }
    return known.load();
}

void insert_barrier(Call call, const Site& site) {
    if ((tailrace_within & static_cast<uint16_t>(trace::Within::mpi)) != 0 || !wants_barrier(call)) return;
    const MpiAbi* abi = mpi_abi(site.object);
    if (abi == nullptr || !is_mpi_active(site.object)) return;
    Traced barrier(Call::MPI_Barrier);
    const Layer layer(trace::Within::mpi);
    const Word result = call_words(LIBRARY_FUNCTION(PMPI_Barrier)(site.object), {{abi->world}});
    barrier.record(-int64_t{as_int(result)}, {.detail = site.name, .flags = trace::kInserted}, mpi_group(site.object, abi->world));
}

MpiCall::MpiCall(Call call, const void* return_address)
    : here_(site_of(return_address)), caller_(tailrace_fortran_site == nullptr ? here_ : site_of(tailrace_fortran_site)),
      traced_((insert_barrier(call, here_), call)), layer_(trace::Within::mpi) {}

Word MpiCall::finish(Word result, const MpiCallInfo& info) {
    if (!is_recording()) return result;
    const int error = as_int(result);
    const uint64_t path = call_path(), place = path == 0 ? caller_.name : path;
    if (error == 0)
        traced_.record(info.moved, {.offset = info.offset, .bytes = info.bytes, .detail = place}, info.file);
    else
        traced_.record(-int64_t{error}, {.detail = place}, info.file);
    return result;
}

uint64_t mpi_bytes(const void* object, Word count, Word type) {
    if (as_int(count) <= 0) return 0;
    int bytes = 0;
    if (as_int(call_words(LIBRARY_FUNCTION(PMPI_Type_size)(object), {{type, as_word(&bytes)}})) != 0) return 0;
    int64_t all_bytes = bytes;
    if (bytes < 0) {  // MPI_UNDEFINED: the size does not fit into an int
        void* const size_x = LIBRARY_FUNCTION(PMPI_Type_size_x)(object);
        if (size_x == nullptr || as_int(call_words(size_x, {{type, as_word(&all_bytes)}})) != 0 || all_bytes < 0) return 0;
    }
    return static_cast<uint64_t>(as_int(count)) * static_cast<uint64_t>(all_bytes);
}

uint64_t mpi_group(const void* object, Word communicator) {
    const MpiAbi* abi = mpi_abi(object);
    if (abi == nullptr) return 0;
    const Word handle = masked(object, communicator);
    if (const uint64_t known = groups.find(handle)) return known;
    const uint64_t name = find_group(object, *abi, communicator);
    groups.put(handle, name);
    return name;
}

void forget_group(const void* object, Word communicator) { groups.remove(masked(object, communicator)); }

FortranCall::FortranCall(const void* return_address) : is_outermost_(tailrace_fortran_site == nullptr) {
    if (is_outermost_) tailrace_fortran_site = return_address;
}

FortranCall::~FortranCall() {
    if (is_outermost_) tailrace_fortran_site = nullptr;
}

}  // namespace tailrace::preload
