#include "stage/frames.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "stage/descriptor.hpp"

namespace tailrace {

int zstd_level_of(const std::string& compression) {
    constexpr int kMostLevel = 19;
    if (compression == "none") return 0;
    if (compression == "zstd") return 1;
    int level = 0;
    const std::string digits = compression.starts_with("zstd:") ? compression.substr(5) : "";
    if (digits.size() <= 2)
        for (const char c : digits) level = c < '0' || c > '9' ? 100 * kMostLevel : 10 * level + (c - '0');
    if (level < 1 || level > kMostLevel)
        fail(Status::BAD_ARGUMENT, "there is no compression '", compression, "': choose none, zstd or zstd:N, with N from 1 to ",
             kMostLevel);
    return level;
}

FrameCompressor::FrameCompressor(int level) : context_(ZSTD_createCCtx(), [](ZSTD_CCtx* of) { ZSTD_freeCCtx(of); }) {
    if (!context_) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);  // so that `zstd -t` finds damage
}

void FrameCompressor::append(std::span<const char> piece, std::vector<char>& stored) {
    const size_t before = stored.size();
    stored.resize(before + ZSTD_compressBound(piece.size()));
    const size_t bytes = ZSTD_compress2(context_.get(), stored.data() + before, stored.size() - before, piece.data(), piece.size());
    if (ZSTD_isError(bytes)) fail(Status::INTERNAL, "zstd failed on ", piece.size(), " bytes: ", ZSTD_getErrorName(bytes));
    stored.resize(before + bytes);
}

FrameReader::FrameReader(int file, std::string path, std::vector<FrameMark> marks)
    : file_(file), path_(std::move(path)), marks_(std::move(marks)),
      context_(ZSTD_createDCtx(), [](ZSTD_DCtx* of) { ZSTD_freeDCtx(of); }) {
    if (!context_) throw std::bad_alloc();
}

std::string FrameReader::problem_of(std::span<const FrameMark> marks, uint64_t stored_bytes) {
    if (marks.size() < 2 || marks[0].tar_at != 0 || marks[0].stored_at != 0) return "its frames do not begin at its begin";
    for (size_t i = 1; i < marks.size(); ++i) {
        if (marks[i].tar_at <= marks[i - 1].tar_at || marks[i].stored_at <= marks[i - 1].stored_at)
            return "its frames are not one after the other";
        const uint64_t bytes = marks[i].tar_at - marks[i - 1].tar_at;
        if (bytes > kMostFrameBytes || marks[i].stored_at - marks[i - 1].stored_at > ZSTD_compressBound(bytes) + 64)
            return "a frame of it has more bytes than frames have";
    }
    return marks.back().stored_at > stored_bytes ? "a frame of it lies outside of it" : "";
}

void FrameReader::read(uint64_t tar_at, std::span<char> into) {
    while (!into.empty()) {
        const auto after = std::ranges::upper_bound(marks_, tar_at, {}, &FrameMark::tar_at);
        if (after == marks_.end())
            fail(Status::CORRUPT, path_, ": it ends before byte ", tar_at + into.size(), " of its tar stream");
        decompress(static_cast<size_t>(after - marks_.begin()) - 1);
        const uint64_t at = tar_at - std::prev(after)->tar_at;
        const size_t bytes = std::min<uint64_t>(into.size(), frame_.size() - at);
        std::memcpy(into.data(), frame_.data() + at, bytes);
        into = into.subspan(bytes);
        tar_at += bytes;
    }
}

void FrameReader::decompress(size_t frame) {
    if (number_ == frame) return;
    number_.reset();
    const FrameMark &begin = marks_[frame], &end = marks_[frame + 1];
    stored_.resize(end.stored_at - begin.stored_at);
    frame_.resize(end.tar_at - begin.tar_at);
    if (read_up_to(file_, begin.stored_at, stored_.data(), stored_.size(), path_) != stored_.size())
        fail(Status::CORRUPT, path_, ": it became shorter while it was read");
    const size_t bytes = ZSTD_decompressDCtx(context_.get(), frame_.data(), frame_.size(), stored_.data(), stored_.size());
    if (bytes != frame_.size())
        fail(Status::CORRUPT, path_, ": its bytes ", begin.stored_at, " to ", end.stored_at, " are damaged",
             ZSTD_isError(bytes) ? text(": zstd: ", ZSTD_getErrorName(bytes)) : "");
    number_ = frame;
}

}  // namespace tailrace
