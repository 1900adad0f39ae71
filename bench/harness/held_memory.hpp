// Memory for the page cache of what is written next.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace bench {

// Memory that is touched and held, a piece for each step until just before that step is written. A virtual machine may give free
// memory back to its host (free page reporting), and gets it back at a tenth of the speed of writing to it: whoever writes next
// would pay for that. It is given back, and the page cache of large writes taken, in blocks of 2 MiB: the pieces consist of such.
// `spare_bytes` more are freed for every step, and taken back when it is written. RATIONALE: Linux keeps what a processor frees on
// a list of its own, up to 1.2 GiB here, which no other processor takes from: a writer finds warm memory only where each has more
// than its list takes. At least what the rank writes, and for a lone writer what all ranks write: 4 ranks, a GiB in memory, one run
// in three took up to five times as long as the others, and none of 32 with it.
class HeldMemory {
public:
    HeldMemory(int steps, uint64_t step_bytes, uint64_t spare_bytes)
        : of_step_(static_cast<size_t>(steps)), step_bytes_(step_bytes), spare_bytes_(spare_bytes) {
        take();
    }
    void before_step(int step) {
        of_step_[static_cast<size_t>(step)].reset();
        spare_.reset();
    }
    void after_step();       // at once: what nobody has used
    void take_of(int step);  // what was freed for it, when its files are gone: a host may take a GiB of free memory at once
    void take();             // all that was freed

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
    std::vector<std::optional<Piece>> of_step_;
    std::optional<Piece> spare_;
    uint64_t step_bytes_, spare_bytes_;
};

}  // namespace bench
