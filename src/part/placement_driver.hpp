// The placement driver: an HDF5 file driver without a file. It lays a file out in memory: metadata is kept, array data goes to
// addresses that the caller chose beforehand and is not stored at all. What HDF5 believes to have written is then written by
// whoever has the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "part/description.hpp"
#include "part/hdf5.hpp"

namespace tailrace {

// What one file becomes: the superblock at 0, metadata from metadata_address on, array data where it was placed.
class Capture {
public:
    // All of the file below `reserved_end` is somebody's, even if no array of this description lies there.
    Capture(uint64_t metadata_address, uint64_t reserved_end);

    // The addresses for the array data that HDF5 will ask for next, in its order: contiguous data at once, chunks in row-major
    // order (or in the order of writing, where they are filtered).
    void place_next(std::vector<Extent> extents);
    // Throws INTERNAL unless HDF5 asked for all of them; ends the placing.
    void end_placing(const std::string& array);

    // The writes of array data that were not performed.
    const std::vector<Extent>& raw_writes() const { return raw_writes_; }
    std::span<const std::byte> superblock() const { return superblock_; }
    std::span<const std::byte> metadata() const { return metadata_; }
    std::span<std::byte> metadata() { return metadata_; }
    uint64_t metadata_address() const { return metadata_address_; }
    uint64_t file_bytes() const;

    // For the driver's callbacks; they return false or HADDR_UNDEF with a reason on HDF5's error stack.
    haddr_t allocate(H5FD_mem_t kind, uint64_t bytes);
    void free(uint64_t address, uint64_t bytes);
    bool extend_to(uint64_t end);
    bool read(uint64_t address, uint64_t bytes, void* into) const;
    bool write(H5FD_mem_t kind, uint64_t address, uint64_t bytes, const void* from);

private:
    haddr_t allocate_metadata(uint64_t bytes);
    haddr_t next_placed(uint64_t bytes);
    bool in_metadata(uint64_t address, uint64_t bytes) const;
    uint64_t metadata_end() const { return metadata_address_ + metadata_.size(); }

    uint64_t metadata_address_, reserved_end_;
    std::vector<std::byte> superblock_, metadata_;
    std::vector<Extent> placed_, raw_writes_;
    size_t next_ = 0;
    bool placing_ = false;
    uint64_t raw_end_ = 0;
};

// A registered driver, and file access properties that lead to `capture`, which must outlive every file opened with them.
class PlacementDriver {
public:
    explicit PlacementDriver(Capture& capture);
    hid_t access() const { return access_; }

private:
    hdf5::Driver driver_;
    hdf5::Properties access_;
};

}  // namespace tailrace
