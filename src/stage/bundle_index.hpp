// The index of a bundle: fixed entries sorted by name, then the names. It lies behind the end mark of the tar file, where tar does
// not look; the last 64 bytes of the file say where. Numbers are little endian.
#pragma once

#include <cstdint>
#include <string>

namespace tailrace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

struct BundleEntry {
    uint64_t name_at;              // in the names
    uint32_t name_bytes, kind;     // kind: ItemKind
    uint32_t link_bytes, mode;     // the link's text follows the name
    uint64_t data_at, data_bytes;  // in the tar file
    int64_t mtime_ns;
    uint64_t sum;  // XXH3
};
static_assert(sizeof(BundleEntry) == 56);

struct BundleEnd {
    char magic[8];
    uint32_t version, entry_bytes;
    uint64_t count, index_at, index_bytes;
    uint64_t sum;  // of the index
    uint64_t reserved;
    uint64_t end_sum;  // of the bytes before
};
static_assert(sizeof(BundleEnd) == 64);

constexpr char kBundleMagic[9] = "TRBUNDLE";
constexpr uint32_t kBundleVersion = 1;

}  // namespace tailrace
