// The placement driver: an HDF5 file driver without a file. It lays out a file in memory and keeps the metadata. Array data gets
// the addresses that the caller has chosen before, and is not stored: the ranks that have the data write it themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "part/description.hpp"
#include "part/hdf5.hpp"

namespace tailrace {

// The content of one file: the superblock at 0, metadata from metadata_address on, array data at its chosen addresses.
class Capture {
public:
    // All addresses below `reserved_end` are in use, even those without an array.
    Capture(uint64_t metadata_address, uint64_t reserved_end);

    // The addresses of the array data that HDF5 allocates next, in its order: contiguous data at once, chunks in row-major order
    // (filtered chunks in the order of writing).
    void place_next(std::vector<Extent> extents);
    // Throws INTERNAL unless HDF5 has allocated all extents of place_next(). Later allocations are metadata again.
    void end_placing(const std::string& array);

    // The extents of array data that HDF5 wanted to write, and that were not written.
    const std::vector<Extent>& raw_writes() const { return raw_writes_; }
    std::span<const std::byte> superblock() const { return superblock_; }
    std::span<const std::byte> metadata() const { return metadata_; }
    std::span<std::byte> metadata() { return metadata_; }
    uint64_t metadata_address() const { return metadata_address_; }
    uint64_t file_bytes() const;

    // For the driver's callbacks. On failure they return false or HADDR_UNDEF, with a reason on HDF5's error stack.
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

// A registered driver, and file access properties for `capture`, which must outlive every file that is opened with them.
class PlacementDriver {
public:
    explicit PlacementDriver(Capture& capture);
    hid_t access() const { return access_; }

private:
    hdf5::Driver driver_;
    hdf5::Properties access_;
};

}  // namespace tailrace
