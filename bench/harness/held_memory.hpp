// Memory that is kept for the page cache of the next writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench {

// The unit in which a file system takes memory for its pages.
enum class PageSize { kSmall, kLarge };

// The page size that held memory must have. Linux keeps memory that a processor frees on lists of that processor: one for single
// pages, one for blocks of 2 MiB. A request takes from one list only. With the other page size, the next writes would get cold
// memory. Ext4 takes blocks of 2 MiB for a large write, tmpfs single pages unless it is mounted otherwise. 256 MiB on tmpfs, 2
// ranks: with blocks 13 of 180 writes took two to three times as long as the others; with pages none took 1.4 times as long.
PageSize page_size_of(const std::string &directory);

// Holds memory that was written to: a piece for each step, freed just before that step is written. Otherwise a virtual machine may
// have returned free memory to its host (free page reporting), and the next write would wait to get it back, at a tenth of the
// speed.
//
// `spare_bytes` more are freed for every step, and taken again after it. A processor takes no memory from another processor's lists
// (up to 1.2 GiB here), so a single writer gets warm memory only if its own processor frees memory for the data of all ranks. No
// more than needed is freed, because the host takes free memory as soon as there is a GiB.
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
    void after_step();       // takes the spare memory again
    void take_of(int step);  // takes a step's piece again, after its files were removed
    void take();             // takes all pieces that were freed

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

// Whether the host of this virtual machine took memory since the last call; false where the kernel does not report it.
class HostTaking {
public:
    HostTaking();
    bool has_taken();

private:
    uint64_t taken_kib_;
};

}  // namespace bench
