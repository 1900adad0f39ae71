#include "part/codec.hpp"

#include <libdeflate.h>
#include <zstd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <new>

#include "base/error.hpp"

namespace tailrace {
namespace {

// Shuffling puts the first bytes of all elements first, then the second bytes, ..., as HDF5 does. RATIONALE: a constant element
// size lets the compiler use vector instructions; so many elements at once stay in a cache.
constexpr size_t kElementsAtOnce = 2048;

template <size_t Bytes>
void shuffle(const std::byte* from, size_t elements, std::byte* to) {
    for (size_t first = 0; first < elements; first += kElementsAtOnce) {
        const size_t last = std::min(first + kElementsAtOnce, elements);
        for (size_t b = 0; b < Bytes; ++b)
            for (size_t i = first; i < last; ++i) to[b * elements + i] = from[i * Bytes + b];
    }
}

template <size_t Bytes>
void unshuffle(const std::byte* from, size_t elements, std::byte* to) {
    for (size_t first = 0; first < elements; first += kElementsAtOnce) {
        const size_t last = std::min(first + kElementsAtOnce, elements);
        for (size_t i = first; i < last; ++i)
            for (size_t b = 0; b < Bytes; ++b) to[i * Bytes + b] = from[b * elements + i];
    }
}

// Calls work(size) with the element size as a compile-time constant.
template <class Work>
void for_size(uint64_t bytes, Work&& work) {
    switch (bytes) {
        case 2: return work(std::integral_constant<size_t, 2>());
        case 4: return work(std::integral_constant<size_t, 4>());
        case 8: return work(std::integral_constant<size_t, 8>());
        default: fail(Status::INTERNAL, "elements of ", bytes, " bytes are not shuffled");
    }
}

template <class Float, class Bits>
struct Format {
    using Number = Float;
    using Word = Bits;
    static constexpr uint64_t mantissa = std::numeric_limits<Float>::digits - 1;
};
using Single = Format<float, uint32_t>;
using Double = Format<double, uint64_t>;
static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

template <class Of>
void round_all(uint64_t bits, const std::vector<std::byte>& missing, std::span<std::byte> values) {
    using Word = typename Of::Word;
    const Word zeros = (Word{1} << (Of::mantissa - bits)) - 1, half = (zeros >> 1) + 1,
               infinite = std::bit_cast<Word>(std::numeric_limits<typename Of::Number>::infinity());
    Word skipped = infinite;
    if (!missing.empty()) std::memcpy(&skipped, missing.data(), sizeof skipped);
    for (size_t at = 0; at < values.size(); at += sizeof(Word)) {
        Word word;
        std::memcpy(&word, values.data() + at, sizeof word);
        if (word == skipped || (word & infinite) == infinite) continue;
        word = (word + half) & ~zeros;
        std::memcpy(values.data() + at, &word, sizeof word);
    }
}

}  // namespace

Filters filters_of(const Storage& storage, Type type) { return {storage.compression, storage.shuffle ? type_bytes(type) : 1}; }

struct Codec::Engines {
    struct Free {
        void operator()(libdeflate_compressor* of) const { libdeflate_free_compressor(of); }
        void operator()(libdeflate_decompressor* of) const { libdeflate_free_decompressor(of); }
        void operator()(ZSTD_CCtx* of) const { ZSTD_freeCCtx(of); }
        void operator()(ZSTD_DCtx* of) const { ZSTD_freeDCtx(of); }
    };
    template <class Engine>
    using Owned = std::unique_ptr<Engine, Free>;
    std::map<uint64_t, Owned<libdeflate_compressor>> deflate;  // by level
    Owned<libdeflate_decompressor> inflate;
    Owned<ZSTD_CCtx> zstd;
    Owned<ZSTD_DCtx> unzstd;

    template <class Engine, class Make>
    static Engine* ready(Owned<Engine>& engine, Make&& make) {
        if (!engine) engine.reset(make());
        if (!engine) throw std::bad_alloc();
        return engine.get();
    }
};

Codec::Codec() : engines_(std::make_unique<Engines>()) {}
Codec::~Codec() = default;
Codec::Codec(Codec&&) noexcept = default;
Codec& Codec::operator=(Codec&&) noexcept = default;

void Codec::encode(const Filters& filters, std::span<const std::byte> chunk, std::vector<std::byte>& stored) {
    if (filters.shuffled_bytes > 1) {
        shuffled_.resize(chunk.size());
        for_size(filters.shuffled_bytes,
                 [&](auto bytes) { shuffle<bytes()>(chunk.data(), chunk.size() / bytes(), shuffled_.data()); });
        chunk = shuffled_;
    }
    const uint64_t level = filters.compression.level;
    const size_t before = stored.size();
    const auto room = [&](size_t bytes) {
        stored.resize(before + bytes);
        return stored.data() + before;
    };
    switch (filters.compression.kind) {
        case Compression::Kind::none: std::memcpy(room(chunk.size()), chunk.data(), chunk.size()); return;
        case Compression::Kind::deflate: {
            auto* engine =
                Engines::ready(engines_->deflate[level], [&] { return libdeflate_alloc_compressor(static_cast<int>(level)); });
            const size_t bound = libdeflate_zlib_compress_bound(engine, chunk.size());
            std::byte* to = room(bound);
            const size_t bytes = libdeflate_zlib_compress(engine, chunk.data(), chunk.size(), to, bound);
            if (bytes == 0) fail(Status::INTERNAL, "deflate failed on ", chunk.size(), " bytes");
            stored.resize(before + bytes);
            return;
        }
        case Compression::Kind::zstd: {
            auto* engine = Engines::ready(engines_->zstd, [] { return ZSTD_createCCtx(); });
            const size_t bound = ZSTD_compressBound(chunk.size());
            std::byte* to = room(bound);
            const size_t bytes = ZSTD_compressCCtx(engine, to, bound, chunk.data(), chunk.size(), static_cast<int>(level));
            if (ZSTD_isError(bytes)) fail(Status::INTERNAL, "zstd failed on ", chunk.size(), " bytes: ", ZSTD_getErrorName(bytes));
            stored.resize(before + bytes);
            return;
        }
    }
}

bool Codec::decode(const Filters& filters, std::span<const std::byte> stored, std::span<std::byte> chunk) {
    std::span<std::byte> to = chunk;
    if (filters.shuffled_bytes > 1) {
        shuffled_.resize(chunk.size());
        to = shuffled_;
    }
    bool decoded = false;
    switch (filters.compression.kind) {
        case Compression::Kind::none:
            decoded = stored.size() == to.size();
            if (decoded) std::memcpy(to.data(), stored.data(), to.size());
            break;
        case Compression::Kind::deflate: {
            auto* engine = Engines::ready(engines_->inflate, [] { return libdeflate_alloc_decompressor(); });
            decoded = libdeflate_zlib_decompress(engine, stored.data(), stored.size(), to.data(), to.size(), nullptr) ==
                      LIBDEFLATE_SUCCESS;
            break;
        }
        case Compression::Kind::zstd: {
            auto* engine = Engines::ready(engines_->unzstd, [] { return ZSTD_createDCtx(); });
            decoded = ZSTD_decompressDCtx(engine, to.data(), to.size(), stored.data(), stored.size()) == to.size();
            break;
        }
    }
    if (decoded && filters.shuffled_bytes > 1)
        for_size(filters.shuffled_bytes,
                 [&](auto bytes) { unshuffle<bytes()>(shuffled_.data(), chunk.size() / bytes(), chunk.data()); });
    return decoded;
}

bool Rounding::rounds() const {
    return bits > 0 && ((type == Type::F32 && bits < Single::mantissa) || (type == Type::F64 && bits < Double::mantissa));
}

Rounding rounding_of(const Storage& storage, Type type, const std::vector<std::byte>& fill) {
    return {type, storage.bit_round, fill};
}

Attribute rounding_attribute(const Rounding& rounding) {
    const auto bits = static_cast<int32_t>(rounding.bits);
    return number_attribute(kBitRoundAttribute, Type::I32, 1, &bits);
}

void round_mantissas(const Rounding& rounding, std::span<std::byte> values) {
    if (!rounding.rounds()) return;
    if (rounding.type == Type::F32)
        round_all<Single>(rounding.bits, rounding.missing, values);
    else
        round_all<Double>(rounding.bits, rounding.missing, values);
}

}  // namespace tailrace
