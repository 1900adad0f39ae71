// Memory for the page cache of what is written next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench {

// In which pieces a file system takes memory for what is written to it.
enum class PageSize { kSmall, kLarge };

// RATIONALE: Linux keeps what a processor frees on lists of its own, one for single pages and one for blocks of 2 MiB, and neither
// serves what the other has: held memory has to be of the kind that the next writes ask for, or they get what is cold. Ext4 takes
// blocks of 2 MiB where a write is large, tmpfs single pages unless it is mounted otherwise. 256 MiB on tmpfs, 2 ranks: with blocks
// 13 of 180 writes took twice to three times as long as the others, with pages none 1.4 times as long.
PageSize page_size_of(const std::string &directory);

// Memory that is touched and held, a piece for each step until just before that step is written. A virtual machine may give free
// memory back to its host (free page reporting), and gets it back at a tenth of the speed of writing to it: whoever writes next
// would pay for that.
//
// `spare_bytes` more are freed for every step, and taken back when it is written. RATIONALE: no other processor takes from one's
// lists, up to 1.2 GiB here: a lone writer finds warm memory only where its own processor frees what all ranks write. No more than
// is needed: as soon as a GiB waits, the host takes it.
class HeldMemory {
public:
    HeldMemory(int steps, uint64_t step_bytes, uint64_t spare_bytes, PageSize pages)
        : of_step_(static_cast<size_t>(steps)), step_bytes_(step_bytes), spare_bytes_(spare_bytes), pages_(pages) {
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
        Piece(uint64_t bytes, PageSize pages);
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
    PageSize pages_;
};

// Tells whether the host of this virtual machine has taken memory since it was last asked; never where the kernel does not say.
class HostTaking {
public:
    HostTaking();
    bool has_taken();

private:
    uint64_t taken_kib_;
};

}  // namespace bench
