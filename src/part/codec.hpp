// Encodes and decodes the stored bytes of a chunk with the filters of its dataset, in the order in which HDF5 applies them. HDF5 is
// not called, so any thread may use a Codec of its own.
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
    uint64_t shuffled_bytes = 1;  // element size of HDF5's shuffle filter; 1: no shuffling
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

    // Appends the stored form of the chunk.
    void encode(const Filters& filters, std::span<const std::byte> chunk, std::vector<std::byte>& stored);
    // Decodes the stored bytes into `chunk`. False if they do not decode to exactly that size.
    [[nodiscard]] bool decode(const Filters& filters, std::span<const std::byte> stored, std::span<std::byte> chunk);

private:
    struct Engines;
    std::unique_ptr<Engines> engines_;
    std::vector<std::byte> shuffled_;
};

// Rounding that keeps `bits` explicit bits of each mantissa and sets the rest to 0: netCDF's BitRound (nc_def_var_quantize; Kloewer
// et al. 2021, doi:10.1038/s43588-021-00156-2). Not changed: values that equal `missing`, infinite values and NaN.
struct Rounding {
    Type type = Type::F32;
    uint64_t bits = 0;               // 0: nothing is rounded
    std::vector<std::byte> missing;  // one element, or empty
    bool rounds() const;             // false if no value would change, such as for types without a mantissa
    bool operator==(const Rounding&) const = default;
};
// The rounding that the storage keys give for a variable with this type and fill value.
Rounding rounding_of(const Storage& storage, Type type, const std::vector<std::byte>& fill);
void round_mantissas(const Rounding& rounding, std::span<std::byte> values);

// netCDF's attribute of a rounded variable: the number of bits.
constexpr const char* kBitRoundAttribute = "_QuantizeBitRoundNumberOfSignificantBits";
Attribute rounding_attribute(const Rounding& rounding);

}  // namespace tailrace
