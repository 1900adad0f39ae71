#include "forward/parcel.hpp"

#include <cstring>

#include "base/copy.hpp"
#include "gather/box_words.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kPieceWords = 5;  // besides its box

uint64_t aligned(uint64_t at) { return (at + kAlignment - 1) / kAlignment * kAlignment; }

std::vector<uint64_t> words_of(const std::vector<Piece>& pieces) {
    std::vector<uint64_t> words;
    for (const Piece& piece : pieces) {
        words.insert(words.end(), {piece.variable, piece.replicated, piece.offset, piece.bytes, piece.box.count.size()});
        put_box(words, piece.box);
    }
    return words;
}

}  // namespace

Parcel lay_out_parcel(const Definitions& definitions, const StepData& data, bool with_values, bool with_static) {
    Parcel parcel;
    for (uint64_t v = 0; v < definitions.variables().size(); ++v) {
        const uint64_t element_bytes = type_bytes(definitions.variables()[v].type);
        if (definitions.variables()[v].is_static && !with_static) continue;
        if (definitions.variables()[v].replicated) {
            if (with_values && !data.values[v].empty()) parcel.pieces.push_back({v, true, {}, 0, data.values[v].size()});
        } else {
            for (const Box& box : data.boxes[v]) parcel.pieces.push_back({v, false, box, 0, box.elements() * element_bytes});
        }
    }
    uint64_t words = 0;
    for (const Piece& piece : parcel.pieces) words += kPieceWords + 2 * piece.box.count.size();
    uint64_t at = sizeof(uint64_t) * (1 + words);
    for (Piece& piece : parcel.pieces) {
        piece.offset = aligned(at);
        at = piece.offset + piece.bytes;
    }
    parcel.bytes = aligned(at);
    parcel.words = words_of(parcel.pieces);
    return parcel;
}

void write_parcel(const Parcel& parcel, const StepData& data, std::byte* to) {
    const uint64_t count = parcel.words.size();
    std::memcpy(to, &count, sizeof count);
    if (count > 0) std::memcpy(to + sizeof count, parcel.words.data(), count * sizeof(uint64_t));
    size_t block = 0;
    for (size_t i = 0; i < parcel.pieces.size(); ++i) {
        const Piece& piece = parcel.pieces[i];
        block = i > 0 && parcel.pieces[i - 1].variable == piece.variable ? block + 1 : 0;
        std::byte* at = to + piece.offset;
        if (piece.replicated) {
            std::memcpy(at, data.values[piece.variable].data(), piece.bytes);
            continue;
        }
        const BlockView& memory = data.memory[piece.variable][block];
        if (memory.piece_bytes() >= 4096)
            memory.for_pieces(0, piece.box.elements(), [&](const std::byte* from, uint64_t bytes) {
                copy_past_caches(at, from, bytes);
                at += bytes;
            });
        else
            memory.copy_out(0, piece.box.elements(), at);
    }
}

std::vector<Piece> read_pieces(const std::byte* from) {
    uint64_t count = 0;
    std::memcpy(&count, from, sizeof count);
    std::vector<uint64_t> words(count);
    if (count > 0) std::memcpy(words.data(), from + sizeof count, count * sizeof(uint64_t));
    std::vector<Piece> pieces;
    for (size_t at = 0; at < words.size();) {
        Piece piece{words[at], words[at + 1] != 0, {}, words[at + 2], words[at + 3]};
        const uint64_t dims = words[at + 4];
        at += kPieceWords;
        piece.box = take_box(words, at, dims);
        pieces.push_back(std::move(piece));
    }
    return pieces;
}

}  // namespace tailrace
