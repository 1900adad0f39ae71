// Agreement: before ranks go on together they learn whether all are well and all mean the same. Every collective call of a stream
// begins with the same exchange, so that ranks which call different things find out instead of waiting for ever.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "gather/communicator.hpp"
#include "gather/together.hpp"

namespace tailrace {

enum class Call : uint64_t {
    open = 1,
    end_step,
    plan,
    write,
    open_read,
    select_step,
    get_shared,
    flush,
    convert,
    set_aside,
    close_read,  // those that end a stream or a reader are the last ones
    close,
};

// What a rank says, and what is known of all ranks afterwards.
struct Ballot {
    Call call = Call::open;
    uint64_t same = 0;    // must be equal on all ranks (definitions, time); else RANKS_DISAGREE with `same_means`
    uint64_t any = 0;     // largest over ranks
    uint64_t behind = 0;  // largest over ranks: steps whose data is still being written
    uint64_t told = 0;    // largest over ranks: what one rank knows and the others do not
    uint64_t bytes = 0;   // summed over ranks
    uint64_t digest = 0;  // summed over ranks, modulo 2^64
    const char* same_means = "";
    bool tells_ranks = false;  // the text of an error says by itself which ranks are meant: it is not about the one that found it
};

// Collective. Throws, on every rank, the error of the lowest rank that has one. With `first_does`, on all ranks: when all are well,
// rank 0 does it before the others go on, and its error counts as well; what it sets as `told` is what all get.
// `meanwhile`, on any rank that is not the first of its node: what it does while it waits; it does not throw, nor communicate.
using FirstDoes = std::function<void(Ballot& all)>;
using Meanwhile = std::function<void()>;
Ballot agree(const Communicator& ranks, const Ballot& mine, const std::optional<Error>& error, const FirstDoes& first_does = {},
             const Meanwhile& meanwhile = {});
// Collective. The same; returns, on all ranks, what rank 0 says when all are well.
std::string agree_on_text(const Communicator& ranks, const Ballot& mine, const std::optional<Error>& error,
                          const std::function<std::string()>& first_says);

// Runs what one rank does locally and keeps its error for the next agreement.
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

// The same for work in which ranks wait for each other.
template <class Work>
std::optional<Error> attempt_together(const Communicator& ranks, Work&& work) {
    return attempt([&] { together(ranks.size() > 1, work); });
}

// The same for work that is done whatever happened before: the first error is kept.
template <class Work>
void attempt(std::optional<Error>& error, Work&& work) {
    auto failed = attempt(work);
    if (failed && !error) error = std::move(failed);
}

// Collective. The smallest of a value over all ranks; the largest.
uint64_t smallest(const Communicator& ranks, uint64_t value);
uint64_t largest(const Communicator& ranks, uint64_t value);

}  // namespace tailrace
