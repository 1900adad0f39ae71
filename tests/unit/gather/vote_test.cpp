#include "gather/vote.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "gather/votes.hpp"

namespace tailrace {
namespace {

enum class Mood : uint64_t { good, fair, bad };

// A field of every kind, in mixed order, and as many as there is room for.
struct MixedVote {
    static constexpr Call kCall = Call::end_step;
    uint64_t added = 0;
    uint64_t alike = 0;
    bool first_flag = false;
    Mood mood = Mood::good;
    uint64_t also_alike = 0;
    uint64_t set_by_0 = 0;
    bool second_flag = false;
    uint64_t also_added = 0;
    static constexpr auto fields() {
        return std::tuple(vote::sum(&MixedVote::added), vote::equal("the first value", &MixedVote::alike),
                          vote::any(&MixedVote::first_flag), vote::largest(&MixedVote::mood),
                          vote::equal("the second value", &MixedVote::also_alike), vote::from_rank_0(&MixedVote::set_by_0),
                          vote::any(&MixedVote::second_flag), vote::sum(&MixedVote::also_added));
    }
};

template <class Vote>
VoteNumbers combined(const std::vector<Vote>& votes) {
    VoteNumbers all = vote::encode(votes.front(), true);
    for (size_t rank = 1; rank < votes.size(); ++rank) vote::combine(vote::encode(votes[rank], false), all);
    return all;
}

TEST(Vote, CombinesEachFieldAsItsListSays) {
    const std::vector<MixedVote> votes = {
        {.added = 1, .alike = 7, .mood = Mood::fair, .also_alike = 0, .set_by_0 = 3, .also_added = 10},
        {.added = 2, .alike = 7, .mood = Mood::bad, .also_alike = 0, .set_by_0 = 9, .second_flag = true, .also_added = 20},
        {.added = 4, .alike = 7, .mood = Mood::good, .also_alike = 0, .set_by_0 = 0, .also_added = 30}};
    const VoteNumbers all = combined(votes);
    EXPECT_EQ(vote::disagreement<MixedVote>(all), nullptr);
    const auto vote = vote::decode<MixedVote>(all);
    EXPECT_EQ(vote.added, 7u);
    EXPECT_EQ(vote.alike, 7u);
    EXPECT_FALSE(vote.first_flag);
    EXPECT_EQ(vote.mood, Mood::bad);
    EXPECT_EQ(vote.also_alike, 0u);
    EXPECT_EQ(vote.set_by_0, 3u);
    EXPECT_TRUE(vote.second_flag);
    EXPECT_EQ(vote.also_added, 60u);
}

TEST(Vote, NamesTheFieldThatDiffers) {
    std::vector<MixedVote> votes(5, {.alike = 1, .also_alike = 2});
    votes[3].also_alike = 3;
    EXPECT_STREQ(vote::disagreement<MixedVote>(combined(votes)), "the second value");
    votes[4].alike = 0;
    EXPECT_STREQ(vote::disagreement<MixedVote>(combined(votes)), "the first value");
}

TEST(Vote, HoldsTheExtremesOfAllRanks) {
    constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
    for (const uint64_t value : {uint64_t{0}, uint64_t{1}, most - 1, most}) {
        const std::vector<MixedVote> votes(1000, {.added = value, .alike = value, .mood = Mood::bad, .also_alike = ~value});
        const VoteNumbers all = combined(votes);
        EXPECT_EQ(vote::disagreement<MixedVote>(all), nullptr);
        EXPECT_EQ(vote::decode<MixedVote>(all).added, 1000 * value);
        EXPECT_EQ(vote::decode<MixedVote>(all).alike, value);
        EXPECT_EQ(vote::decode<MixedVote>(all).also_alike, ~value);
        for (const size_t other : {size_t{0}, size_t{999}}) {
            std::vector<MixedVote> differing = votes;
            differing[other].alike = value ^ 1;
            EXPECT_STREQ(vote::disagreement<MixedVote>(combined(differing)), "the first value");
        }
    }
}

TEST(Vote, RankZeroSetsItsFieldsAndNoOthers) {
    VoteNumbers all = combined<MixedVote>({{.added = 5, .mood = Mood::fair, .set_by_0 = 1}, {.added = 6, .set_by_0 = 2}});
    auto changed = vote::decode<MixedVote>(all);
    changed.set_by_0 = 40, changed.added = 0, changed.mood = Mood::bad, changed.first_flag = true;
    vote::set_from_rank_0(changed, all);
    const auto vote = vote::decode<MixedVote>(all);
    EXPECT_EQ(vote.set_by_0, 40u);
    EXPECT_EQ(vote.added, 11u);
    EXPECT_EQ(vote.mood, Mood::fair);
    EXPECT_FALSE(vote.first_flag);
}

TEST(Vote, RanksInDifferentCallsFindOut) {
    VoteNumbers all = vote::encode(FlushVote{}, true);
    vote::combine(vote::encode(MixedVote{.first_flag = true}, false), all);
    vote::combine(vote::encode(CloseVote{}, false), all);
    EXPECT_EQ(vote::call_bits(all), vote::call_bit(Call::flush) | vote::call_bit(Call::end_step) | vote::call_bit(Call::close));
}

template <class Vote>
struct TooLarge : Vote {
    uint64_t more = 0;
    static constexpr auto fields() {
        return std::tuple_cat(Vote::fields(), std::tuple(vote::Field<TooLarge, uint64_t>{&TooLarge::more, vote::Combined::sum}));
    }
};

TEST(Vote, RefusesMoreFieldsThanThereIsRoomFor) {
    static_assert(vote::fits<MixedVote>());
    static_assert(vote::fits<EndStepVote>());
    static_assert(!vote::fits<TooLarge<MixedVote>>());
    static_assert(vote::fits<TooLarge<FlushVote>>());
}

}  // namespace
}  // namespace tailrace
