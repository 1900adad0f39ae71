// Copies the arrays of a dataset from its parts into the combined file. One thread finds the sources, several move the bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/workers.hpp"
#include "maintain/combine_log.hpp"
#include "maintain/combine_plan.hpp"
#include "maintain/stored_box.hpp"
#include "part/codec.hpp"

namespace tailrace {

class CombineCopy {
public:
    // `of`: the stream, for messages. `on_piece` is called from the calling thread after each piece was handed to a thread.
    CombineCopy(const CombinePlan& plan, SourceFinder& finder, File& out, std::string of, size_t threads, CombineProgress progress,
                std::function<void()> on_piece);

    // Copies the arrays of a step, or the static arrays if `step` is none. `workers` may still be copying when it returns.
    void copy_step(Workers& workers, std::optional<uint64_t> step);

    uint64_t bytes() const { return bytes_; }              // bytes copied so far
    uint64_t end() const { return end_; }                  // end of the output, where the next chunk is written
    const ChunkPlaces& chunks() const { return chunks_; }  // read it only while the workers are idle

private:
    using Sources = std::shared_ptr<const std::vector<StoredBox>>;
    // Memory that a thread reuses from piece to piece.
    struct Scratch {
        std::vector<std::byte> elements, encoded;
        Codec codec;
    };

    Sources find(size_t a, std::optional<uint64_t> step, const SourcePiece& piece);
    void copy_rows(Workers& workers, size_t a, std::optional<uint64_t> step, const Shape& shape, const SourcePiece& piece);
    void copy_box(const Array& array, const std::vector<StoredBox>& sources, const Box& box, uint64_t to,
                  std::vector<std::byte>& elements);
    bool copy_in_kernel(const std::vector<StoredBox>& sources, const Box& box, uint64_t to, uint64_t element_bytes);
    void copy_chunks(Workers& workers, size_t a, uint64_t step);
    Extent copy_chunk(size_t a, uint64_t chunk, const std::vector<StoredBox>& sources, Scratch& scratch);
    void encode_chunk(size_t a, const Box& box, const std::vector<StoredBox>& sources, Scratch& scratch) const;

    const CombinePlan& plan_;
    SourceFinder& finder_;
    File& out_;
    const std::string of_;
    const std::function<void()> on_piece_;
    std::vector<Scratch> scratch_;  // [thread]
    ChunkPlaces chunks_;            // of the compressed arrays
    std::atomic<uint64_t> end_, bytes_;
    std::atomic<bool> kernel_copies_ = true;
};

}  // namespace tailrace
