// Memory for the page cache of what is written next.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace bench {

// Memory that is touched and held in pieces, each until just before a step is written. A virtual machine may give free memory
// back to its host (free page reporting), and gets it back at a tenth of the speed of writing to it: whoever writes next would
// pay for that. It is given back, and the page cache of large writes taken, in blocks of 2 MiB: the pieces consist of such.
class HeldMemory {
public:
    HeldMemory(int pieces, uint64_t piece_bytes) : pieces_(static_cast<size_t>(pieces)), piece_bytes_(piece_bytes) { take(); }
    void take();  // the pieces that were freed
    void free(int which) { pieces_[static_cast<size_t>(which)].reset(); }

private:
    class Piece {
    public:
        explicit Piece(uint64_t bytes);
        Piece(const Piece &) = delete;
        Piece &operator=(const Piece &) = delete;
        ~Piece();

    private:
        void *at_;
        uint64_t bytes_;
    };
    std::vector<std::optional<Piece>> pieces_;
    uint64_t piece_bytes_;
};

}  // namespace bench
