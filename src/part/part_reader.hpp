// Reading one part: where its arrays are, as HDF5 tells from the file; the bytes themselves are read by address, straight into the
// caller's memory. What is read is not trusted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/system.hpp"
#include "base/type.hpp"
#include "layout/block_view.hpp"
#include "part/hdf5.hpp"

namespace tailrace {

class PartReader {
public:
    // Throws NOT_FOUND or CORRUPT with the path.
    explicit PartReader(const std::string& path);

    const std::string& path() const { return file_->path(); }
    // For read_box(), also after the reader is gone.
    const std::shared_ptr<const File>& file() const { return file_; }

    // Where the values of an array begin; those of `step` (of the part) if it varies. They are dense and in C order from there.
    // Throws CORRUPT with the path unless the array is there with this type and shape, within the file.
    struct Wanted {
        std::string name;
        Type type = Type::F64;
        Extents shape;  // without time
        bool varies = false;
    };
    uint64_t address_of(const Wanted& array, uint64_t step) const;

    // The blocks that the part has: arrays with an offset within the global one.
    struct Block {
        std::string array;
        Box box;
    };
    std::vector<Block> blocks() const;

private:
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

// Reads the elements of `box` of an array of `shape` at `address` to `memory`, a block of box.count. Without HDF5: any thread may.
void read_box(const File& file, uint64_t address, const Extents& shape, const Box& box, const BlockView& memory);

}  // namespace tailrace
