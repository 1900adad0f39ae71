// Finds what differs between ranks of the things that must be equal on all ranks, on which rank, and both values.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/facts.hpp"
#include "gather/communicator.hpp"

namespace tailrace {

// The first difference between two ranks, as a phrase; none if there is none.
std::optional<std::string> difference(const Facts& first, uint64_t first_rank, const Facts& second, uint64_t second_rank);

// Whether this is the error that all ranks get from an agreement in which an `equal` field differed.
inline bool is_disagreement(const Error& error) {
    return error.status() == Status::RANKS_DISAGREE && error.origin() == Origin::several_ranks;
}

// Collective, after all ranks got `error` from an agreement: compares each rank's facts with rank 0's, and returns the error with
// the difference of the lowest rank that has one. Only this call sends the facts: the agreement itself compares checksums.
Error explained(const Communicator& ranks, const Error& error, const Facts& mine);

// Makes a collective call whose agreements compare what facts() lists. If ranks disagree, throws the explained() error.
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
