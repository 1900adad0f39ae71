#include "gather/exchange.hpp"

#include <algorithm>

#include "gather/agree.hpp"
#include "gather/box_words.hpp"
#include "gather/piece_collector.hpp"
#include "gather/piece_sender.hpp"
#include "gather/sparse_exchange.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kSmallestPiece = 64u << 10;
constexpr uint64_t kLargestPiece = 1u << 30;  // messages count bytes in an int
constexpr uint64_t kLeastRing = 8u << 20;
constexpr uint64_t kRingsPerStep = 8;  // a ring of an eighth of the slabs keeps all ranks busy

// The bytes of a piece, equal on all ranks. A ring is as large as the slabs, and above 8 MiB an eighth of them. RATIONALE: getting
// new memory costs more than filling it, so a ring is not larger. It is not smaller, since later streams use it, too, and few large
// writes are cheaper than many. With 100 arrays of 64 KiB a rank and 2 ranks, a later step takes 3.7 ms through 1.6 MiB and 3.4 ms
// through 8 MiB (medians of six runs each, interleaved).
uint64_t piece_bytes_for(const std::vector<ExchangeArray>& arrays, uint64_t writers, uint64_t memory_bytes) {
    uint64_t slabs_bytes = 0;
    for (const ExchangeArray& array : arrays)
        slabs_bytes += ((array.grid ? array.grid->whole() : 1) + volume(array.shape) / writers) * array.element_bytes;
    memory_bytes = std::min({memory_bytes, slabs_bytes, std::max(slabs_bytes / kRingsPerStep, kLeastRing)});
    return std::clamp<uint64_t>(memory_bytes / kSlots / 4096 * 4096, kSmallestPiece, kLargestPiece);
}

}  // namespace

struct Exchange::Impl {
    const Communicator& ranks;
    std::vector<ExchangeArray> arrays;
    uint64_t piece_bytes;
    std::unique_ptr<NodeMemory> node;
    std::vector<PieceSender> senders;
    std::unique_ptr<PieceCollector> collector;

    Impl(const Communicator& ranks, std::vector<ExchangeArray> all, const PartWriters& writers, uint64_t memory_bytes)
        : ranks(ranks), arrays(std::move(all)), piece_bytes(piece_bytes_for(arrays, writers.count(), memory_bytes)) {
        const uint64_t me = writers.number(ranks.rank());
        const bool is_writer = me < writers.count();
        // If a node has no memory, all ranks learn it here, before they exchange messages below.
        const auto error =
            attempt_or_end_job(ranks, [&] { node = std::make_unique<NodeMemory>(ranks, is_writer ? piece_bytes : 0); });
        agree(ranks, PlanVote{}, error);
        std::map<uint64_t, std::vector<RankBlock>> blocks = blocks_by_writer(writers.count());
        const Messages messages = deliver(ranks, address_blocks(writers, blocks));
        std::vector<RankBlock> direct;
        if (is_writer) direct = take_direct(blocks[me]);
        for (const auto& [k, of_writer] : blocks)
            if (!of_writer.empty())
                senders.emplace_back(ranks, *node, writers.rank(k), sequence(writers.count(), k), of_writer, piece_bytes);
        if (is_writer) collect(sequence(writers.count(), me), messages, std::move(blocks[me]), std::move(direct));
    }

    Sequence sequence(uint64_t writers, uint64_t k) const {
        Sequence result;
        for (const ExchangeArray& array : arrays)
            result.add(array.shape, array.element_bytes, array.slab_begin(writers, k), array.slab_begin(writers, k + 1));
        return result;
    }

    // The blocks of this rank that reach into a writer's slabs, for each writer that gets data from it.
    std::map<uint64_t, std::vector<RankBlock>> blocks_by_writer(uint64_t writers) const {
        std::map<uint64_t, std::vector<RankBlock>> result;
        for (size_t a = 0; a < arrays.size(); ++a) {
            const ExchangeArray& array = arrays[a];
            for (size_t b = 0; b < array.mine.size(); ++b) {
                const Spans spans(array.shape, array.mine[b]);
                if (spans.count() == 0) continue;
                const uint64_t first = array.slab_of(writers, spans.begin(0));
                const uint64_t last = array.slab_of(writers, spans.begin(spans.count() - 1) + spans.length() - 1);
                for (uint64_t k = first; k <= last; ++k)
                    if (spans.elements_within(array.slab_begin(writers, k), array.slab_begin(writers, k + 1)) > 0)
                        result[k].push_back({a, b, spans});
            }
        }
        return result;
    }

    // Takes out of `own` the writer's own blocks with long spans, which are written from the caller's memory; the others go through
    // the ring.
    std::vector<RankBlock> take_direct(std::vector<RankBlock>& own) const {
        const auto is_copied = [&](const RankBlock& block) {
            return block.spans.length() * arrays[block.array].element_bytes < kOwnSpanBytes;
        };
        const auto middle = std::stable_partition(own.begin(), own.end(), is_copied);
        std::vector<RankBlock> direct(middle, own.end());
        own.erase(middle, own.end());
        return direct;
    }

    // A message for each other writer: the blocks of this rank that reach into its slabs.
    Messages address_blocks(const PartWriters& writers, const std::map<uint64_t, std::vector<RankBlock>>& blocks) const {
        Messages out;
        for (const auto& [k, of_writer] : blocks) {
            if (writers.rank(k) == ranks.rank()) continue;
            std::vector<uint64_t>& message = out[writers.rank(k)];
            for (const RankBlock& block : of_writer) {
                message.push_back(block.array);
                put_box(message, arrays[block.array].mine[block.block]);
            }
        }
        return out;
    }

    void collect(const Sequence& mine, const Messages& messages, std::vector<RankBlock> copied, std::vector<RankBlock> direct) {
        std::map<uint64_t, std::vector<RankBlock>> senders;
        for (const auto& [rank, words] : messages) {
            for (size_t at = 0; at < words.size();) {
                const size_t a = words[at++];
                const Box box = take_box(words, at, arrays[a].shape.size());
                senders[rank].push_back({a, 0, Spans(arrays[a].shape, box)});
            }
        }
        if (!copied.empty()) senders[ranks.rank()] = std::move(copied);
        collector = std::make_unique<PieceCollector>(ranks, *node, mine, arrays, senders, std::move(direct), piece_bytes);
    }

    void run(const std::vector<std::vector<BlockView>>& memory, const std::function<void(const Span&)>& take,
             const std::function<void()>& flush) {
        for (PieceSender& sender : senders) sender.begin_step(&memory);
        if (collector) collector->begin_step(&memory);
        for (;;) {
            const uint32_t seen = node->times_rung();
            bool any = false, finished = true, awaits_message = false;
            for (PieceSender& sender : senders) {
                any = sender.advance() || any;
                finished = finished && sender.finished();
                awaits_message = awaits_message || sender.awaits_message();
            }
            if (collector) {
                any = collector->advance(take, flush) || any;
                finished = finished && collector->finished();
                awaits_message = awaits_message || collector->awaits_message();
            }
            if (finished) return;
            if (!any) node->wait(seen, awaits_message);
        }
    }
};

Exchange::Exchange(const Communicator& ranks, std::vector<ExchangeArray> arrays, const PartWriters& writers, uint64_t memory_bytes)
    : impl_(std::make_unique<Impl>(ranks, std::move(arrays), writers, memory_bytes)) {}

Exchange::~Exchange() = default;

void Exchange::run(const std::vector<std::vector<BlockView>>& memory, const std::function<void(const Span&)>& take,
                   const std::function<void()>& flush) {
    Impl& impl = *impl_;
    run_or_end_job(impl.ranks.size() > 1, [&] { impl.run(memory, take, flush); });
    if (impl.collector && impl.collector->error()) std::rethrow_exception(impl.collector->error());
}

}  // namespace tailrace
