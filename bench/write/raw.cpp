// The limit: the same bytes by plain pwrite into preallocated files, with the same number of files and writers. And the limit with
// a gather through memory: the same, while each rank that does not write copies its bytes once.
#include "method.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace bench {
namespace {

enum class Files { per_rank, shared, lone_writer, two, two_copied };

class Raw : public Method {
public:
    Raw(Files files, uint64_t piece_bytes) : files_(files), piece_(piece_bytes) {}

    void write(int step) override {
        const uint64_t mine = work().shape.rank_bytes();
        const auto ranks = static_cast<uint64_t>(work().ranks);
        const std::string path = path_of(step, work().rank);
        const auto *data = work().steps[static_cast<size_t>(step)].data();
        switch (files_) {
            case Files::per_rank: write_file(path, O_CREAT | O_EXCL, data, mine, 0, mine); break;
            case Files::lone_writer:
                if (work().rank == 0)
                    write_file(path, O_CREAT | O_EXCL, work().global_steps[static_cast<size_t>(step)].data(), mine * ranks, 0,
                               mine * ranks);
                break;
            case Files::two:
            case Files::two_copied:
                if (is_writer_of_half()) {
                    const uint64_t half = work().ranks_of_half();
                    write_file(path_of(step, work().rank), O_CREAT | O_EXCL, work().global_steps[static_cast<size_t>(step)].data(),
                               mine * half, 0, mine * half);
                } else if (files_ == Files::two_copied) {
                    copy(data, mine);
                }
                break;
            case Files::shared:
                if (work().rank == 0) create(path, mine * ranks);
                meet(work().comm);
                write_file(path, 0, data, mine, mine * static_cast<uint64_t>(work().rank), 0);
        }
    }

    std::string read(int step, int variable, int of_rank, void *block) override {
        const std::string path = path_of(step, of_rank);
        const uint64_t bytes = work().shape.block_bytes();
        uint64_t at = static_cast<uint64_t>(variable) * bytes;
        if (has_two_files()) at += static_cast<uint64_t>(of_rank - work().first_of_half(of_rank)) * work().shape.rank_bytes();
        if (files_ == Files::shared || files_ == Files::lone_writer)
            at += static_cast<uint64_t>(of_rank) * work().shape.rank_bytes();
        const int fd = open_checked(path, O_RDONLY);
        for (uint64_t done = 0; done < bytes;) {
            const ssize_t got = pread(fd, static_cast<std::byte *>(block) + done, bytes - done, static_cast<off_t>(at + done));
            if (got <= 0) fail("cannot read " + path + ": " + (got == 0 ? "it ends too early" : std::strerror(errno)));
            done += static_cast<uint64_t>(got);
        }
        close(fd);
        return path;
    }

private:
    bool has_two_files() const { return files_ == Files::two || files_ == Files::two_copied; }
    // The first rank of each half; a single rank has no halves.
    bool is_writer_of_half() const { return !work().global_steps.empty() && work().ranks > 1; }

    // Copies into as much memory as one write takes, as if the writer freed it at once.
    void copy(const std::byte *data, uint64_t bytes) {
        if (!copied_) copied_ = std::make_unique_for_overwrite<std::byte[]>(piece_);
        for (uint64_t done = 0; done < bytes; done += piece_)
            std::memcpy(copied_.get(), data + done, std::min(piece_, bytes - done));
        asm volatile("" : : "r"(copied_.get()) : "memory");  // keeps the compiler from removing the copy
    }

    std::string path_of(int step, int rank) const {
        if (has_two_files()) return rank_path(step, work().first_of_half(rank), ".raw");
        return files_ == Files::per_rank ? rank_path(step, rank, ".raw") : step_path(step, ".raw");
    }

    static int open_checked(const std::string &path, int flags) {
        const int fd = open(path.c_str(), flags | O_CLOEXEC, 0644);
        if (fd < 0) fail("cannot open " + path + ": " + std::strerror(errno));
        return fd;
    }

    // Without fallocate the file grows. In memory it grows, too, because fallocate would only touch each page once more.
    static void allocate(int fd, const std::string &path, uint64_t bytes) {
        if (bytes == 0 || is_memory(fd)) return;
        if (fallocate(fd, 0, 0, static_cast<off_t>(bytes)) != 0 && errno != EOPNOTSUPP)
            fail("cannot preallocate " + path + ": " + std::strerror(errno));
    }

    void create(const std::string &path, uint64_t bytes) const {
        const int fd = open_checked(path, O_WRONLY | O_CREAT | O_EXCL);
        allocate(fd, path, bytes);
        close(fd);
    }

    void write_file(const std::string &path, int flags, const std::byte *data, uint64_t bytes, uint64_t at,
                    uint64_t allocate_bytes) {
        const int fd = open_checked(path, O_WRONLY | flags);
        allocate(fd, path, allocate_bytes);
        for (uint64_t done = 0; done < bytes;) {
            const ssize_t put = pwrite(fd, data + done, std::min(piece_, bytes - done), static_cast<off_t>(at + done));
            if (put <= 0) fail("cannot write " + path + ": " + std::strerror(errno));
            done += static_cast<uint64_t>(put);
        }
        if (close(fd) != 0) fail("cannot close " + path + ": " + std::strerror(errno));
        written(path);
    }

    Files files_;
    uint64_t piece_;
    std::unique_ptr<std::byte[]> copied_;
};

}  // namespace

void add_raw(Entries &entries) {
    const struct {
        const char *name, *files;
        Files kind;
        const char *also;
    } methods[] = {{"raw_fpp", "rank", Files::per_rank, ""},
                   {"raw_shared", "one", Files::shared, ""},
                   {"raw_single", "one", Files::lone_writer, ""},
                   {"raw_split", "two", Files::two, ""},
                   {"raw_split_copied", "two", Files::two_copied, ", while the other ranks copy their bytes within memory, once"}};
    for (const auto &method : methods)
        for (const uint64_t mib : {1, 4, 16})
            entries.push_back({method.name, std::to_string(mib) + "MiB", method.files,
                               "pwrite of " + std::to_string(mib) + " MiB into preallocated files" + method.also,
                               [kind = method.kind, mib] { return std::make_unique<Raw>(kind, mib << 20); }});
}

}  // namespace bench
