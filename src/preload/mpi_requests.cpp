// Waiting for transfers that go on after their call: as much I/O as the call. Other requests (messages, collectives) are no events.
#include <string.h>

#include "preload/handles.hpp"
#include "preload/mpi.hpp"

namespace tailrace::preload {
namespace {

constinit Handles requests = {};  // the names of their files

Word request_at(const MpiAbi& abi, Word array, int64_t index) {
    Word request = 0;
    memcpy(&request, reinterpret_cast<const char*>(array) + index * abi.handle_bytes, static_cast<size_t>(abi.handle_bytes));
    return request;
}

// Requests of a call that are transfers of files, of which no more are known than there are Handles.
struct Awaited {
    int count = 0;
    int64_t index[Handles::kMost];
    Word request[Handles::kMost];
    uint64_t file = 0;  // of the first

    void look(const MpiAbi& abi, Word array, int64_t length) {
        for (int64_t i = 0; i < length && count < Handles::kMost; ++i) {
            const Word at = request_at(abi, array, i);
            const uint64_t its_file = requests.find(at);
            if (its_file == 0) continue;
            if (count == 0) file = its_file;
            index[count] = i;
            request[count++] = at;
        }
    }
    // Requests that are done are others afterwards.
    void forget_done(const MpiAbi& abi, Word array) const {
        for (int i = 0; i < count; ++i)
            if (request_at(abi, array, index[i]) != request[i]) requests.remove(request[i]);
    }
};

enum class Requests { one, many };  // (request, ...) or (length, requests, ...)

// What is only asked, and not waited for, is no event: programs ask often.
Word wait(const Words& words, FindFunction find, const void* return_address, Call name, Requests which) {
    const void* const object = site_of(return_address).object;
    const MpiAbi* const abi = requests.none() ? nullptr : mpi_abi(object);
    const bool one = which == Requests::one;
    const Word array = words.at[one ? 0 : 1];
    Awaited awaited;
    if (abi != nullptr) awaited.look(*abi, array, one ? 1 : as_int(words.at[0]));
    if (awaited.count == 0) return call_words(find(object), words);
    if (name == Call::none) {
        const Word answer = call_words(find(object), words);
        awaited.forget_done(*abi, array);
        return answer;
    }
    MpiCall call(name, return_address);
    const Word answer = call_words(find(object), words);
    awaited.forget_done(*abi, array);
    return call.done(answer, {.file = awaited.file});
}

// Its transfer goes on, and nobody waits for it.
Word free_request(const Words& words, FindFunction find, const void* return_address) {
    const void* const object = site_of(return_address).object;
    const MpiAbi* const abi = requests.none() ? nullptr : mpi_abi(object);
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
