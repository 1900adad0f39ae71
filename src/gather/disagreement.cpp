#include "gather/disagreement.hpp"

#include <algorithm>
#include <map>

#include "gather/agree.hpp"
#include "gather/words.hpp"

namespace tailrace {
namespace {

constexpr size_t kMostListed = 8;

std::map<std::string, std::string> by_name(const Facts& facts) { return {facts.begin(), facts.end()}; }

std::vector<uint64_t> words_of(const Facts& facts, uint64_t rank) {
    std::vector<uint64_t> words{rank, facts.size()};
    for (const auto& [what, value] : facts) {
        put_text(words, what);
        put_text(words, value);
    }
    return words;
}

Facts facts_of(const std::vector<uint64_t>& words, uint64_t& rank) {
    size_t at = 0;
    rank = words.at(at++);
    Facts facts(words.at(at++));
    for (auto& [what, value] : facts) {
        what = take_text(words, at);
        value = take_text(words, at);
    }
    return facts;
}

// The end of the message: "; other values than on rank 0 are also on ranks 3, 5 and 2 more". `ranks`: without the one that the
// message has named.
std::string others_text(const std::vector<uint64_t>& ranks) {
    if (ranks.empty()) return "";
    std::string list = text("; other values than on rank 0 are also on ", ranks.size() == 1 ? "rank " : "ranks ");
    for (size_t i = 0; i < std::min(ranks.size(), kMostListed); ++i) list += text(i > 0 ? ", " : "", ranks[i]);
    return ranks.size() > kMostListed ? list + text(" and ", ranks.size() - kMostListed, " more") : list;
}

}  // namespace

std::optional<std::string> difference(const Facts& first, uint64_t first_rank, const Facts& second, uint64_t second_rank) {
    const auto there = by_name(first), here = by_name(second);
    const auto only_on = [](const auto& fact, uint64_t has, uint64_t has_not) {
        return text(fact.first, " (", fact.second, ") is on rank ", has, " and not on rank ", has_not);
    };
    for (const auto& fact : first) {
        const auto found = here.find(fact.first);
        if (found == here.end()) return only_on(fact, first_rank, second_rank);
        if (found->second != fact.second)
            return text(fact.first, " is ", fact.second, " on rank ", first_rank, ", ", found->second, " on rank ", second_rank);
    }
    for (const auto& fact : second)
        if (!there.contains(fact.first)) return only_on(fact, second_rank, first_rank);
    for (size_t i = 0; i < std::min(first.size(), second.size()); ++i)
        if (first[i].first != second[i].first)
            return text(first[i].first, " is defined on rank ", first_rank, " where rank ", second_rank, " defines ",
                        second[i].first, ": the order is another");
    return std::nullopt;
}

Error explained(const Communicator& ranks, const Error& error, const Facts& mine) {
    std::vector<uint64_t> words;
    if (ranks.rank() == 0) words = words_of(mine, ranks.user_rank());
    const uint64_t size = ranks.broadcast(words.size(), 0);
    words = broadcast_words(ranks, std::move(words), size, 0);
    uint64_t first_rank = 0;
    const Facts of_rank_0 = facts_of(words, first_rank);
    const auto found = difference(of_rank_0, first_rank, mine, ranks.user_rank());
    std::vector<uint64_t> differing;
    if (found) differing.push_back(ranks.user_rank());
    differing = all_words(ranks.all(), differing, true);
    if (differing.empty()) return error;
    const uint64_t speaker = smallest(ranks, found ? ranks.rank() : ranks.size());
    const uint64_t named = ranks.broadcast(ranks.user_rank(), speaker);
    std::erase(differing, named);
    std::ranges::sort(differing);
    return Error(error.status(),
                 text(error.what(), ": ", ranks.broadcast_text(found.value_or(""), speaker), others_text(differing)),
                 error.origin());
}

}  // namespace tailrace
