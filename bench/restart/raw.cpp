// The limit: the same bytes by plain pread from the one file of raw writes, in which a writer's arrays follow each other.
#include "method.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace bench {
namespace {

class Raw : public Method {
public:
    explicit Raw(uint64_t piece_bytes) : piece_(piece_bytes) {}

    void read(const Restart &restart, const std::string &folder) override {
        const std::string path = step_path(folder, 0, ".raw");
        const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0) fail("cannot open " + path + ": " + std::strerror(errno));
        const auto element = static_cast<uint64_t>(restart.shape.element_bytes);
        for (int v = 0; v < restart.shape.variables; ++v)
            for_spans(restart.global, restart.slab, [&](uint64_t index, uint64_t before, uint64_t length) {
                read_span(fd, path, restart.shape, v, index, restart.of_variable(v) + before * element, length);
            });
        close(fd);
    }

private:
    // A contiguous range may cross from one writer's rows into the next one's.
    void read_span(int fd, const std::string &path, const Case &shape, int variable, uint64_t index, std::byte *to,
                   uint64_t length) const {
        const auto element = static_cast<uint64_t>(shape.element_bytes);
        while (length > 0) {
            const uint64_t writer = index / shape.block_elements(), within = index % shape.block_elements();
            const uint64_t elements = std::min(length, shape.block_elements() - within);
            const uint64_t block = writer * shape.rank_bytes() + static_cast<uint64_t>(variable) * shape.block_bytes();
            read_bytes(fd, path, block + within * element, to, elements * element);
            index += elements;
            to += elements * element;
            length -= elements;
        }
    }

    void read_bytes(int fd, const std::string &path, uint64_t at, std::byte *to, uint64_t bytes) const {
        for (uint64_t done = 0; done < bytes;) {
            const ssize_t got = pread(fd, to + done, std::min(piece_, bytes - done), static_cast<off_t>(at + done));
            if (got <= 0) fail("cannot read " + path + ": " + (got == 0 ? "it ends too early" : std::strerror(errno)));
            done += static_cast<uint64_t>(got);
        }
    }

    uint64_t piece_;
};

}  // namespace

void add_raw(Entries &entries) {
    for (const uint64_t mib : {1, 4, 16})
        entries.push_back({"raw", std::to_string(mib) + "MiB", "raw_shared:4MiB",
                           "pread of the contiguous bytes, at most " + std::to_string(mib) + " MiB at once",
                           [=] { return std::make_unique<Raw>(mib << 20); }});
}

}  // namespace bench
