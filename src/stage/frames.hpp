// Frames of a compressed bundle: parts of the tar stream, each compressed with zstd by itself. A file is found without
// decompressing what is before its frame, and `zstd -d` reads all frames as one stream.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace tailrace {

constexpr uint64_t kFrameBytes = 1u << 20;       // of the tar stream
constexpr uint64_t kMostFrameBytes = 64u << 20;  // a reader refuses more, so that a damaged index does not take all memory

// Where a frame begins; the last mark is where the last frame ends. The index has them in this form.
struct FrameMark {
    uint64_t tar_at, stored_at;
};
static_assert(sizeof(FrameMark) == 16);

// A frame that readers skip, also zstd. It has `bytes` bytes after this header.
struct SkippedFrame {
    uint32_t magic, bytes;
};
static_assert(sizeof(SkippedFrame) == 8);
constexpr uint32_t kSkippedFrameMagic = 0x184D2A50;

// The level of "zstd" (1) and "zstd:N"; 0 of "none". Throws BAD_ARGUMENT.
int zstd_level_of(const std::string& compression);

class FrameCompressor {
public:
    explicit FrameCompressor(int level);
    // Appends a frame with these bytes to `stored`.
    void append(std::span<const char> piece, std::vector<char>& stored);

private:
    std::unique_ptr<ZSTD_CCtx_s, void (*)(ZSTD_CCtx_s*)> context_;
};

// Reads bytes of the tar stream. Keeps the last frame, so that small files of one frame are decompressed once.
class FrameReader {
public:
    FrameReader(int file, std::string path, std::vector<FrameMark> marks);  // the marks must have no problem
    uint64_t tar_bytes() const { return marks_.back().tar_at; }
    void read(uint64_t tar_at, std::span<char> into);  // throws CORRUPT if the stored bytes are no such frame

    // Why marks cannot be those of frames that end before `stored_bytes`; empty: they can.
    static std::string problem_of(std::span<const FrameMark> marks, uint64_t stored_bytes);

private:
    void decompress(size_t frame);

    int file_;
    std::string path_;
    std::vector<FrameMark> marks_;
    std::unique_ptr<ZSTD_DCtx_s, void (*)(ZSTD_DCtx_s*)> context_;
    std::vector<char> stored_, frame_;
    std::optional<size_t> number_;  // of the frame that frame_ has
};

}  // namespace tailrace
