// Records waiting for nonblocking transfers of files, which is I/O. Waiting for messages and collectives is not recorded.
#include <string.h>

#include "preload/handles.hpp"
#include "preload/mpi.hpp"

namespace tailrace::preload {
namespace {

constinit Handles requests = {};  // MPI_Request -> id of the file

Word request_at(const MpiAbi& abi, Word array, int64_t index) {
    Word request = 0;
    memcpy(&request, reinterpret_cast<const char*>(array) + index * abi.handle_bytes, static_cast<size_t>(abi.handle_bytes));
    return request;
}

// The requests of a call that are transfers of files. At most Handles::kMost, because further requests are not known.
struct FileRequests {
    int count = 0;
    int64_t index[Handles::kMost];
    Word request[Handles::kMost];
    uint64_t file = 0;  // id of the first request's file

    void find(const MpiAbi& abi, Word array, int64_t length) {
        for (int64_t i = 0; i < length && count < Handles::kMost; ++i) {
            const Word at = request_at(abi, array, i);
            const uint64_t its_file = requests.find(at);
            if (its_file == 0) continue;
            if (count == 0) file = its_file;
            index[count] = i;
            request[count++] = at;
        }
    }
    // Forgets the requests that are complete: MPI has changed their handles.
    void forget_completed(const MpiAbi& abi, Word array) const {
        for (int i = 0; i < count; ++i)
            if (request_at(abi, array, index[i]) != request[i]) requests.remove(request[i]);
    }
};

enum class Requests { one, many };  // (request, ...) or (length, requests, ...)

// MPI_Test and the like (Call::none) are not recorded: programs call them often and do not wait in them.
Word wait(const Words& words, FindFunction find, const void* return_address, Call name, Requests which) {
    const void* const object = site_of(return_address).object;
    const MpiAbi* const abi = requests.is_empty() ? nullptr : mpi_abi(object);
    const bool one = which == Requests::one;
    const Word array = words.at[one ? 0 : 1];
    FileRequests awaited;
    if (abi != nullptr) awaited.find(*abi, array, one ? 1 : as_int(words.at[0]));
    if (awaited.count == 0) return call_words(find(object), words);
    if (name == Call::none) {
        const Word result = call_words(find(object), words);
        awaited.forget_completed(*abi, array);
        return result;
    }
    MpiCall call(name, return_address);
    const Word result = call_words(find(object), words);
    awaited.forget_completed(*abi, array);
    return call.finish(result, {.file = awaited.file});
}

// MPI_Request_free: the transfer continues, and no call waits for it, so the request is forgotten.
Word free_request(const Words& words, FindFunction find, const void* return_address) {
    const void* const object = site_of(return_address).object;
    const MpiAbi* const abi = requests.is_empty() ? nullptr : mpi_abi(object);
    if (abi != nullptr && words.at[0] != 0) requests.remove(request_at(*abi, words.at[0], 0));
    return call_words(find(object), words);
}

}  // namespace

void put_request(const void* object, Word place, uint64_t file) {
    const MpiAbi* abi = mpi_abi(object);
    if (abi != nullptr && place != 0 && file != 0) requests.put(request_at(*abi, place, 0), file);
}

MPI_HOOK(Wait, wait, Call::MPI_Wait, Requests::one)
MPI_HOOK(Waitall, wait, Call::MPI_Waitall, Requests::many)
MPI_HOOK(Waitany, wait, Call::MPI_Waitany, Requests::many)
MPI_HOOK(Waitsome, wait, Call::MPI_Waitsome, Requests::many)
MPI_HOOK(Test, wait, Call::none, Requests::one)
MPI_HOOK(Testall, wait, Call::none, Requests::many)
MPI_HOOK(Testany, wait, Call::none, Requests::many)
MPI_HOOK(Testsome, wait, Call::none, Requests::many)
MPI_HOOK(Request_free, free_request)

}  // namespace tailrace::preload
