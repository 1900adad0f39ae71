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

// Requests of a call that are transfers of files: the first's file, and which they were.
struct Awaited {
    static constexpr int kMost = 64;
    int count = 0;
    int64_t index[kMost];
    Word request[kMost];
    uint64_t file = 0;
};

Awaited awaited_of(const MpiAbi& abi, Word array, int64_t length) {
    Awaited found;
    for (int64_t i = 0; i < length && found.count < Awaited::kMost; ++i) {
        const Word request = request_at(abi, array, i);
        const uint64_t file = requests.find(request);
        if (file == 0) continue;
        if (found.count == 0) found.file = file;
        found.index[found.count] = i;
        found.request[found.count++] = request;
    }
    return found;
}

// Requests that are done are others afterwards.
void forget_done(const MpiAbi& abi, Word array, const Awaited& awaited) {
    for (int i = 0; i < awaited.count; ++i)
        if (request_at(abi, array, awaited.index[i]) != awaited.request[i]) requests.remove(awaited.request[i]);
}

enum class Requests { one, many };  // (request, ...) or (length, requests, ...)

// What is only asked, and not waited for, is no event: programs ask often.
Word wait(const Words& words, FindFunction find, const void* return_address, Call name, Requests which) {
    const void* const object = site_of(return_address).object;
    const MpiAbi* const abi = requests.none() ? nullptr : mpi_abi(object);
    const bool one = which == Requests::one;
    const Word array = words.at[one ? 0 : 1];
    const Awaited awaited = abi == nullptr ? Awaited() : awaited_of(*abi, array, one ? 1 : as_int(words.at[0]));
    if (awaited.count == 0) return call_words(find(object), words);
    if (name == Call::none) {
        const Word answer = call_words(find(object), words);
        forget_done(*abi, array, awaited);
        return answer;
    }
    MpiCall call(name, return_address);
    const Word answer = call_words(find(object), words);
    forget_done(*abi, array, awaited);
    return call.done(answer, {.file = awaited.file});
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

}  // namespace tailrace::preload
