#include "values.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

// One source, compiled for the vector units that are found at run time.
#define VECTORISED __attribute__((target_clones("avx2", "default")))

namespace bench {
namespace {

constexpr uint64_t piece = 4096;  // elements compared in one call; differences are located afterwards

inline uint32_t mix(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

uint32_t seed_of(int variable, int step, uint64_t index) {
    return mix(mix(static_cast<uint32_t>(variable) + 1) + mix(static_cast<uint32_t>(step) + 0x10001U) +
               static_cast<uint32_t>(index >> 32));
}

// Mantissas of floats: 23 bits.
template <Pattern pattern>
inline uint32_t mantissa(uint32_t seed, uint32_t low) {
    const uint32_t h = mix(low ^ seed);
    if (pattern != Pattern::smooth) return h >> 9;
    const uint32_t along = low + (seed >> 8), wave = (along & 0x10000U) != 0 ? ~along : along;  // up and down, over 2^17 elements
    return ((wave & 0xffffU) << 7) | (h >> 25);
}

template <Pattern pattern>
inline uint32_t float_bits(uint32_t seed, uint32_t low) {
    return 0x3f800000U | mantissa<pattern>(seed, low);
}

template <Pattern pattern>
inline uint64_t double_bits(uint32_t seed, uint32_t low) {
    const uint32_t h = mix(low ^ seed);
    if (pattern == Pattern::noise) return 0x3ff0000000000000ULL | (static_cast<uint64_t>(h) << 20) | ((h * 0x9e3779b1U) >> 12);
    if (pattern == Pattern::kernel) return 0x3ff0000000000000ULL | (static_cast<uint64_t>(h >> 8) << 28);
    return 0x3ff0000000000000ULL | (static_cast<uint64_t>(mantissa<pattern>(seed, low)) << 29);
}

template <Pattern pattern>
VECTORISED void fill_floats(uint32_t *out, uint32_t seed, uint32_t low, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) out[i] = float_bits<pattern>(seed, low + i);
}

template <Pattern pattern>
VECTORISED void fill_doubles(uint64_t *out, uint32_t seed, uint32_t low, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) out[i] = double_bits<pattern>(seed, low + i);
}

template <Pattern pattern>
VECTORISED uint32_t differing_floats(const uint32_t *in, uint32_t seed, uint32_t low, uint32_t count) {
    uint32_t any = 0;
    for (uint32_t i = 0; i < count; ++i) any |= in[i] ^ float_bits<pattern>(seed, low + i);
    return any;
}

template <Pattern pattern>
VECTORISED uint64_t differing_doubles(const uint64_t *in, uint32_t seed, uint32_t low, uint32_t count) {
    uint64_t any = 0;
    for (uint32_t i = 0; i < count; ++i) any |= in[i] ^ double_bits<pattern>(seed, low + i);
    return any;
}

// Calls work(std::integral_constant) with the pattern as a constant.
template <typename Work>
void for_pattern(Pattern pattern, Work &&work) {
    switch (pattern) {
        case Pattern::noise: return work(std::integral_constant<Pattern, Pattern::noise>());
        case Pattern::kernel: return work(std::integral_constant<Pattern, Pattern::kernel>());
        case Pattern::smooth: return work(std::integral_constant<Pattern, Pattern::smooth>());
    }
}

// Calls each(index, offset in elements, length) for ranges in which the upper half of the index is constant.
template <typename Each>
void for_spans(uint64_t first, uint64_t count, Each each) {
    for (uint64_t done = 0; done < count;) {
        const uint64_t to_boundary = (1ULL << 32) - ((first + done) & 0xffffffffULL);
        const uint64_t length = std::min({piece, count - done, to_boundary});
        each(first + done, done, static_cast<uint32_t>(length));
        done += length;
    }
}

}  // namespace

void fill_values(void *out, int element_bytes, int variable, int step, uint64_t first, uint64_t count, Pattern pattern) {
    for_pattern(pattern, [&](auto of) {
        for_spans(first, count, [&](uint64_t index, uint64_t at, uint32_t length) {
            const uint32_t seed = seed_of(variable, step, index);
            const auto low = static_cast<uint32_t>(index);
            if (element_bytes == 4)
                fill_floats<of()>(static_cast<uint32_t *>(out) + at, seed, low, length);
            else
                fill_doubles<of()>(static_cast<uint64_t *>(out) + at, seed, low, length);
        });
    });
}

uint64_t count_mismatches(const void *in, int element_bytes, int variable, int step, uint64_t first, uint64_t count,
                          uint64_t *first_wrong, Pattern pattern) {
    uint64_t wrong = 0;
    for_pattern(pattern, [&](auto of) {
        for_spans(first, count, [&](uint64_t index, uint64_t at, uint32_t length) {
            const uint32_t seed = seed_of(variable, step, index);
            const auto low = static_cast<uint32_t>(index);
            const auto *floats = static_cast<const uint32_t *>(in) + at;
            const auto *doubles = static_cast<const uint64_t *>(in) + at;
            const bool same = element_bytes == 4 ? differing_floats<of()>(floats, seed, low, length) == 0
                                                 : differing_doubles<of()>(doubles, seed, low, length) == 0;
            if (same) return;
            for (uint32_t i = 0; i < length; ++i) {
                const bool differs = element_bytes == 4 ? floats[i] != float_bits<of()>(seed, low + i)
                                                        : doubles[i] != double_bits<of()>(seed, low + i);
                if (differs && wrong++ == 0) *first_wrong = index + i;
            }
        });
    });
    return wrong;
}

}  // namespace bench
