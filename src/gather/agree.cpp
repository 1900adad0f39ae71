#include "gather/agree.hpp"

#include <bit>
#include <functional>

#include "gather/at_finalize.hpp"

namespace tailrace {
namespace {

void combine_for_mpi(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int n = 0; n < *count; ++n) vote::combine(static_cast<const VoteNumbers*>(in)[n], static_cast<VoteNumbers*>(inout)[n]);
}

// The MPI datatype and operation that combine votes. Made at first use and freed when the program ends, because MPICH reports what
// is not freed.
struct Reduction {
    MPI_Datatype type;
    MPI_Op op;
    Reduction() {
        check_mpi(MPI_Type_contiguous(std::tuple_size_v<VoteNumbers>, MPI_UINT64_T, &type), "MPI_Type_contiguous");
        check_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
        check_mpi(MPI_Op_create(&combine_for_mpi, 1, &op), "MPI_Op_create");
        at_finalize([this] {
            MPI_Op_free(&op);
            MPI_Type_free(&type);
        });
    }
};

// Work on the combined numbers that rank 0 does before the others get the result.
using Then = std::function<void(VoteNumbers&)>;

// Combines the numbers of all ranks with a reduction and a broadcast, never with one MPI_Allreduce. Ranks in different calls may
// not agree on whether rank 0 has work to do between the two, and must make equal MPI calls.
VoteNumbers reduce_between(MPI_Comm comm, const VoteNumbers& mine, const Then& then) {
    static Reduction reduction;
    VoteNumbers all{};
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

// Combines the numbers within the nodes first, then between the nodes.
VoteNumbers reduce(const Communicator& ranks, const VoteNumbers& mine, const Then& then, const Meanwhile& meanwhile) {
    const NodeBoard* board = ranks.board();
    const bool arranged = board != nullptr || ranks.leaders() != MPI_COMM_NULL;
    if (board == nullptr) return reduce_between(arranged ? ranks.leaders() : ranks.all(), mine, then);
    if (ranks.nodes() == 1) return board->reduce(mine, &vote::combine, then, meanwhile);
    const auto between = [&](VoteNumbers& node) { node = reduce_between(ranks.leaders(), node, then); };
    return board->reduce(mine, &vote::combine, between, meanwhile);
}

const char* call_name(Call call) {
    switch (call) {
        case Call::open: return "tailrace_open";
        case Call::end_step: return "tailrace_end_step";
        case Call::flush: return "tailrace_flush";
        case Call::close: return "tailrace_close";
        case Call::open_read: return "tailrace_open_read";
        case Call::select_step: return "tailrace_select_step";
        case Call::get_shared: return "tailrace_get_shared";
        case Call::get_indices: return "tailrace_get_indices";
        case Call::close_read: return "tailrace_close_read";
        case Call::convert: return "tailrace_convert";
        case Call::set_aside: return "tailrace_set_aside";
        default: return "the middle of tailrace_end_step";
    }
}

// Throws BAD_ORDER on all ranks. `calls`: the calls that ranks are in, as bits.
[[noreturn]] void fail_different_calls(const Communicator& ranks, uint64_t calls) {
    const auto first = static_cast<Call>(std::countr_zero(calls)), last = static_cast<Call>(std::bit_width(calls) - 1);
    if (last >= Call::close_read) ranks.mark_peers_closed();  // ranks that close take part in no further call
    throw Error(Status::BAD_ORDER,
                text("some ranks are in ", call_name(last), " while others are in ", call_name(first),
                     "; all ranks of the stream make its collective calls in the same order"),
                Origin::several_ranks);
}

// Throws, on all ranks, the error of rank `from`; all ranks pass the same `from`. `error` is used only on that rank.
[[noreturn]] void fail_as_rank(const Communicator& ranks, uint64_t from, const Error* error) {
    constexpr uint64_t kNoRank = UINT64_MAX;
    struct Head {
        uint64_t status, origin, rank;
    } head{};
    std::string message;
    if (from == ranks.rank()) {
        head = {static_cast<uint64_t>(error->status()), static_cast<uint64_t>(error->origin()), error->rank().value_or(kNoRank)};
        const bool is_of_one = error->origin() == Origin::one_rank || error->origin() == Origin::background_writer;
        if (is_of_one && !error->rank()) {
            head.rank = ranks.user_rank();
            if (ranks.size() > 1) message = text("rank ", ranks.user_rank(), ": ");
        }
        message += error->what();
    }
    ranks.broadcast(&head, sizeof head, from);
    throw Error(static_cast<Status>(head.status), ranks.broadcast_text(message, from), static_cast<Origin>(head.origin),
                head.rank == kNoRank ? std::nullopt : std::optional(head.rank));
}

}  // namespace

VoteNumbers agree_on_numbers(const Communicator& ranks, const EncodedVote& mine, const std::optional<Error>& error,
                             const std::function<void(VoteNumbers&)>& rank_0_does, const Meanwhile& meanwhile) {
    if (ranks.peers_closed())
        fail(Status::BAD_ORDER,
             "other ranks closed the stream while this one did not, so it can no longer be used; close it and open it anew");
    VoteNumbers local = mine.numbers;
    local[vote::kFailed] = error ? ranks.size() - ranks.rank() : 0;
    std::optional<Error> of_rank_0;
    const auto act = [&](VoteNumbers& all) {
        if (!std::has_single_bit(vote::call_bits(all)) || all[vote::kFailed] > 0 || mine.disagreement(all)) return;
        of_rank_0 = attempt([&] { rank_0_does(all); });
        if (of_rank_0) all[vote::kFailed] = ranks.size();
    };
    const VoteNumbers all = reduce(ranks, local, rank_0_does ? Then(std::ref(act)) : Then(), meanwhile);
    if (!std::has_single_bit(vote::call_bits(all))) fail_different_calls(ranks, vote::call_bits(all));
    if (all[vote::kFailed] > 0) {
        const Error* const own = of_rank_0 ? &*of_rank_0 : error ? &*error : nullptr;
        fail_as_rank(ranks, ranks.size() - all[vote::kFailed], own);
    }
    if (const char* what = mine.disagreement(all))
        throw Error(Status::RANKS_DISAGREE, text(what, ": not the same on all ranks; every rank gives the same"),
                    Origin::several_ranks);
    return all;
}

void agree_to_fail(const Communicator& ranks, Call call, const Error& error) {
    VoteNumbers numbers{};
    numbers[vote::kCallsAndFlags] = vote::call_bit(call);
    agree_on_numbers(ranks, {numbers, [](const VoteNumbers&) -> const char* { return nullptr; }}, error, {}, {});
    throw error;  // never: an agreement with an error throws
}

}  // namespace tailrace
