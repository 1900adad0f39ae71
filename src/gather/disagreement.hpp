// Which of the things that all ranks must give alike is not the same, where, and both values.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/facts.hpp"
#include "gather/communicator.hpp"

namespace tailrace {

// The first difference between two ranks, as a phrase; none where all is alike.
std::optional<std::string> difference(const Facts& first, uint64_t first_rank, const Facts& second, uint64_t second_rank);

// Whether all ranks have got this error, of an agreement in which they gave different things.
inline bool is_disagreement(const Error& error) {
    return error.status() == Status::RANKS_DISAGREE && error.origin() == Origin::several_ranks;
}

// Collective, on all ranks that have got `error` of an agreement: compares with rank 0 what each rank gave, and returns the error
// with the difference of the lowest rank that has one. Costs messages only here: the agreement itself compares checksums.
Error explained(const Communicator& ranks, const Error& error, const Facts& mine);

// Spans a collective call whose agreements compare what facts() lists, and explains where they fail.
template <class Call, class MakeFacts>
auto with_facts(const Communicator& ranks, MakeFacts&& facts, Call&& call) {
    try {
        return call();
    } catch (const Error& error) {
        if (!is_disagreement(error)) throw;
        throw explained(ranks, error, facts());
    }
}

}  // namespace tailrace
