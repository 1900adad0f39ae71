// Encodes the list of sources of a virtual dataset: one object in the global heap, in the form of the HDF5 file format
// specification ("Data Layout Message", class 3, and "Dataspace Selection").
#pragma once

#include <span>
#include <string>
#include <vector>

#include "format/bytes.hpp"
#include "part/description.hpp"

namespace tailrace {

// HDF5 reads the names of a virtual dataset's sources as patterns, in which a percent sign is written twice.
std::string as_pattern(const std::string& name);

constexpr uint64_t kExpectedSourceBytes = 192;  // of one source, about

class SourceListEncoder {
public:
    // Encodes the sources of array `name` that show elements; the checksum at the end is left out. Valid until the next call. Where
    // consecutive arrays share their sources, only the name is replaced.
    std::span<const std::byte> encode(const std::string& name, const Sources& sources);

private:
    void put_all(const Sources& sources);
    format::Bytes bytes_;
    Sources sources_;
    std::string pattern_;             // of the name
    std::vector<uint64_t> names_at_;  // positions of the name
};

}  // namespace tailrace
