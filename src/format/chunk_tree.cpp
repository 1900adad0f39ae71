#include "format/chunk_tree.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "format/bytes.hpp"
#include "format/messages.hpp"
#include "format/object_header.hpp"

namespace tailrace::format {
namespace {

constexpr uint64_t kNodeHead = 24;     // signature, type, level, number of children, and the neighbours
constexpr size_t kMostDepth = 16;      // levels of a tree over 2^16 chunks with two children a node; Tailrace's have 8 or more
constexpr size_t kMostBlocks = 64;     // most blocks of one object header
constexpr uint8_t kContinuation = 16;  // the message that names the next block
constexpr uint64_t kSignature = 4;

[[noreturn]] void damaged(const File& file, const std::string& what) {
    fail(Status::CORRUPT, file.path(), ": ", what, "; the part was changed after it was written");
}

std::vector<std::byte> read(const File& file, uint64_t address, uint64_t bytes, const char* what) {
    const uint64_t size = file.size_bytes();
    if (bytes > size || address > size - bytes) damaged(file, text(what, " at ", address, " is outside of the file"));
    std::vector<std::byte> data(bytes);
    file.read_at(address, data.data(), bytes);
    return data;
}

template <class Number>
Number number_at(std::span<const std::byte> bytes, uint64_t at) {
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
}

bool begins_with(std::span<const std::byte> bytes, const char* signature) {
    return std::memcmp(bytes.data(), signature, kSignature) == 0;
}

// Reads the messages of an object header of version 2, in all its blocks.
class Messages {
public:
    Messages(const File& file, uint64_t address) : file_(file) {
        const std::vector<std::byte> head = read(file, address, kSignature + 2, "an object header");
        if (!begins_with(head, "OHDR") || head[kSignature] != std::byte{2}) return;
        const auto flags = number_at<uint8_t>(head, kSignature + 1);
        has_order_ = (flags & 4) != 0;
        const uint64_t size_at = address + head.size() + ((flags & 32) != 0 ? 16 : 0) + ((flags & 16) != 0 ? 4 : 0);
        const uint64_t size_bytes = uint64_t{1} << (flags & 3);
        std::vector<std::byte> size = read(file, size_at, size_bytes, "an object header");
        size.resize(sizeof(uint64_t));
        blocks_.push_back({size_at + size_bytes, number_at<uint64_t>(size, 0)});
    }

    // The body of the first message of this kind.
    std::optional<std::vector<std::byte>> find(Message wanted) {
        for (size_t b = 0; b < blocks_.size() && b < kMostBlocks; ++b) {
            const Extent block = blocks_[b];
            const std::vector<std::byte> bytes = read(file_, block.address, block.bytes, "a block of an object header");
            const uint64_t head = has_order_ ? 6 : 4;
            for (uint64_t at = 0; at + head <= bytes.size();) {
                const auto kind = number_at<uint8_t>(bytes, at);
                const uint64_t length = number_at<uint16_t>(bytes, at + 1);
                if (at + head + length > bytes.size()) break;
                const std::span body = std::span(bytes).subspan(at + head, length);
                if (kind == static_cast<uint8_t>(wanted)) return std::vector<std::byte>(body.begin(), body.end());
                if (kind == kContinuation && length >= 16) add_continuation(body);
                at += head + length;
            }
        }
        return std::nullopt;
    }

private:
    void add_continuation(std::span<const std::byte> body) {
        const auto address = number_at<uint64_t>(body, 0), bytes = number_at<uint64_t>(body, 8);
        if (bytes < kSignature + kChecksumBytes) return;
        blocks_.push_back({address + kSignature, bytes - kSignature - kChecksumBytes});
    }

    const File& file_;
    bool has_order_ = false;
    std::vector<Extent> blocks_;
};

}  // namespace

std::optional<ChunkTree> ChunkTree::of(std::shared_ptr<const File> file, uint64_t header_address) {
    const auto layout = Messages(*file, header_address).find(Message::layout);
    constexpr uint8_t kVersion = 3, kChunked = 2;
    if (!layout || layout->size() < kTreeAddressAt + sizeof(uint64_t) || number_at<uint8_t>(*layout, 0) != kVersion ||
        number_at<uint8_t>(*layout, 1) != kChunked)
        return std::nullopt;
    const auto dims = number_at<uint8_t>(*layout, 2);  // and one more, for the bytes of an element
    if (dims < 2) return std::nullopt;
    return ChunkTree(std::move(file), dims - 1u, number_at<uint64_t>(*layout, kTreeAddressAt));
}

const ChunkTree::Node& ChunkTree::node_at(size_t depth, uint64_t address) {
    if (path_.size() <= depth) path_.resize(depth + 1);
    Node& node = path_[depth];
    if (node.address == address && !node.bytes.empty()) return node;
    node.bytes.clear();
    const std::vector<std::byte> head = read(*file_, address, kNodeHead, "a node of a tree of chunks");
    if (!begins_with(head, "TREE") || head[kSignature] != std::byte{1})
        damaged(*file_, text("there is no node of a tree of chunks at ", address));
    node.level = number_at<uint8_t>(head, kSignature + 1);
    node.children = number_at<uint16_t>(head, kSignature + 2);
    node.bytes = read(*file_, address + kNodeHead, node.children * (key_bytes() + 8) + key_bytes(), "a node of a tree of chunks");
    node.address = address;
    return node;
}

// Whether a key of the node equals `offset` or is before it in C order.
bool ChunkTree::is_at_or_before(const Node& node, uint64_t key, std::span<const uint64_t> offset) const {
    for (size_t d = 0; d < dims_; ++d) {
        const auto of_key = number_at<uint64_t>(node.bytes, key * (key_bytes() + 8) + 8 + 8 * d);
        if (of_key != offset[d]) return of_key < offset[d];
    }
    return true;
}

std::optional<ChunkTree::Chunk> ChunkTree::find(std::span<const uint64_t> offset) {
    if (root_ == kUndefined || offset.size() != dims_) return std::nullopt;
    uint64_t address = root_;
    for (size_t depth = 0; depth < kMostDepth; ++depth) {
        const Node& node = node_at(depth, address);
        if (depth > 0 && node.level + 1u != path_[depth - 1].level)
            damaged(*file_, text("the tree of chunks has a node of a wrong level at ", address));
        uint64_t first = 0, end = node.children;  // the wanted key is the last one at or before the offset; it is below `end`
        while (first < end) {
            const uint64_t middle = first + (end - first) / 2;
            is_at_or_before(node, middle, offset) ? first = middle + 1 : end = middle;
        }
        if (first == 0) return std::nullopt;
        const uint64_t at = (first - 1) * (key_bytes() + 8);
        const auto child = number_at<uint64_t>(node.bytes, at + key_bytes());
        if (node.level > 0) {
            address = child;
            continue;
        }
        for (size_t d = 0; d < dims_; ++d)
            if (number_at<uint64_t>(node.bytes, at + 8 + 8 * d) != offset[d]) return std::nullopt;
        return Chunk{number_at<uint32_t>(node.bytes, at + 4), {child, number_at<uint32_t>(node.bytes, at)}};
    }
    damaged(*file_, "the tree of chunks is too deep");
}

}  // namespace tailrace::format
