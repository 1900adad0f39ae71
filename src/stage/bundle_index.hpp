// The index of a bundle (a tar file of delivered files): entries of a fixed size sorted by name, then the marks of the frames, then
// the names. The index follows the end mark of the tar file, so tar ignores it; the last 64 bytes of the file (BundleEnd) give its
// place. In a compressed bundle, index and BundleEnd are a frame that zstd skips. Numbers are little endian.
#pragma once

#include <cstdint>
#include <string_view>

namespace tailrace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

struct BundleEntry {
    uint64_t name_at;              // offset within the names, in bytes
    uint32_t name_bytes, kind;     // kind: ItemKind
    uint32_t link_bytes, mode;     // the target of a link follows the name
    uint64_t data_at, data_bytes;  // the file's bytes in the tar file, or in the tar stream that was compressed
    int64_t mtime_ns;
    uint64_t sum;                         // XXH3 of the file's bytes
    uint32_t attributes_bytes, reserved;  // the extended attributes follow the link's target (attributes.hpp)
};
static_assert(sizeof(BundleEntry) == 64);
constexpr uint32_t kFirstEntryBytes = 56;  // of version 1, without extended attributes. Later fields are added at the end

struct BundleEnd {
    char magic[8];
    uint32_t version, entry_bytes;
    uint64_t count, index_at, index_bytes;
    uint64_t sum;      // XXH3 of the index
    uint64_t marks;    // how many marks of frames the index has (frames.hpp); 0: the bundle is not compressed
    uint64_t end_sum;  // XXH3 of the bytes of this struct before this field
};
static_assert(sizeof(BundleEnd) == 64);

constexpr std::string_view kEnding = ".tar", kCompressedEnding = ".tar.zst";  // of the names of bundles
constexpr char kBundleMagic[9] = "TRBUNDLE";
constexpr uint32_t kBundleVersion = 2;  // readers also read version 1

}  // namespace tailrace
