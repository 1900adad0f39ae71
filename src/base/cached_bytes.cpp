#include "base/cached_bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/local_file_system.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kCheckEvery = 1u << 20;  // one page in so many bytes is checked for being cached
constexpr int kPopulateRead = 22;           // MADV_POPULATE_READ of Linux 5.14: page faults that return errors, and raise no signal

// The status of the file, if it has at least `end` bytes.
std::optional<struct stat> reaching(int descriptor, uint64_t end) {
    struct stat status;
    if (::fstat(descriptor, &status) != 0 || static_cast<uint64_t>(status.st_size) < end) return std::nullopt;
    return status;
}

// Whether mincore() reports correctly which pages are cached: for a file that the caller may not write, it reports every page. Such
// a file would be mapped, and then read from the device page by page.
bool mincore_is_reliable(int descriptor, uid_t owner) {
    return owner == ::geteuid() || ::faccessat(descriptor, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

bool is_cached(std::byte* base, uint64_t bytes, uint64_t page) {
    for (uint64_t at = 0;; at += kCheckEvery) {
        unsigned char there = 0;
        const uint64_t last = (bytes - 1) / page * page;
        if (::mincore(base + std::min(at, last), page, &there) != 0 || (there & 1) == 0) return false;
        if (at >= last) return true;
    }
}

}  // namespace

std::optional<CachedBytes> CachedBytes::find(int descriptor, uint64_t address, uint64_t bytes) {
    // Network file systems take a lock for every mapped page, or refuse mappings.
    if (bytes < kFewest || !is_on_local_file_system(descriptor)) return std::nullopt;
    const auto file = reaching(descriptor, address + bytes);
    if (!file || !mincore_is_reliable(descriptor, file->st_uid)) return std::nullopt;
    const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const uint64_t before = address % page, mapped = before + bytes;
    void* base = ::mmap(nullptr, mapped, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(address - before));
    if (base == MAP_FAILED) return std::nullopt;
    CachedBytes found(descriptor, address + bytes, static_cast<std::byte*>(base), mapped, before);
    if (!is_cached(found.base_, mapped, page) || ::madvise(base, mapped, kPopulateRead) != 0) return std::nullopt;
    return found;
}

CachedBytes::~CachedBytes() {
    if (base_ != nullptr) ::munmap(base_, mapped_);
}

bool CachedBytes::are_still_there() const { return reaching(descriptor_, end_).has_value(); }

}  // namespace tailrace
