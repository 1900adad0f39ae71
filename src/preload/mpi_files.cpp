// Records the program's calls of MPI-IO. Calls of the C library that MPI makes within them are recorded as well, with the flag
// `mpi`.
#include "preload/handles.hpp"
#include "preload/mpi.hpp"

namespace tailrace::preload {
namespace {

constinit Handles files = {};  // MPI_File -> id of the file's name

// Positions among a call's arguments; -1: the call has no such argument.
struct Transfer {
    int offset = -1, count = -1, type = -1, status = -1, request = -1;
};

// The status contains how many elements were moved. Without a status, all requested bytes count as moved.
int64_t moved_bytes(const void* object, Word status, Word type, uint64_t bytes, Word requested) {
    const MpiAbi* abi = mpi_abi(object);
    int count = -1;
    if (abi == nullptr || status == abi->no_status || as_int(requested) <= 0) return static_cast<int64_t>(bytes);
    if (as_int(call_words(LIBRARY_FUNCTION(PMPI_Get_count)(object), {{status, type, as_word(&count)}})) != 0 || count < 0)
        return static_cast<int64_t>(bytes);
    return static_cast<int64_t>(bytes / static_cast<uint64_t>(as_int(requested))) * count;
}

Word transfer(const Words& words, FindFunction find, const void* return_address, Call name, const Transfer& position) {
    MpiCall call(name, return_address);
    const Word result = call_words(find(call.object()), words);
    if (!call.is_recording()) return call.finish(result, {});
    MpiCallInfo info = {.file = files.find(words.at[0])};
    if (position.offset >= 0) info.offset = words.at[position.offset];
    if (position.count >= 0 && as_int(result) == 0) {
        info.bytes = mpi_bytes(call.object(), words.at[position.count], words.at[position.type]);
        info.moved = static_cast<int64_t>(info.bytes);
        if (position.status >= 0)
            info.moved = moved_bytes(call.object(), words.at[position.status], words.at[position.type], info.bytes,
                                     words.at[position.count]);
    }
    if (position.request >= 0 && as_int(result) == 0) put_request(call.object(), words.at[position.request], info.file);
    return call.finish(result, info);
}

// (communicator, name, mode, info, address of the handle)
Word open_file(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    const Word result = call_words(find(call.object()), words);
    if (!call.is_recording()) return call.finish(result, {});
    const uint64_t file = file_id(reinterpret_cast<const char*>(words.at[1]));
    if (as_int(result) == 0) files.put(*reinterpret_cast<const Word*>(words.at[4]), file);
    return call.finish(result, {.file = file});
}

// (address of the handle). MPI changes the handle there.
Word close_file(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    const Word handle = *reinterpret_cast<const Word*>(words.at[0]);
    const uint64_t file = files.find(handle);
    const Word result = call_words(find(call.object()), words);
    if (call.is_recording() && as_int(result) == 0) files.remove(handle);
    return call.finish(result, {.file = file});
}

// (name, info)
Word delete_file(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    const Word result = call_words(find(call.object()), words);
    return call.finish(result, {.file = call.is_recording() ? file_id(reinterpret_cast<const char*>(words.at[0])) : 0});
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

// At the file pointer: (file, memory, count, type, status or request)
#define AT_POINTER(name) ON_FILE(name, -1, 2, 3, 4)
#define AT_POINTER_NONBLOCKING(name) ON_FILE(name, -1, 2, 3, -1, 4)
#define AT_POINTER_BEGIN(name) ON_FILE(name, -1, 2, 3)
// At an offset: (file, offset, memory, count, type, status or request)
#define AT_OFFSET(name) ON_FILE(name, 1, 3, 4, 5)
#define AT_OFFSET_NONBLOCKING(name) ON_FILE(name, 1, 3, 4, -1, 5)
#define AT_OFFSET_BEGIN(name) ON_FILE(name, 1, 3, 4)
AT_POINTER(File_read)
AT_POINTER(File_read_all)
AT_POINTER(File_read_shared)
AT_POINTER(File_read_ordered)
AT_POINTER(File_write)
AT_POINTER(File_write_all)
AT_POINTER(File_write_shared)
AT_POINTER(File_write_ordered)
AT_POINTER_NONBLOCKING(File_iread)
AT_POINTER_NONBLOCKING(File_iread_all)
AT_POINTER_NONBLOCKING(File_iread_shared)
AT_POINTER_BEGIN(File_read_all_begin)
AT_POINTER_BEGIN(File_read_ordered_begin)
AT_POINTER_NONBLOCKING(File_iwrite)
AT_POINTER_NONBLOCKING(File_iwrite_all)
AT_POINTER_NONBLOCKING(File_iwrite_shared)
AT_POINTER_BEGIN(File_write_all_begin)
AT_POINTER_BEGIN(File_write_ordered_begin)
AT_OFFSET(File_read_at)
AT_OFFSET(File_read_at_all)
AT_OFFSET(File_write_at)
AT_OFFSET(File_write_at_all)
AT_OFFSET_NONBLOCKING(File_iread_at)
AT_OFFSET_NONBLOCKING(File_iread_at_all)
AT_OFFSET_BEGIN(File_read_at_all_begin)
AT_OFFSET_NONBLOCKING(File_iwrite_at)
AT_OFFSET_NONBLOCKING(File_iwrite_at_all)
AT_OFFSET_BEGIN(File_write_at_all_begin)
ON_FILE(File_read_all_end, -1)
ON_FILE(File_read_at_all_end, -1)
ON_FILE(File_read_ordered_end, -1)
ON_FILE(File_write_all_end, -1)
ON_FILE(File_write_at_all_end, -1)
ON_FILE(File_write_ordered_end, -1)

}  // namespace tailrace::preload
