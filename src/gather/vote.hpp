// A vote is what one rank contributes to an agreement, and what is known of all ranks afterwards. Each collective call has a struct
// of its own (votes.hpp) whose function fields() lists its members and how they are combined over the ranks. Votes travel as a
// fixed number of 64-bit numbers, encoded and decoded here:
//
//   [0]     largest: 0, or number of ranks - rank where a rank failed: the lowest rank that failed wins
//   [1]     or'ed: one bit for the call (lower half); the `any` fields (upper half)
//   [2..7]  largest: the fields `equal` (the value and its complement), `largest`, `from_rank_0`
//   [8..9]  summed modulo 2^64: the fields `sum`
//
// The places do not depend on the call. So ranks that are in different calls can combine their numbers, and detect that.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace tailrace {

using VoteNumbers = std::array<uint64_t, 10>;

namespace vote {

enum class Combined {
    equal,        // all ranks must give the same value; the agreement fails with RANKS_DISAGREE if they do not
    largest,      // of all ranks
    sum,          // over all ranks, modulo 2^64
    any,          // a bool: true if it is true on any rank
    from_rank_0,  // what rank 0 gives, or sets once all ranks have voted; what other ranks give is ignored
};

template <class Vote, class Value>
struct Field {
    Value Vote::* member;
    Combined combined;
    const char* what = "";  // of an `equal` field: what differs, for the message
};

template <class Vote, class Value>
constexpr Field<Vote, Value> equal(const char* what, Value Vote::* member) {
    return {member, Combined::equal, what};
}
template <class Vote, class Value>
constexpr Field<Vote, Value> largest(Value Vote::* member) {
    return {member, Combined::largest};
}
template <class Vote>
constexpr Field<Vote, uint64_t> sum(uint64_t Vote::* member) {
    return {member, Combined::sum};
}
template <class Vote>
constexpr Field<Vote, bool> any(bool Vote::* member) {
    return {member, Combined::any};
}
template <class Vote, class Value>
constexpr Field<Vote, Value> from_rank_0(Value Vote::* member) {
    return {member, Combined::from_rank_0};
}

constexpr size_t kFailed = 0, kCallsAndFlags = 1, kFirstMaximum = 2, kFirstSum = 8;
constexpr size_t kFirstFlag = 32, kFlagsEnd = 64;  // bits of kCallsAndFlags

// Where the next field of each kind goes.
struct Places {
    size_t maximum = kFirstMaximum, sum = kFirstSum, flag = kFirstFlag;

    constexpr size_t take(Combined combined) {
        switch (combined) {
            case Combined::equal: return (maximum += 2) - 2;
            case Combined::sum: return sum++;
            case Combined::any: return flag++;
            default: return maximum++;
        }
    }
    constexpr bool fit() const { return maximum <= kFirstSum && sum <= std::tuple_size_v<VoteNumbers> && flag <= kFlagsEnd; }
};

// Calls visit(field, place) for every field of a vote.
template <class Vote, class Visit>
constexpr Places for_each_field(Visit&& visit) {
    Places places;
    std::apply([&](const auto&... field) { (visit(field, places.take(field.combined)), ...); }, Vote::fields());
    return places;
}

template <class Vote>
constexpr bool fits() {
    return static_cast<size_t>(Vote::kCall) < kFirstFlag && for_each_field<Vote>([](const auto&, size_t) {}).fit();
}

// The calls that ranks are in, as bits.
constexpr uint64_t call_bits(const VoteNumbers& numbers) { return numbers[kCallsAndFlags] & ((uint64_t{1} << kFirstFlag) - 1); }

constexpr uint64_t call_bit(auto call) { return uint64_t{1} << static_cast<uint64_t>(call); }

inline void combine(const VoteNumbers& from, VoteNumbers& into) {
    into[kFailed] = std::max(into[kFailed], from[kFailed]);
    into[kCallsAndFlags] |= from[kCallsAndFlags];
    for (size_t i = kFirstMaximum; i < kFirstSum; ++i) into[i] = std::max(into[i], from[i]);
    for (size_t i = kFirstSum; i < into.size(); ++i) into[i] += from[i];
}

template <class Vote>
VoteNumbers encode(const Vote& vote, bool is_rank_0) {
    static_assert(fits<Vote>(), "a vote has more fields than there is room for");
    VoteNumbers numbers{};
    numbers[kCallsAndFlags] = call_bit(Vote::kCall);
    for_each_field<Vote>([&](const auto& field, size_t place) {
        const auto value = static_cast<uint64_t>(vote.*field.member);
        if (field.combined == Combined::any)
            numbers[kCallsAndFlags] |= value << place;
        else if (field.combined != Combined::from_rank_0 || is_rank_0)
            numbers[place] = value;
        if (field.combined == Combined::equal) numbers[place + 1] = ~value;
    });
    return numbers;
}

template <class Vote>
Vote decode(const VoteNumbers& numbers) {
    Vote vote;
    for_each_field<Vote>([&]<class Value>(const Field<Vote, Value>& field, size_t place) {
        const bool is_flag = field.combined == Combined::any;
        vote.*field.member = static_cast<Value>(is_flag ? numbers[kCallsAndFlags] >> place & 1 : numbers[place]);
    });
    return vote;
}

// The `from_rank_0` fields of rank 0's vote replace what the numbers hold.
template <class Vote>
void set_from_rank_0(const Vote& vote, VoteNumbers& numbers) {
    for_each_field<Vote>([&](const auto& field, size_t place) {
        if (field.combined == Combined::from_rank_0) numbers[place] = static_cast<uint64_t>(vote.*field.member);
    });
}

// What the first `equal` field that differs between ranks is about; nullptr if none differs.
template <class Vote>
const char* disagreement(const VoteNumbers& numbers) {
    const char* what = nullptr;
    for_each_field<Vote>([&](const auto& field, size_t place) {
        const bool differs = field.combined == Combined::equal && numbers[place] != ~numbers[place + 1];
        if (differs && what == nullptr) what = field.what;
    });
    return what;
}

}  // namespace vote
}  // namespace tailrace
