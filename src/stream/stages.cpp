#include "stream/stages.hpp"

#include <utility>

namespace tailrace {
namespace {

EarlierRuns load_into(const Communicator& ranks, StreamPaths& paths, StreamConfig& config, const Json& requested) {
    EarlierRuns earlier = load_history(ranks, paths, config, requested);
    config.layout.storage = earlier.storage.storage;
    if (earlier.part.exists()) config.layout.writers.at_most = earlier.part.growth.writers;
    config.flushes_before_vote = !earlier.storage.clients_share_cache;
    if (config.flushes_before_vote && ranks.nodes() > 1 && config.layout.steps != 1) config.layout.writers.at_most = 1;
    return earlier;
}

}  // namespace

Stages::Stages(const Communicator& of_stream, StreamPaths of_files, StreamConfig& settings, const Json& requested)
    : ranks(of_stream), config(settings), paths(std::move(of_files)), overlap(ranks, config),
      earlier(load_into(ranks, paths, settings, requested)), scratch(open_scratch(ranks, paths, config)),
      journal(ranks, paths, config, overlap.queue(), requested, earlier),
      writer(ranks, paths, config, overlap.queue(), scratch.outbox.get(), earlier.part, journal.history().steps),
      upkeep(ranks, paths, config, journal), commit(ranks, paths.name, overlap.queue(), journal, writer, upkeep, times),
      staged(ranks, config.layout.stage == Stage::scratch, scratch.outbox.get(), journal, upkeep) {
    journal.set_scratch(scratch.places);
    const PartMap map(config.layout, ranks.topology());
    const uint64_t part = map.part_of(ranks.rank());
    if (config.layout.steps != 1 && map.writer_number(part, ranks.rank()) < map.writers(part))
        writing_rank = WritingRank(paths.directory, paths.name);
}

void Stages::release() noexcept {
    writing_rank = WritingRank();
    journal.release();
}

}  // namespace tailrace
