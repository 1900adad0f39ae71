// MPI-IO: the calls of the program. What the library makes of them is recorded as calls of the C library, within these.
#include "preload/handles.hpp"
#include "preload/mpi.hpp"

namespace tailrace::preload {
namespace {

constinit Handles files = {};  // their names

// Which words of a call say where in the file, how many elements of which type, how many were moved, and where the request is put.
struct Transfer {
    int offset = -1, count = -1, type = -1, status = -1, request = -1;
};

// A status says how many elements have come; without one it is what was asked for.
int64_t moved(const void* object, Word status, Word type, uint64_t bytes, Word asked) {
    const MpiAbi* abi = mpi_abi(object);
    int count = -1;
    if (abi == nullptr || status == abi->no_status || as_int(asked) <= 0) return static_cast<int64_t>(bytes);
    if (as_int(call_words(LIBRARY_FUNCTION(PMPI_Get_count)(object), {{status, type, as_word(&count)}})) != 0 || count < 0)
        return static_cast<int64_t>(bytes);
    return static_cast<int64_t>(bytes / static_cast<uint64_t>(as_int(asked))) * count;
}

Word transfer(const Words& words, FindFunction find, const void* return_address, Call name, const Transfer& is) {
    MpiCall call(name, return_address);
    const Word answer = call_words(find(call.object()), words);
    if (!call.on()) return call.done(answer, {});
    MpiAbout about = {.file = files.find(words.at[0])};
    if (is.offset >= 0) about.offset = words.at[is.offset];
    if (is.count >= 0 && as_int(answer) == 0) {
        about.bytes = mpi_bytes(call.object(), words.at[is.count], words.at[is.type]);
        about.moved = static_cast<int64_t>(about.bytes);
        if (is.status >= 0)
            about.moved = moved(call.object(), words.at[is.status], words.at[is.type], about.bytes, words.at[is.count]);
    }
    if (is.request >= 0 && as_int(answer) == 0) put_request(call.object(), words.at[is.request], about.file);
    return call.done(answer, about);
}

// (communicator, name, mode, info, place of the handle)
Word open_file(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    const Word answer = call_words(find(call.object()), words);
    if (!call.on()) return call.done(answer, {});
    const uint64_t file = file_of(reinterpret_cast<const char*>(words.at[1]));
    if (as_int(answer) == 0) files.put(*reinterpret_cast<const Word*>(words.at[4]), file);
    return call.done(answer, {.file = file});
}

// (place of the handle), which is another one afterwards
Word close_file(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    const Word handle = *reinterpret_cast<const Word*>(words.at[0]);
    const uint64_t file = files.find(handle);
    const Word answer = call_words(find(call.object()), words);
    if (call.on() && as_int(answer) == 0) files.remove(handle);
    return call.done(answer, {.file = file});
}

// (name, info)
Word delete_file(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    const Word answer = call_words(find(call.object()), words);
    return call.done(answer, {.file = call.on() ? file_of(reinterpret_cast<const char*>(words.at[0])) : 0});
}

}  // namespace

MPI_HOOK(File_open, open_file, Call::MPI_File_open)
MPI_HOOK(File_close, close_file, Call::MPI_File_close)
MPI_HOOK(File_delete, delete_file, Call::MPI_File_delete)

#define ON_FILE(name, ...) MPI_HOOK(name, transfer, Call::MPI_##name, Transfer{__VA_ARGS__})
ON_FILE(File_set_view, 1)
ON_FILE(File_set_size, 1)
ON_FILE(File_preallocate, 1)
ON_FILE(File_seek, 1)
ON_FILE(File_sync, -1)

// Where the file's pointer is: (file, memory, count, type, status or request)
#define HERE(name) ON_FILE(name, -1, 2, 3, 4)
#define HERE_LATER(name) ON_FILE(name, -1, 2, 3, -1, 4)
#define HERE_BEGIN(name) ON_FILE(name, -1, 2, 3)
// (file, offset, memory, count, type, status or request)
#define THERE(name) ON_FILE(name, 1, 3, 4, 5)
#define THERE_LATER(name) ON_FILE(name, 1, 3, 4, -1, 5)
#define THERE_BEGIN(name) ON_FILE(name, 1, 3, 4)
HERE(File_read)
HERE(File_read_all)
HERE(File_read_shared)
HERE(File_read_ordered)
HERE(File_write)
HERE(File_write_all)
HERE(File_write_shared)
HERE(File_write_ordered)
HERE_LATER(File_iread)
HERE_LATER(File_iread_all)
HERE_LATER(File_iread_shared)
HERE_BEGIN(File_read_all_begin)
HERE_BEGIN(File_read_ordered_begin)
HERE_LATER(File_iwrite)
HERE_LATER(File_iwrite_all)
HERE_LATER(File_iwrite_shared)
HERE_BEGIN(File_write_all_begin)
HERE_BEGIN(File_write_ordered_begin)
THERE(File_read_at)
THERE(File_read_at_all)
THERE(File_write_at)
THERE(File_write_at_all)
THERE_LATER(File_iread_at)
THERE_LATER(File_iread_at_all)
THERE_BEGIN(File_read_at_all_begin)
THERE_LATER(File_iwrite_at)
THERE_LATER(File_iwrite_at_all)
THERE_BEGIN(File_write_at_all_begin)
ON_FILE(File_read_all_end, -1)
ON_FILE(File_read_at_all_end, -1)
ON_FILE(File_read_ordered_end, -1)
ON_FILE(File_write_all_end, -1)
ON_FILE(File_write_at_all_end, -1)
ON_FILE(File_write_ordered_end, -1)

}  // namespace tailrace::preload
