// Where the elements of an array are stored: its boxes in the parts, found by name and read by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layout/box.hpp"
#include "part/part_reader.hpp"

namespace tailrace {

// A box of an array (of one step if the array varies), and where a part stores it.
struct StoredBox {
    StoredArray stored;     // stored.file is null if the file is opened at each use
    Box box;                // in the array, without time
    std::string path = {};  // path of the file
    std::shared_ptr<const File> file() const {
        return stored.file ? stored.file : std::make_shared<const File>(File::open_read(path));
    }
};

// Sources of an array that are copied together, and the rows of its first dimension that contain them.
struct SourcePiece {
    size_t first = 0, last = 0;
    uint64_t begin_row = 0, end_row = UINT64_MAX;
};

inline SourcePiece all_sources(const Array& array) { return {0, array.sources.size()}; }

// A static array can have sources in all parts, such as an array over a ragged dimension. A source holds its file open while it is
// copied, so a piece has few of them.
std::vector<SourcePiece> pieces_of_sources(const Array& array, const Shape& shape);

// Finds the sources of arrays in the parts. Not thread-safe.
class SourceFinder {
public:
    explicit SourceFinder(std::string directory) : directory_(std::move(directory)) {}
    // `step`: the number of the step in the dataset; none for an array without time.
    std::vector<StoredBox> find(const Array& array, std::optional<uint64_t> step, const SourcePiece& sources);

private:
    std::string directory_;
    OpenParts parts_;  // their files stay open while a StoredBox refers to them
};

uint64_t stored_elements(const std::vector<StoredBox>& boxes, const Box& wanted);

// Reads the wanted box: what the parts have of it, and fill values for the rest. Any thread may call it.
// Throws CORRUPT where elements are in no part and the array has no fill value. `of`: the stream, for the message.
void read_stored(const Array& array, const std::vector<StoredBox>& boxes, const Box& wanted, std::span<std::byte> into,
                 const std::string& of);

Shape without_first(const Shape& shape);
Box without_time(const Box& box);

}  // namespace tailrace
