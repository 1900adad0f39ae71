#include "gather/agree.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "gather/at_finalize.hpp"

namespace tailrace {
namespace {

// One exchange carries everything: the first fields are reduced by maximum, the others are summed. A value and its complement tell
// whether all ranks gave the same one.
enum Field { failed, call, call_not, same, same_not, any, behind, told, kMaxima, bytes = kMaxima, digest, kFields };
using Fields = NodeBoard::Numbers;
static_assert(kFields == NodeBoard::kNumbers);

void combine(const Fields& from, Fields& into) {
    for (size_t f = 0; f < kMaxima; ++f) into[f] = std::max(into[f], from[f]);
    for (size_t f = kMaxima; f < kFields; ++f) into[f] += from[f];
}

void combine_for_mpi(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int n = 0; n < *count; ++n) combine(static_cast<const Fields*>(in)[n], static_cast<Fields*>(inout)[n]);
}

// Made at first use and freed when the program ends: MPICH tells of what is left.
struct Reduction {
    MPI_Datatype type;
    MPI_Op op;
    Reduction() {
        check_mpi(MPI_Type_contiguous(kFields, MPI_UINT64_T, &type), "MPI_Type_contiguous");
        check_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
        check_mpi(MPI_Op_create(&combine_for_mpi, 1, &op), "MPI_Op_create");
        at_finalize([this] {
            MPI_Op_free(&op);
            MPI_Type_free(&type);
        });
    }
};

// On rank 0, before the others know the result.
using Then = std::function<void(Fields&)>;

// Never a reduction to all: ranks that are in different calls may not agree on whether rank 0 has something to do.
Fields reduce_between(MPI_Comm comm, const Fields& mine, const Then& then) {
    static Reduction reduction;
    Fields all{};
    finish_mpi(
        [&](MPI_Request* request) {
            return MPI_Ireduce(mine.data(), all.data(), 1, reduction.type, reduction.op, 0, comm, request);
        },
        "MPI_Ireduce");
    int rank = 0;
    check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    if (rank == 0 && then) then(all);
    finish_mpi([&](MPI_Request* request) { return MPI_Ibcast(all.data(), 1, reduction.type, 0, comm, request); }, "MPI_Ibcast");
    return all;
}

// Within the nodes first, then between them.
Fields reduce(const Communicator& ranks, const Fields& mine, const Then& then, const Meanwhile& meanwhile) {
    const NodeBoard* board = ranks.board();
    const bool arranged = board != nullptr || ranks.leaders() != MPI_COMM_NULL;
    if (board == nullptr) return reduce_between(arranged ? ranks.leaders() : ranks.all(), mine, then);
    if (ranks.nodes() == 1) return board->reduce(mine, &combine, then, meanwhile);
    const auto between = [&](Fields& node) { node = reduce_between(ranks.leaders(), node, then); };
    return board->reduce(mine, &combine, between, meanwhile);
}

const char* call_name(uint64_t number) {
    switch (static_cast<Call>(number)) {
        case Call::open: return "tailrace_open";
        case Call::end_step: return "tailrace_end_step";
        case Call::flush: return "tailrace_flush";
        case Call::close: return "tailrace_close";
        case Call::open_read: return "tailrace_open_read";
        case Call::select_step: return "tailrace_select_step";
        case Call::get_shared: return "tailrace_get_shared";
        case Call::close_read: return "tailrace_close_read";
        case Call::convert: return "tailrace_convert";
        case Call::set_aside: return "tailrace_set_aside";
        default: return "the middle of tailrace_end_step";
    }
}

Ballot result_of(const Ballot& mine, const Fields& all) {
    Ballot result = mine;
    result.any = all[any];
    result.behind = all[behind];
    result.told = all[told];
    result.bytes = all[bytes];
    result.digest = all[digest];
    return result;
}

uint64_t reduce_one(const Communicator& ranks, uint64_t value, MPI_Op op) {
    uint64_t result = 0;
    finish_mpi([&](MPI_Request* request) { return MPI_Iallreduce(&value, &result, 1, MPI_UINT64_T, op, ranks.all(), request); },
               "MPI_Iallreduce");
    return result;
}

}  // namespace

Ballot agree(const Communicator& ranks, const Ballot& mine, const std::optional<Error>& error, const FirstDoes& first_does,
             const Meanwhile& meanwhile) {
    if (ranks.parted())
        fail(Status::BAD_ORDER,
             "other ranks closed the stream while this one did not, so it can no longer be used; close it and open it anew");
    const auto number = static_cast<uint64_t>(mine.call);
    const Fields local = {error ? ranks.size() - ranks.rank() : 0,
                          number,
                          ~number,
                          mine.same,
                          ~mine.same,
                          mine.any,
                          mine.behind,
                          mine.told,
                          mine.bytes,
                          mine.digest};
    std::optional<Error> of_first;
    const auto then = [&](Fields& all) {
        if (all[call] != ~all[call_not] || all[failed] > 0 || all[same] != ~all[same_not]) return;
        of_first = attempt([&] {
            Ballot result = result_of(mine, all);
            first_does(result);
            all[told] = result.told;
        });
        if (of_first) all[failed] = ranks.size();
    };
    const Fields all = reduce(ranks, local, first_does ? Then(then) : Then(), meanwhile);
    if (all[call] != ~all[call_not]) {
        // Those that close will not be there for the next call.
        if (all[call] >= static_cast<uint64_t>(Call::close_read)) ranks.part();
        fail(Status::BAD_ORDER, "some ranks are in ", call_name(all[call]), " while others are in ", call_name(~all[call_not]),
             "; all ranks of the stream make its collective calls in the same order");
    }
    if (all[failed] > 0) {
        const uint64_t first = ranks.size() - all[failed];
        const bool me = first == ranks.rank();
        const Error* told = me ? &(of_first ? *of_first : *error) : nullptr;
        const auto status = static_cast<Status>(ranks.broadcast(me ? static_cast<uint64_t>(told->status()) : 0, first));
        const std::string where = ranks.size() > 1 && !mine.tells_ranks ? text("rank ", ranks.user_rank(), ": ") : "";
        throw Error(status, ranks.broadcast_text(me ? where + told->what() : "", first));
    }
    if (all[same] != ~all[same_not])
        fail(Status::RANKS_DISAGREE, mine.same_means, ": not the same on all ranks; every rank gives the same");
    return result_of(mine, all);
}

std::string agree_on_text(const Communicator& ranks, const Ballot& mine, const std::optional<Error>& error,
                          const std::function<std::string()>& first_says) {
    std::string text;
    const NodeBoard* board = ranks.board_of_all();
    const auto has_room = [&](uint64_t bytes) { return board != nullptr && bytes <= NodeBoard::kRoomBytes; };
    const Ballot all = agree(ranks, mine, error, [&](Ballot& ballot) {
        text = first_says();
        ballot.told = text.size();
        if (has_room(text.size())) std::memcpy(board->room(), text.data(), text.size());
    });
    text.resize(all.told);
    if (!has_room(text.size()))
        ranks.broadcast(text.data(), text.size(), 0);
    else if (ranks.rank() != 0)
        std::memcpy(text.data(), board->room(), text.size());
    return text;
}

uint64_t smallest(const Communicator& ranks, uint64_t value) { return reduce_one(ranks, value, MPI_MIN); }
uint64_t largest(const Communicator& ranks, uint64_t value) { return reduce_one(ranks, value, MPI_MAX); }

}  // namespace tailrace
