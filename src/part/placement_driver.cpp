#include "part/placement_driver.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "layout/placement.hpp"

namespace tailrace {

Capture::Capture(uint64_t metadata_address, uint64_t reserved_end)
    : metadata_address_(metadata_address), reserved_end_(reserved_end) {
    if (metadata_address % 8 != 0 || metadata_address < kSuperblockBytes)
        fail(Status::INTERNAL, "metadata at address ", metadata_address,
             ": it begins at a multiple of 8, behind the superblock's page");
}

void Capture::place_next(std::vector<Extent> extents) {
    placed_ = std::move(extents);
    next_ = 0;
    placing_ = true;
}

void Capture::end_placing(const std::string& array) {
    placing_ = false;
    if (next_ != placed_.size())
        fail(Status::INTERNAL, "HDF5 took ", next_, " of ", placed_.size(), " addresses planned for the data of ", array);
}

uint64_t Capture::file_bytes() const {
    if (superblock_.empty()) return 0;  // HDF5 makes a superblock only in an empty file
    return std::max({metadata_end(), raw_end_, reserved_end_, static_cast<uint64_t>(superblock_.size())});
}

haddr_t Capture::allocate(H5FD_mem_t kind, uint64_t bytes) {
    if (kind == H5FD_MEM_SUPER) {
        if (!superblock_.empty() || bytes > kSuperblockBytes) {
            hdf5::push_reason("allocate", text("a superblock of ", bytes, " bytes does not fit its page, or is the second one"));
            return HADDR_UNDEF;
        }
        superblock_.resize(bytes);
        return 0;
    }
    // HDF5 allocates large attributes as raw data, too. Only raw data that is allocated while an array is placed belongs to the
    // array.
    return kind == H5FD_MEM_DRAW && placing_ ? next_placed(bytes) : allocate_metadata(bytes);
}

haddr_t Capture::next_placed(uint64_t bytes) {
    if (next_ == placed_.size()) {
        hdf5::push_reason("allocate", text("array data of ", bytes, " bytes has no planned address: all ", next_, " are taken"));
        return HADDR_UNDEF;
    }
    const Extent& extent = placed_[next_];
    if (extent.bytes != bytes) {
        hdf5::push_reason("allocate", text("array data of ", bytes, " bytes where ", extent.bytes, " are planned, number ", next_));
        return HADDR_UNDEF;
    }
    ++next_;
    raw_end_ = std::max(raw_end_, extent.address + extent.bytes);
    return extent.address;
}

haddr_t Capture::allocate_metadata(uint64_t bytes) {
    const uint64_t offset = (metadata_.size() + 7) / 8 * 8;
    try {
        metadata_.resize(offset + bytes);
    } catch (const std::bad_alloc&) {
        hdf5::push_reason("allocate", text("no memory for ", offset + bytes, " bytes of metadata"));
        return HADDR_UNDEF;
    }
    return metadata_address_ + offset;
}

void Capture::free(uint64_t address, uint64_t bytes) {
    // Only space at the end can be freed. HDF5 itself reuses other free space.
    if (in_metadata(address, bytes) && address + bytes == metadata_end()) metadata_.resize(address - metadata_address_);
}

bool Capture::extend_to(uint64_t end) {
    // HDF5 extends the last block by moving the end of allocation. If that block is metadata, this is an allocation.
    if (end <= file_bytes()) return true;
    if (file_bytes() != metadata_end()) {
        hdf5::push_reason("extend_to", text("the file cannot end at ", end, ": array data ends at ", file_bytes()));
        return false;
    }
    metadata_.resize(end - metadata_address_);
    return true;
}

bool Capture::in_metadata(uint64_t address, uint64_t bytes) const {
    return address >= metadata_address_ && address + bytes <= metadata_end();
}

bool Capture::read(uint64_t address, uint64_t bytes, void* into) const {
    if (in_metadata(address, bytes)) {
        std::memcpy(into, metadata_.data() + (address - metadata_address_), bytes);
    } else if (address + bytes <= superblock_.size()) {
        std::memcpy(into, superblock_.data() + address, bytes);
    } else {
        hdf5::push_reason("read", text("array data at ", address, " cannot be read: it is not stored"));
        return false;
    }
    return true;
}

bool Capture::write(H5FD_mem_t kind, uint64_t address, uint64_t bytes, const void* from) {
    if (bytes == 0) return true;
    if (in_metadata(address, bytes)) {
        std::memcpy(metadata_.data() + (address - metadata_address_), from, bytes);
    } else if (address + bytes <= superblock_.size()) {
        std::memcpy(superblock_.data() + address, from, bytes);
    } else if (kind == H5FD_MEM_DRAW) {
        raw_writes_.push_back({address, bytes});
    } else {
        hdf5::push_reason("write", text("metadata of ", bytes, " bytes at ", address, " is outside of the metadata region"));
        return false;
    }
    return true;
}

namespace {

struct DriverFile {
    H5FD_t common;  // HDF5's own fields; must come first
    Capture* capture;
};

struct DriverInformation {
    Capture* capture;
};

Capture& capture_of(const H5FD_t* file) { return *reinterpret_cast<const DriverFile*>(file)->capture; }

H5FD_t* open_driver(const char*, unsigned flags, hid_t access, haddr_t) {
    if ((flags & H5F_ACC_CREAT) == 0) return nullptr;
    const auto* information = static_cast<const DriverInformation*>(H5Pget_driver_info(access));
    if (information == nullptr) return nullptr;
    auto* file = new (std::nothrow) DriverFile{};
    if (file != nullptr) file->capture = information->capture;
    return reinterpret_cast<H5FD_t*>(file);
}

herr_t close_driver(H5FD_t* file) {
    delete reinterpret_cast<DriverFile*>(file);
    return 0;
}

// Says that HDF5 must not aggregate: the driver receives every request separately, with its own kind and size.
herr_t query_driver(const H5FD_t*, unsigned long* flags) {
    *flags = 0;
    return 0;
}

haddr_t allocate(H5FD_t* file, H5FD_mem_t kind, hid_t, hsize_t bytes) { return capture_of(file).allocate(kind, bytes); }

herr_t free_extent(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, hsize_t bytes) {
    capture_of(file).free(address, bytes);
    return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) { return capture_of(file).file_bytes(); }

herr_t set_end(H5FD_t* file, H5FD_mem_t, haddr_t end) { return capture_of(file).extend_to(end) ? 0 : -1; }

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t bytes, void* into) {
    return capture_of(file).read(address, bytes, into) ? 0 : -1;
}

herr_t write(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t address, size_t bytes, const void* from) {
    return capture_of(file).write(kind, address, bytes, from) ? 0 : -1;
}

H5FD_class_t driver_class() {
    H5FD_class_t driver{};
    driver.name = "tailrace placement";
    driver.maxaddr = static_cast<haddr_t>(1) << 62;
    driver.fc_degree = H5F_CLOSE_STRONG;
    driver.fapl_size = sizeof(DriverInformation);
    driver.open = open_driver;
    driver.close = close_driver;
    driver.query = query_driver;
    driver.alloc = allocate;
    driver.free = free_extent;
    driver.get_eoa = end_of_file;
    driver.set_eoa = set_end;
    driver.get_eof = end_of_file;
    driver.read = read;
    driver.write = write;
    for (auto& kind : driver.fl_map) kind = H5FD_MEM_DEFAULT;  // freed space is reused for its own kind only
    return driver;
}

}  // namespace

PlacementDriver::PlacementDriver(Capture& capture)
    : driver_(hdf5::register_driver(driver_class())), access_(hdf5::create_properties(H5P_FILE_ACCESS)) {
    const DriverInformation information{&capture};
    hdf5::set_driver(access_, driver_, &information);
    // Format 1.10 with any library: Debian's readers refuse newer formats.
    hdf5::set_format(access_, H5F_LIBVER_V110, H5F_LIBVER_V110);
}

}  // namespace tailrace
