// Reads one part. HDF5 finds the addresses of arrays in the file; the bytes are then read by address, straight into the caller's
// memory if they are not compressed. Every value that is read is checked.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/type.hpp"
#include "format/chunk_tree.hpp"
#include "layout/block_view.hpp"
#include "part/description.hpp"
#include "part/hdf5.hpp"
#include "part/known_metadata.hpp"

namespace tailrace {

// Where an array, or one step of it, is stored: contiguous in C order at an address, or in chunks.
struct StoredArray {
    std::shared_ptr<const File> file;
    std::string name;
    uint64_t element_bytes = 1;
    Shape shape;
    uint64_t address = 0;
    std::optional<Packing> packing = std::nullopt;
    uint64_t first_chunk = 0;  // the number of chunks[0] in the grid
    std::vector<Extent> chunks = {};
};

class PartReader {
public:
    // Throws NOT_FOUND or CORRUPT with the path.
    explicit PartReader(const std::string& path);
    // `part`: the number of the part in its step. If the file equals what `known` has of this number, HDF5 opens it only when an
    // array is wanted that `known` does not have.
    PartReader(const std::string& path, uint64_t part, std::shared_ptr<KnownParts> known);
    ~PartReader();

    const std::string& path() const { return file_->path(); }
    // Whether the file still shows the same steps as when it was opened: a running model adds steps. False if it cannot be read.
    bool is_current() const noexcept;

    // Finds where an array is stored: step `step` of the part if the array varies, and only the chunks that `box` touches. Throws
    // CORRUPT with the path unless the array has this type and shape and lies within the file.
    using Wanted = WantedArray;
    StoredArray find(const Wanted& array, uint64_t step, const Box& box) const;
    StoredArray find(const Wanted& array, uint64_t step) const { return find(array, step, whole_box(array.shape)); }

    // Whether the part is known from an earlier one, and HDF5 has not opened it.
    bool is_known() const { return known_ && !recorded_file_; }

    // The length along time of an array that varies.
    uint64_t steps_of(const std::string& array) const;

    // The arrays of the part that are boxes of a variable, with their offset in the whole variable.
    struct Block {
        std::string array;
        Box box;
    };
    std::vector<Block> blocks() const;

private:
    static constexpr size_t kSuperblock = 48;
    using Superblock = std::array<std::byte, kSuperblock>;

    static Superblock superblock_of(const File& file);
    hdf5::Chunk find_chunk(hid_t dataset, const hdf5::Lengths& offset, const std::string& name) const;
    void find_chunks(hid_t dataset, hid_t creation, uint64_t step, const Box& box, StoredArray& stored) const;
    [[noreturn]] void refuse(const std::string& array, const std::string& why) const;
    std::shared_ptr<const File> file_;
    uint64_t bytes_ = 0;
    Superblock superblock_;
    StoredArray find_by_hdf5(const Wanted& array, uint64_t step, const Box& box) const;
    uint64_t address_of_step(const Wanted& array, const KnownMetadata::Place& place, uint64_t step) const;
    hid_t metadata() const { return recorded_file_ ? recorded_file_->id() : static_cast<hid_t>(metadata_); }
    void open_recorded() const;

    hdf5::FileId metadata_;
    const uint64_t part_ = 0;
    std::shared_ptr<KnownParts> known_parts_;          // null: nothing is recorded
    std::shared_ptr<const KnownMetadata> known_;       // of this file; null: no earlier part is equal
    mutable std::unique_ptr<KnownMetadata> recorded_;  // of this file, while HDF5 has it open
    mutable std::unique_ptr<RecordedFile> recorded_file_;
    mutable std::map<std::string, std::optional<format::ChunkTree>> trees_;  // by name of the array; none: no such tree
};

// Parts that are open for reading, by path. When too many are open, all are closed before the next one is opened.
class OpenParts {
public:
    PartReader& open(const std::string& path);
    // `part`: the number of the part in its step. HDF5 need not open it if an earlier part of this number has equal metadata.
    PartReader& open(const std::string& path, uint64_t part);
    void close(const std::string& path) { parts_.erase(path); }
    bool has_outdated(const std::string& path) const {
        const auto found = parts_.find(path);
        return found != parts_.end() && !found->second->is_current();
    }
    // Closes the parts whose files have been changed since they were opened.
    void close_outdated() noexcept {
        std::erase_if(parts_, [](const auto& part) { return !part.second->is_current(); });
    }
    void close_all() { parts_.clear(); }

private:
    template <class Open>
    PartReader& find_or_open(const std::string& path, Open&& open);

    std::map<std::string, std::unique_ptr<PartReader>> parts_;
    std::shared_ptr<KnownParts> known_ = std::make_shared<KnownParts>();
};

// A text attribute of the root; nothing where the file has no such attribute or is not an HDF5 file.
std::optional<std::string> root_text(const std::string& path, const std::string& name);

// Reads the elements of `box` to `memory`, a block of box.count. `box` must lie within that of find(). HDF5 is not called, so any
// thread may. Throws CORRUPT where a chunk cannot be decoded.
void read_box(const StoredArray& array, const Box& box, const BlockView& memory);

}  // namespace tailrace
