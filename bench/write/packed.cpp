// The limit of compressed output: the same chunks shuffled and deflated in memory, then written by plain pwrite, without a
// readable format. Only with --deflate.
#include "method.hpp"

#include <fcntl.h>
#include <libdeflate.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <numeric>

namespace bench {
namespace {

template <size_t bytes>
void shuffle(const std::byte *from, size_t elements, std::byte *to) {
    for (size_t first = 0; first < elements; first += 2048)
        for (size_t b = 0; b < bytes; ++b)
            for (size_t i = first; i < std::min(first + 2048, elements); ++i) to[b * elements + i] = from[i * bytes + b];
}

template <size_t bytes>
void unshuffle(const std::byte *from, size_t elements, std::byte *to) {
    for (size_t i = 0; i < elements; ++i)
        for (size_t b = 0; b < bytes; ++b) to[i * bytes + b] = from[b * elements + i];
}

// The chunks of a rank in a step: where they begin, and their sizes.
struct Chunks {
    uint64_t address = 0;
    std::vector<uint64_t> sizes;
};

enum class Files { per_rank, shared, lone_writer };

class Packed : public Method {
public:
    explicit Packed(Files files) : shared_(files != Files::per_rank), gathers_(files == Files::lone_writer) {}
    ~Packed() override { libdeflate_free_compressor(compressor_); }

    void begin(const Run &run) override {
        Method::begin(run);
        if (run.deflate == 0) fail("raw_packed_*: only with --deflate");
        if (compressor_ == nullptr) compressor_ = libdeflate_alloc_compressor(run.deflate);
        chunks_.clear();
    }

    void write(int step) override {
        Chunks &mine = chunks_[step];
        pack(step, mine.sizes);
        const std::string path = path_of(step, work().rank);
        if (shared_) {
            const uint64_t bytes = gathers_ ? packed_bytes_ : (packed_bytes_ + 4095) / 4096 * 4096;
            MPI_Exscan(&bytes, &mine.address, 1, MPI_UINT64_T, MPI_SUM, work().comm);
            if (work().rank == 0) mine.address = 0, close(open_checked(path, O_WRONLY | O_CREAT | O_EXCL));
            meet(work().comm);
        }
        if (!gathers_) return write_file(path, mine.address, packed_.data(), packed_bytes_);
        const uint64_t bytes = gather();
        if (work().rank == 0) write_file(path, mine.address, gathered_.data(), bytes);
    }

    void write_file(const std::string &path, uint64_t address, const std::byte *data, uint64_t bytes) {
        const int fd = open_checked(path, O_WRONLY | O_CREAT);
        if (!is_memory(fd) && posix_fallocate(fd, static_cast<off_t>(address), static_cast<off_t>(bytes)) != 0)
            fail("no room for " + path);
        for (uint64_t done = 0; done < bytes;) {
            const ssize_t put =
                pwrite(fd, data + done, std::min<uint64_t>(4 << 20, bytes - done), static_cast<off_t>(address + done));
            if (put <= 0) fail("cannot write " + path + ": " + std::strerror(errno));
            done += static_cast<uint64_t>(put);
        }
        if (close(fd) != 0) fail("cannot close " + path + ": " + std::strerror(errno));
        written(path);
    }

    // Sends each rank's bytes to rank 0, in one message; returns their total size there.
    uint64_t gather() {
        const int mine = static_cast<int>(packed_bytes_), ranks = work().ranks;
        std::vector<int> sizes(static_cast<size_t>(ranks)), begins(static_cast<size_t>(ranks));
        MPI_Gather(&mine, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, work().comm);
        std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), 0);
        const auto bytes = work().rank == 0 ? static_cast<uint64_t>(begins.back() + sizes.back()) : 0;
        if (gathered_.size() < bytes) gathered_.resize(bytes);  // kept: a new one would be filled with zeros
        MPI_Gatherv(packed_.data(), mine, MPI_BYTE, gathered_.data(), sizes.data(), begins.data(), MPI_BYTE, 0, work().comm);
        return bytes;
    }

    std::string read(int step, int variable, int of_rank, void *block) override {
        const std::string path = path_of(step, of_rank);
        const Chunks &chunks = told_by(of_rank, step);
        const uint64_t bytes = work().shape.block_bytes(), a_variable = (bytes + chunk_bytes - 1) / chunk_bytes;
        uint64_t at = chunks.address, chunk = static_cast<uint64_t>(variable) * a_variable;
        for (uint64_t c = 0; c < chunk; ++c) at += chunks.sizes[c];
        const int fd = open_checked(path, O_RDONLY);
        std::vector<std::byte> packed;
        libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
        for (uint64_t done = 0; done < bytes; ++chunk) {
            const uint64_t now = std::min(chunk_bytes, bytes - done);
            packed.resize(chunks.sizes[chunk]);
            shuffled_.resize(now);
            if (pread(fd, packed.data(), packed.size(), static_cast<off_t>(at)) != static_cast<ssize_t>(packed.size()))
                fail("cannot read " + path);
            if (libdeflate_zlib_decompress(decompressor, packed.data(), packed.size(), shuffled_.data(), now, nullptr) !=
                LIBDEFLATE_SUCCESS)
                fail(path + " holds no chunk at " + std::to_string(at));
            auto *to = static_cast<std::byte *>(block) + done;
            work().shape.element_bytes == 4 ? unshuffle<4>(shuffled_.data(), now / 4, to)
                                            : unshuffle<8>(shuffled_.data(), now / 8, to);
            at += packed.size();
            done += now;
        }
        libdeflate_free_decompressor(decompressor);
        close(fd);
        return path;
    }

    void end_reading() override { told_.clear(); }

private:
    std::string path_of(int step, int rank) const { return shared_ ? step_path(step, ".raw") : rank_path(step, rank, ".raw"); }

    static int open_checked(const std::string &path, int flags) {
        const int fd = open(path.c_str(), flags | O_CLOEXEC, 0644);
        if (fd < 0) fail("cannot open " + path + ": " + std::strerror(errno));
        return fd;
    }

    void pack(int step, std::vector<uint64_t> &sizes) {
        const uint64_t bound = libdeflate_zlib_compress_bound(compressor_, chunk_bytes);
        const uint64_t chunks = (work().shape.block_bytes() + chunk_bytes - 1) / chunk_bytes;
        packed_.resize(bound * chunks * static_cast<uint64_t>(work().shape.variables));  // only once: all steps need the same size
        packed_bytes_ = 0;
        shuffled_.resize(chunk_bytes);
        for (int v = 0; v < work().shape.variables; ++v) {
            const auto *from = static_cast<const std::byte *>(work().block(step, v));
            for (uint64_t done = 0, bytes = work().shape.block_bytes(); done < bytes; done += chunk_bytes) {
                const uint64_t now = std::min(chunk_bytes, bytes - done);
                work().shape.element_bytes == 4 ? shuffle<4>(from + done, now / 4, shuffled_.data())
                                                : shuffle<8>(from + done, now / 8, shuffled_.data());
                sizes.push_back(
                    libdeflate_zlib_compress(compressor_, shuffled_.data(), now, packed_.data() + packed_bytes_, bound));
                packed_bytes_ += sizes.back();
            }
        }
    }

    // Collective at the first call of a reading, where every rank requests its neighbour's index.
    const Chunks &told_by(int of_rank, int step) {
        if (told_.empty())
            for (auto &[s, chunks] : chunks_) {
                std::vector<uint64_t> words{chunks.address};
                words.insert(words.end(), chunks.sizes.begin(), chunks.sizes.end());
                std::vector<uint64_t> all(words.size() * static_cast<size_t>(work().ranks));
                const int count = static_cast<int>(words.size());
                MPI_Allgather(words.data(), count, MPI_UINT64_T, all.data(), count, MPI_UINT64_T, work().comm);
                const auto *theirs = all.data() + words.size() * static_cast<size_t>(of_rank);
                told_[s] = {theirs[0], {theirs + 1, theirs + words.size()}};
            }
        return told_[step];
    }

    bool shared_, gathers_;
    libdeflate_compressor *compressor_ = nullptr;
    std::vector<std::byte> packed_, shuffled_, gathered_;
    uint64_t packed_bytes_ = 0;  // used of packed_
    std::map<int, Chunks> chunks_, told_;
};

}  // namespace

void add_packed(Entries &entries) {
    const auto add = [&](const char *method, Files files, const std::string &then) {
        entries.push_back(
            {method, "deflate", files == Files::per_rank ? "rank" : "one",
             "chunks of 1 MiB shuffled and deflated in memory (libdeflate), then " + then + " into preallocated files",
             [files] { return std::make_unique<Packed>(files); }});
    };
    add("raw_packed_fpp", Files::per_rank, "pwrite");
    add("raw_packed_shared", Files::shared, "pwrite");
    add("raw_packed_single", Files::lone_writer, "MPI_Gatherv and pwrite by one rank");
}

}  // namespace bench
