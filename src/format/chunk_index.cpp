#include "format/chunk_index.hpp"

#include <algorithm>
#include <vector>

namespace tailrace::format {

uint64_t put_fixed_array(Bytes& out, uint64_t base, std::span<const Extent> chunks) {
    constexpr uint64_t kPage = uint64_t{1} << kFixedArrayPageBits;
    constexpr uint64_t kHeaderBytes = 28;
    const uint64_t header = out.size();
    const auto put_head = [&](const char* signature) {
        out.put_text(signature);
        out.put(uint8_t{0});  // version
        out.put(uint8_t{0});  // of chunks without filters
    };
    put_head("FAHD");
    out.put(uint8_t{8});  // bytes of an address
    out.put(kFixedArrayPageBits);
    out.put(static_cast<uint64_t>(chunks.size()));
    out.put(base + header + kHeaderBytes);
    out.put_checksum(header);

    const uint64_t block = out.size();
    put_head("FADB");
    out.put(base + header);
    const auto put_addresses = [&](uint64_t first, uint64_t count) {
        for (uint64_t k = 0; k < count; ++k) out.put(chunks[first + k].address);
    };
    if (chunks.size() <= kPage) {
        put_addresses(0, chunks.size());
        out.put_checksum(block);
        return base + header;
    }
    // A large array is stored in pages; a bit for each page says that it exists, the highest bit first.
    const uint64_t pages = (chunks.size() + kPage - 1) / kPage;
    for (uint64_t p = 0; p < pages; p += 8) {
        const uint64_t here = std::min<uint64_t>(8, pages - p);
        out.put(static_cast<uint8_t>(0xFF00 >> here));
    }
    out.put_checksum(block);
    for (uint64_t p = 0; p < pages; ++p) {
        const uint64_t page = out.size();
        put_addresses(p * kPage, std::min(kPage, chunks.size() - p * kPage));
        out.put_checksum(page);
    }
    return base + header;
}

uint64_t children_for(uint64_t chunks) { return std::clamp<uint64_t>((chunks + 1) / 2 * 2, 4, kMostChildren); }

namespace {

// A child of a node: the number of its first chunk, and its address. The number of all chunks stands for the end.
struct Child {
    uint64_t first, address;
};

class ChunkTreeImage {
public:
    ChunkTreeImage(Bytes& out, uint64_t base, std::span<const Extent> chunks, std::span<const uint64_t> offsets,
                   std::span<const uint64_t> chunk, uint64_t element_bytes, uint64_t most_children)
        : out_(out), base_(base), chunks_(chunks), offsets_(offsets), chunk_(chunk), element_bytes_(element_bytes),
          most_children_(most_children) {}

    uint64_t put() {
        std::vector<Child> children;
        children.reserve(chunks_.size());
        for (uint64_t c = 0; c < chunks_.size(); ++c) children.push_back({c, chunks_[c].address});
        for (uint8_t level = 0;; ++level) {
            children = put_level(level, children);
            if (children.size() == 1) return children[0].address;
        }
    }

private:
    uint64_t node_bytes() const {
        const uint64_t key_bytes = 8 + 8 * (chunk_.size() + 1);
        return 24 + (most_children_ + 1) * key_bytes + most_children_ * 8;
    }

    // Appends the nodes of one level over these children, and returns them as the children of the next level.
    std::vector<Child> put_level(uint8_t level, const std::vector<Child>& children) {
        const uint64_t first_address = base_ + out_.size();
        const uint64_t nodes = (children.size() + most_children_ - 1) / most_children_;
        const auto address = [&](uint64_t node) { return node < nodes ? first_address + node * node_bytes() : kUndefined; };
        std::vector<Child> result;
        for (uint64_t node = 0; node < nodes; ++node) {
            const uint64_t begin = node * most_children_, end = std::min<uint64_t>(begin + most_children_, children.size());
            const uint64_t from = out_.size();
            out_.put_text("TREE");
            out_.put(uint8_t{1});  // of chunks
            out_.put(level);
            out_.put(static_cast<uint16_t>(end - begin));
            out_.put(node == 0 ? kUndefined : address(node - 1));
            out_.put(address(node + 1));
            for (uint64_t c = begin; c < end; ++c) {
                put_key(children[c].first);
                out_.put(children[c].address);
            }
            put_key(end < children.size() ? children[end].first : chunks_.size());
            out_.put_zeros(from + node_bytes() - out_.size());
            result.push_back({children[begin].first, base_ + from});
        }
        return result;
    }

    // Appends the key of a chunk. The key of the end is one larger in every dimension than that of the last chunk, as in HDF5.
    void put_key(uint64_t number) {
        const bool is_end = number == chunks_.size();
        const uint64_t of = is_end ? number - 1 : number;
        out_.put(is_end ? uint32_t{0} : static_cast<uint32_t>(chunks_[of].bytes));
        out_.put(uint32_t{0});  // no filter was skipped
        for (size_t d = 0; d < chunk_.size(); ++d) out_.put(offsets_[of * chunk_.size() + d] + (is_end ? chunk_[d] : 0));
        out_.put(is_end ? element_bytes_ : uint64_t{0});
    }

    Bytes& out_;
    const uint64_t base_;
    const std::span<const Extent> chunks_;
    const std::span<const uint64_t> offsets_, chunk_;
    const uint64_t element_bytes_, most_children_;
};

}  // namespace

uint64_t put_chunk_tree(Bytes& out, uint64_t base, std::span<const Extent> chunks, std::span<const uint64_t> offsets,
                        std::span<const uint64_t> chunk, uint64_t element_bytes, uint64_t most_children) {
    if (chunks.empty()) return kUndefined;
    return ChunkTreeImage(out, base, chunks, offsets, chunk, element_bytes, most_children).put();
}

}  // namespace tailrace::format
