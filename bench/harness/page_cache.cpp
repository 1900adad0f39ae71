#include "page_cache.hpp"

#include "job.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace bench {
namespace {

[[noreturn]] void refuse(const char *what, const std::string &path, int code) {
    fail(std::string("cannot ") + what + " " + path + ": " + std::strerror(code));
}

// Calls use(descriptor, path, bytes) for every file that is not empty.
template <typename Use>
void for_files(const std::string &folder, Use &&use) {
    for (const auto &file : std::filesystem::recursive_directory_iterator(folder)) {
        if (!file.is_regular_file() || file.file_size() == 0) continue;
        const std::string path = file.path();
        const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0) refuse("open", path, errno);
        use(fd, path, file.file_size());
        close(fd);
    }
}

}  // namespace

void drop_pages(const std::string &folder) {
    for_files(folder, [](int fd, const std::string &path, uint64_t) {
        if (fsync(fd) != 0) refuse("fsync", path, errno);
        if (const int code = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); code != 0) refuse("drop the pages of", path, code);
    });
}

void load_pages(const std::string &folder) {
    std::vector<char> piece(1 << 20);
    for_files(folder, [&](int fd, const std::string &path, uint64_t) {
        ssize_t got = 0;
        while ((got = read(fd, piece.data(), piece.size())) > 0) {}
        if (got < 0) refuse("read", path, errno);
    });
}

uint64_t bytes_in_memory(const std::string &folder) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    uint64_t there = 0;
    for_files(folder, [&](int fd, const std::string &path, uint64_t bytes) {
        void *at = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) refuse("map", path, errno);
        std::vector<unsigned char> pages((bytes + page - 1) / page);
        if (mincore(at, bytes, pages.data()) != 0) refuse("ask for the pages of", path, errno);
        munmap(at, bytes);
        there += page * static_cast<uint64_t>(std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return p & 1; }));
    });
    return there;
}

}  // namespace bench
