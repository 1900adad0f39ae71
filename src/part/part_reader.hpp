// Reading one part: where its arrays are, as HDF5 tells from the file; the bytes themselves are read by address, straight into the
// caller's memory where they are not compressed. What is read is not trusted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/system.hpp"
#include "base/type.hpp"
#include "layout/block_view.hpp"
#include "part/description.hpp"
#include "part/hdf5.hpp"

namespace tailrace {

// An array, or one step of it, as it is stored: dense, in C order from an address on; or in chunks.
struct StoredArray {
    std::shared_ptr<const File> file;
    std::string name;
    uint64_t element_bytes = 1;
    Extents shape;
    uint64_t address = 0;
    std::optional<Packing> packing = std::nullopt;
    uint64_t first_chunk = 0;  // of those that were asked for
    std::vector<Extent> chunks = {};
};

class PartReader {
public:
    // Throws NOT_FOUND or CORRUPT with the path.
    explicit PartReader(const std::string& path);
    ~PartReader();

    const std::string& path() const { return file_->path(); }

    // Where an array is; where `step` (of the part) of it is if it varies. Of its chunks those that `box` touches.
    // Throws CORRUPT with the path unless the array is there with this type and shape, within the file.
    struct Wanted {
        std::string name;
        Type type = Type::F64;
        Extents shape;  // without time
        bool varies = false;
    };
    StoredArray find(const Wanted& array, uint64_t step, const Box& box) const;
    StoredArray find(const Wanted& array, uint64_t step) const { return find(array, step, whole_box(array.shape)); }

    // The blocks that the part has: arrays with an offset within the global one.
    struct Block {
        std::string array;
        Box box;
    };
    std::vector<Block> blocks() const;

private:
    void find_chunks(hid_t dataset, hid_t creation, uint64_t step, const Box& box, StoredArray& stored) const;
    [[noreturn]] void refuse(const std::string& array, const std::string& why) const;
    std::shared_ptr<const File> file_;
    uint64_t bytes_ = 0;
    hdf5::FileId metadata_;
};

// Parts that are open for reading, by path. Only some at a time: when there are many, all are closed before the next is opened.
class OpenParts {
public:
    PartReader& open(const std::string& path);
    void close(const std::string& path) { parts_.erase(path); }
    void close_all() { parts_.clear(); }

private:
    std::map<std::string, std::unique_ptr<PartReader>> parts_;
};

// A text attribute of the root; nothing where the file has none, or is none of HDF5's.
std::optional<std::string> root_text(const std::string& path, const std::string& name);

// Reads the elements of `box`, or of less than was asked for, to `memory`, a block of box.count. Without HDF5: any thread may.
// Throws CORRUPT where a chunk is none.
void read_box(const StoredArray& array, const Box& box, const BlockView& memory);

}  // namespace tailrace
