#include "stream/scratch_opening.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "gather/agree.hpp"
#include "gather/words.hpp"
#include "layout/parts.hpp"
#include "stage/scratch_place.hpp"
#include "stage/work_folder.hpp"

namespace tailrace {
namespace {

// The places in the order of the parts. Neighbours on one node, with one scratch, are one entry.
std::vector<ScratchPlaces::Place> places_of(const std::vector<uint64_t>& words) {
    std::vector<ScratchPlaces::Place> all, places;
    for (size_t at = 0; at < words.size();) {
        ScratchPlaces::Place place{words[at++], "", ""};
        place.node = take_text(words, at);
        place.scratch = take_text(words, at);
        all.push_back(std::move(place));
    }
    std::ranges::sort(all, {}, &ScratchPlaces::Place::first_part);
    for (ScratchPlaces::Place& place : all)
        if (places.empty() || places.back().node != place.node || places.back().scratch != place.scratch)
            places.push_back(std::move(place));
    return places;
}

}  // namespace

ScratchOpening open_scratch(const Communicator& ranks, const StreamPaths& paths, const StreamConfig& config) {
    ScratchOpening opening;
    if (config.layout.stage == Stage::none) return opening;
    const std::string token = agree_on_text(ranks, OpenVote{}, std::nullopt, [] { return random_token(); });
    const PartMap map(config.layout, ranks.topology());
    const uint64_t part = map.part_of(ranks.rank());
    const bool writes = map.writer_number(part, ranks.rank()) < map.writers(part);
    std::vector<uint64_t> words;
    const auto error = attempt([&] {
        if (!writes) return;
        const std::string scratch = scratch_place(config.scratch);
        words = {part};
        put_text(words, node_name());
        put_text(words, scratch);
        opening.outbox = std::make_unique<Outbox>(Outbox::Place{scratch, outbox_name(token, part), paths.name,
                                                                std::filesystem::absolute(paths.parts()).lexically_normal(),
                                                                config.min_free_bytes});
    });
    agree(ranks, OpenVote{}, error);
    words = all_words(ranks.all(), words, false);
    run_or_end_job(ranks.size() > 1, [&] { opening.places = {token, places_of(words)}; });
    return opening;
}

}  // namespace tailrace
