// An agreement of all ranks of a communicator: each learns whether any rank failed, and gets the combined vote. Every collective
// call of a stream begins with an agreement, so that ranks in different calls get an error instead of waiting for ever.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "base/error.hpp"
#include "gather/communicator.hpp"
#include "gather/memory_failure.hpp"
#include "gather/votes.hpp"

namespace tailrace {

// Work of rank 0 within an agreement: done after all ranks have voted, if none failed, and before the others return. It gets the
// combined vote and may set the `from_rank_0` fields. If it throws, all ranks get the error.
template <class Vote>
using RankZeroDoes = std::function<void(Vote& all)>;
// Work that a rank which is not the first of its node does while it waits. It must neither throw nor communicate.
using Meanwhile = std::function<void()>;

// The agreement on encoded votes, for the functions below.
struct EncodedVote {
    VoteNumbers numbers;
    const char* (*disagreement)(const VoteNumbers& all);  // what differs between ranks; nullptr if nothing does
};
VoteNumbers agree_on_numbers(const Communicator& ranks, const EncodedVote& mine, const std::optional<Error>& error,
                             const std::function<void(VoteNumbers&)>& rank_0_does, const Meanwhile& meanwhile);

// Collective. Returns the combined vote of all ranks. Throws on every rank:
//   BAD_ORDER        ranks are in different calls
//   the error        of the lowest rank that has one
//   RANKS_DISAGREE   an `equal` field differs
template <class Vote>
Vote agree(const Communicator& ranks, const Vote& mine, const std::optional<Error>& error,
           const std::type_identity_t<RankZeroDoes<Vote>>& rank_0_does = {}, const Meanwhile& meanwhile = {}) {
    const auto on_numbers = [&rank_0_does](VoteNumbers& numbers) {
        Vote all = vote::decode<Vote>(numbers);
        rank_0_does(all);
        vote::set_from_rank_0(all, numbers);
    };
    const std::function<void(VoteNumbers&)> nothing;
    return vote::decode<Vote>(agree_on_numbers(ranks, {vote::encode(mine, ranks.rank() == 0), &vote::disagreement<Vote>}, error,
                                               rank_0_does ? std::function<void(VoteNumbers&)>(on_numbers) : nothing, meanwhile));
}

// Collective. For a rank that cannot continue a call: it takes part in the next agreement of the call, so that the other ranks
// return, too. Throws `error`, or what agree() throws instead.
[[noreturn]] void agree_to_fail(const Communicator& ranks, Call call, const Error& error);

// Collective. Does what agree() does, and returns on all ranks the text that rank 0 makes within the agreement. The vote must have
// a field `text_bytes`.
template <class Vote>
std::string agree_on_text(const Communicator& ranks, const Vote& mine, const std::optional<Error>& error,
                          const std::function<std::string()>& rank_0_makes) {
    std::string text;
    const NodeBoard* board = ranks.board_of_all();
    const auto has_room = [&](uint64_t bytes) { return board != nullptr && bytes <= NodeBoard::kRoomBytes; };
    const Vote all = agree(ranks, mine, error, [&](Vote& vote) {
        text = rank_0_makes();
        vote.text_bytes = text.size();
        if (has_room(text.size())) std::memcpy(board->room(), text.data(), text.size());
    });
    text.resize(all.text_bytes);
    if (!has_room(text.size()))
        ranks.broadcast(text.data(), text.size(), 0);
    else if (ranks.rank() != 0)
        std::memcpy(text.data(), board->room(), text.size());
    return text;
}

// Does local work and returns its error, if it has one, for the next agreement.
template <class Work>
std::optional<Error> attempt(Work&& work) {
    try {
        work();
        return std::nullopt;
    } catch (const Error& error) {
        return error;
    } catch (const std::bad_alloc&) {
        return Error(Status::NO_MEMORY, "out of memory");
    } catch (const std::exception& error) {
        return Error(Status::INTERNAL, error.what());
    }
}

// attempt() for work in which other ranks wait for this one: if memory runs out, it ends the job.
template <class Work>
std::optional<Error> attempt_or_end_job(const Communicator& ranks, Work&& work) {
    return attempt([&] { run_or_end_job(ranks.size() > 1, work); });
}

// attempt() where an earlier error may exist: `error` keeps the first one.
template <class Work>
void attempt(std::optional<Error>& error, Work&& work) {
    auto failed = attempt(work);
    if (failed && !error) error = std::move(failed);
}

// Collective. The smallest, or largest, of the values of all ranks.
uint64_t smallest(const Communicator& ranks, uint64_t value);
uint64_t largest(const Communicator& ranks, uint64_t value);

}  // namespace tailrace
