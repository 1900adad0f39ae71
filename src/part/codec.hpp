// The bytes of a chunk as they are stored, and back: the filters that its dataset names, in the order in which HDF5 applies them.
// Without HDF5: any thread may, each with a Codec of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/type.hpp"
#include "layout/attribute.hpp"
#include "layout/layout.hpp"

namespace tailrace {

struct Filters {
    Compression compression;
    uint64_t shuffled_bytes = 1;  // of an element whose equal bytes are put side by side; 1: they stay where they are
    bool operator==(const Filters&) const = default;
};

// The filters of arrays of a type.
Filters filters_of(const Storage& storage, Type type);

// HDF5's registered number of Zstandard: https://github.com/HDFGroup/hdf5_plugins/blob/master/docs/RegisteredFilterPlugins.md
constexpr int kZstdFilter = 32015;
constexpr const char* kZstdName = "Zstandard";

class Codec {
public:
    Codec();
    ~Codec();
    Codec(Codec&&) noexcept;
    Codec& operator=(Codec&&) noexcept;

    // Appends the chunk as it is stored.
    void encode(const Filters& filters, std::span<const std::byte> chunk, std::vector<std::byte>& stored);
    // Fills the chunk. False where the stored bytes are not those of a chunk of that size.
    [[nodiscard]] bool decode(const Filters& filters, std::span<const std::byte> stored, std::span<std::byte> chunk);

private:
    struct Engines;
    std::unique_ptr<Engines> engines_;
    std::vector<std::byte> shuffled_;
};

// Rounding that keeps so many explicit bits of each mantissa, the rest is 0: netCDF's BitRound (nc_def_var_quantize; Kloewer et al.
// 2021, doi:10.1038/s43588-021-00156-2). Values that are `missing` (one element, or empty), infinite or no number stay as they are.
struct Rounding {
    Type type = Type::F32;
    uint64_t bits = 0;  // 0: nothing is rounded
    std::vector<std::byte> missing;
    bool rounds() const;  // false where no value would change: also for types without a mantissa
    bool operator==(const Rounding&) const = default;
};
// How the storage keys round a variable of that type and with that fill value.
Rounding rounding_of(const Storage& storage, Type type, const std::vector<std::byte>& fill);
void round_mantissas(const Rounding& rounding, std::span<std::byte> values);

// netCDF's attribute of a variable that was rounded: the number of bits.
constexpr const char* kBitRoundAttribute = "_QuantizeBitRoundNumberOfSignificantBits";
Attribute rounding_attribute(const Rounding& rounding);

}  // namespace tailrace
