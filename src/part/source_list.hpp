// The list of sources of a virtual dataset as HDF5 stores it: one piece in the global heap, in the layout of the HDF5 file format
// specification ("Data Layout Message", class 3, and "Dataspace Selection").
#pragma once

#include <span>
#include <string>
#include <vector>

#include "format/bytes.hpp"
#include "part/description.hpp"

namespace tailrace {

// HDF5 takes the names of a virtual dataset's sources for patterns, in which a percent sign is written twice.
std::string as_pattern(const std::string& name);

constexpr uint64_t kExpectedSourceBytes = 192;  // of one source, about

class SourceListEncoder {
public:
    // Of the sources that show elements, of the array `name`; the checksum at its end is left out. It stands until the next call.
    // Where arrays that share their sources follow each other, only the name is put anew.
    std::span<const std::byte> encode(const std::string& name, const Sources& sources);

private:
    void put_all(const Sources& sources);
    format::Bytes bytes_;
    Sources sources_;
    std::string pattern_;             // of the name
    std::vector<uint64_t> names_at_;  // where it stands
};

}  // namespace tailrace
