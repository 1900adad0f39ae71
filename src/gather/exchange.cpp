#include "gather/exchange.hpp"

#include <algorithm>

#include "gather/agree.hpp"
#include "gather/box_words.hpp"
#include "gather/collection.hpp"
#include "gather/contribution.hpp"
#include "gather/sparse_exchange.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kSmallestPiece = 64u << 10;
constexpr uint64_t kLargestPiece = 1u << 30;  // messages count bytes in an int
constexpr uint64_t kOwnPieceBytes = 4096;     // shorter stretches of the writer's own memory are copied together first

// The same on all ranks. No more memory than a writer's slabs fill.
uint64_t piece_bytes_for(const std::vector<ExchangeArray>& arrays, uint64_t writers, uint64_t memory_bytes) {
    uint64_t slabs_bytes = 0;
    for (const ExchangeArray& array : arrays) slabs_bytes += (volume(array.shape) / writers + 1) * array.element_bytes;
    memory_bytes = std::min(memory_bytes, slabs_bytes);
    return std::clamp<uint64_t>(memory_bytes / kSlots / 4096 * 4096, kSmallestPiece, kLargestPiece);
}

}  // namespace

struct Exchange::Impl {
    const Communicator& ranks;
    std::vector<ExchangeArray> arrays;
    uint64_t piece_bytes;
    std::unique_ptr<NodeMemory> node;
    std::vector<Contribution> contributions;
    std::unique_ptr<Collection> collection;
    uint64_t pieces = 0;

    Impl(const Communicator& ranks, std::vector<ExchangeArray> all, const std::vector<uint64_t>& writers, uint64_t memory_bytes)
        : ranks(ranks), arrays(std::move(all)), piece_bytes(piece_bytes_for(arrays, writers.size(), memory_bytes)) {
        const auto me = std::find(writers.begin(), writers.end(), ranks.rank());
        // A node without memory must not leave the others waiting in the exchange below.
        const auto error = attempt([&] { node = std::make_unique<NodeMemory>(ranks, me == writers.end() ? 0 : piece_bytes); });
        agree(ranks, {.call = Call::plan}, error);
        const Letters letters = deliver(ranks, address_blocks(writers));
        for (uint64_t k = 0; k < writers.size(); ++k) {
            std::vector<RankBlock> blocks = blocks_for(writers, k, writers[k] == ranks.rank() ? Own::copied : Own::all);
            if (!blocks.empty())
                contributions.emplace_back(ranks, *node, writers[k], sequence(writers, k), std::move(blocks), piece_bytes);
        }
        if (me != writers.end()) collect(writers, static_cast<uint64_t>(me - writers.begin()), letters);
    }

    enum class Own { all, copied, direct };

    Sequence sequence(const std::vector<uint64_t>& writers, uint64_t k) const {
        Sequence result;
        for (const ExchangeArray& array : arrays) result.add(array.shape, array.element_bytes, writers.size(), k);
        return result;
    }

    // The writer's own blocks go to the file from where they are if their runs are long, else through the ring like all others.
    std::vector<RankBlock> blocks_for(const std::vector<uint64_t>& writers, uint64_t k, Own which) const {
        std::vector<RankBlock> result;
        for (size_t a = 0; a < arrays.size(); ++a) {
            const uint64_t elements = volume(arrays[a].shape);
            const uint64_t lo = share_begin(elements, writers.size(), k), hi = share_begin(elements, writers.size(), k + 1);
            for (size_t b = 0; b < arrays[a].mine.size(); ++b) {
                const Runs runs(arrays[a].shape, arrays[a].mine[b]);
                const bool direct = runs.length() * arrays[a].element_bytes >= kOwnPieceBytes;
                if (which != Own::all && direct != (which == Own::direct)) continue;
                if (runs.elements_within(lo, hi) > 0) result.push_back({a, b, runs});
            }
        }
        return result;
    }

    // Tells each writer which blocks of this rank reach into its slabs.
    Letters address_blocks(const std::vector<uint64_t>& writers) const {
        Letters out;
        for (size_t a = 0; a < arrays.size(); ++a) {
            const uint64_t elements = volume(arrays[a].shape);
            for (const Box& box : arrays[a].mine) {
                const Runs runs(arrays[a].shape, box);
                if (runs.count() == 0) continue;
                const uint64_t first = share_of(elements, writers.size(), runs.begin(0));
                const uint64_t last = share_of(elements, writers.size(), runs.begin(runs.count() - 1) + runs.length() - 1);
                for (uint64_t k = first; k <= last; ++k) {
                    const uint64_t lo = share_begin(elements, writers.size(), k), hi = share_begin(elements, writers.size(), k + 1);
                    if (writers[k] == ranks.rank() || runs.elements_within(lo, hi) == 0) continue;
                    std::vector<uint64_t>& letter = out[writers[k]];
                    letter.push_back(a);
                    put_box(letter, box);
                }
            }
        }
        return out;
    }

    void collect(const std::vector<uint64_t>& writers, uint64_t k, const Letters& letters) {
        std::map<uint64_t, std::vector<RankBlock>> senders;
        for (const auto& [rank, words] : letters) {
            for (size_t at = 0; at < words.size();) {
                const size_t a = words[at++];
                const Box box = take_box(words, at, arrays[a].shape.size());
                senders[rank].push_back({a, 0, Runs(arrays[a].shape, box)});
            }
        }
        if (auto copied = blocks_for(writers, k, Own::copied); !copied.empty()) senders[ranks.rank()] = std::move(copied);
        const Sequence mine = sequence(writers, k);
        pieces = mine.pieces(piece_bytes);
        collection =
            std::make_unique<Collection>(ranks, *node, mine, arrays, senders, blocks_for(writers, k, Own::direct), piece_bytes);
    }
};

Exchange::Exchange(const Communicator& ranks, std::vector<ExchangeArray> arrays, std::vector<uint64_t> writers,
                   uint64_t memory_bytes)
    : impl_(std::make_unique<Impl>(ranks, std::move(arrays), writers, memory_bytes)) {}

Exchange::~Exchange() = default;

uint64_t Exchange::pieces() const { return impl_->pieces; }

void Exchange::run(const std::vector<std::vector<BlockView>>& memory, const std::function<void(const Stretch&)>& take,
                   const std::function<void()>& flush) {
    Impl& impl = *impl_;
    for (Contribution& contribution : impl.contributions) contribution.begin_step(&memory);
    if (impl.collection) impl.collection->begin_step(&memory);
    for (;;) {
        const uint32_t seen = impl.node->look();
        bool any = false, finished = true;
        for (Contribution& contribution : impl.contributions) {
            any = contribution.advance() || any;
            finished = finished && contribution.finished();
        }
        if (impl.collection) {
            any = impl.collection->advance(take, flush) || any;
            finished = finished && impl.collection->finished();
        }
        if (finished) break;
        if (!any) impl.node->wait(seen);
    }
    if (impl.collection && impl.collection->error()) std::rethrow_exception(impl.collection->error());
}

}  // namespace tailrace
