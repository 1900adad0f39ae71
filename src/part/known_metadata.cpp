#include "part/known_metadata.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace tailrace {
namespace {

constexpr uint64_t kMostReadBytes = 1u << 20;  // comparing more bytes takes as long as opening the file with HDF5
constexpr uint64_t kGapBytes = 8192;           // shorter gaps are read, too: this is as cheap as another call
constexpr size_t kMostParts = 256;

struct RecordedDriverFile {
    H5FD_t common;  // HDF5's own fields; must come first
    RecordedFile::Source* source;
    haddr_t end;  // end of the addresses that HDF5 regards as allocated
};

RecordedDriverFile& recorded_of(const H5FD_t* file) { return *reinterpret_cast<RecordedDriverFile*>(const_cast<H5FD_t*>(file)); }

H5FD_t* open_recorded(const char*, unsigned flags, hid_t access, haddr_t) {
    if ((flags & (H5F_ACC_CREAT | H5F_ACC_RDWR)) != 0) return nullptr;
    const auto* information = static_cast<RecordedFile::Source* const*>(H5Pget_driver_info(access));
    if (information == nullptr) return nullptr;
    auto* file = new (std::nothrow) RecordedDriverFile{};
    if (file != nullptr) file->source = *information;
    return reinterpret_cast<H5FD_t*>(file);
}

herr_t close_recorded(H5FD_t* file) {
    delete reinterpret_cast<RecordedDriverFile*>(file);
    return 0;
}

herr_t query_recorded(const H5FD_t*, unsigned long* flags) {
    *flags = 0;
    return 0;
}

haddr_t recorded_end(const H5FD_t* file, H5FD_mem_t) { return recorded_of(file).end; }

herr_t set_recorded_end(H5FD_t* file, H5FD_mem_t, haddr_t end) {
    recorded_of(file).end = end;
    return 0;
}

haddr_t recorded_bytes(const H5FD_t* file, H5FD_mem_t) { return recorded_of(file).source->bytes; }

herr_t read_recorded(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t bytes, void* into) {
    RecordedFile::Source& source = *recorded_of(file).source;
    try {
        source.file->read_at(address, into, bytes);
        source.known->add_read(address, static_cast<const std::byte*>(into), bytes);
        return 0;
    } catch (const std::exception& error) {
        source.failed = std::current_exception();
        hdf5::push_reason("read", error.what());
        return -1;
    }
}

herr_t write_recorded(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) { return -1; }

H5FD_class_t recorded_driver() {
    H5FD_class_t driver{};
    driver.name = "tailrace reading";
    driver.maxaddr = static_cast<haddr_t>(1) << 62;
    driver.fc_degree = H5F_CLOSE_STRONG;
    driver.fapl_size = sizeof(RecordedFile::Source*);
    driver.open = open_recorded;
    driver.close = close_recorded;
    driver.query = query_recorded;
    driver.get_eoa = recorded_end;
    driver.set_eoa = set_recorded_end;
    driver.get_eof = recorded_bytes;
    driver.read = read_recorded;
    driver.write = write_recorded;
    for (auto& kind : driver.fl_map) kind = H5FD_MEM_DEFAULT;
    return driver;
}

}  // namespace

void KnownMetadata::add_read(uint64_t address, const std::byte* data, uint64_t bytes) {
    if (read_bytes_ > kMostReadBytes) return;
    Read read{address, {data, data + bytes}};
    const auto at = std::ranges::upper_bound(reads_, address, {}, &Read::address);
    if (at != reads_.begin() && *std::prev(at) == read) return;
    read_bytes_ += bytes;
    reads_.insert(at, std::move(read));
}

std::optional<KnownMetadata::Place> KnownMetadata::find(const WantedArray& array) const {
    const auto found = arrays_.find(array.name);
    if (found == arrays_.end() || found->second.first != array) return std::nullopt;
    return found->second.second;
}

bool KnownMetadata::is_of(const File& file) const noexcept {
    if (arrays_.empty() || read_bytes_ > kMostReadBytes) return false;
    try {
        if (file.size_bytes() != file_bytes_) return false;
        std::vector<std::byte> buffer;
        return has_reads(file, buffer);
    } catch (const std::exception&) {
        return false;
    }
}

// Whether the file has the recorded bytes. Recorded reads that are near each other are compared with one read call.
bool KnownMetadata::has_reads(const File& file, std::vector<std::byte>& buffer) const {
    for (auto first = reads_.begin(); first != reads_.end();) {
        uint64_t end = first->address;
        auto last = first;
        for (; last != reads_.end() && last->address <= end + kGapBytes; ++last)
            end = std::max<uint64_t>(end, last->address + last->bytes.size());
        buffer.resize(end - first->address);
        file.read_at(first->address, buffer.data(), buffer.size());
        for (auto read = first; read != last; ++read)
            if (std::memcmp(buffer.data() + (read->address - first->address), read->bytes.data(), read->bytes.size()) != 0)
                return false;
        first = last;
    }
    return true;
}

RecordedFile::RecordedFile(const File& file, KnownMetadata& known)
    : source_{&file, &known, file.size_bytes()}, driver_(hdf5::register_driver(recorded_driver())) {
    const hdf5::Properties access = hdf5::create_properties(H5P_FILE_ACCESS);
    Source* const information = &source_;
    hdf5::set_driver(access, driver_, &information);
    try {
        id_ = hdf5::open_file(file.path(), access);
    } catch (const Error&) {
        rethrow();
        throw;
    }
}

std::shared_ptr<const KnownMetadata> KnownParts::of(uint64_t part) const {
    const auto found = known_.find(part);
    return found == known_.end() ? nullptr : found->second;
}

void KnownParts::set(uint64_t part, std::shared_ptr<const KnownMetadata> known) {
    if (known_.size() >= kMostParts && !known_.contains(part)) known_.clear();
    known_[part] = std::move(known);
}

}  // namespace tailrace
