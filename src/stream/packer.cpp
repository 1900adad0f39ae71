#include "stream/packer.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "base/error.hpp"

namespace tailrace {
namespace {

constexpr int kPackedTag = 5;
constexpr uint64_t kMessageBytes = 16u << 20;  // the most bytes of one message
constexpr uint64_t kAlignedBytes = kLongBytes - 1;

}  // namespace

Packer::Packer(const Communicator* ranks, const PartWriters& writers, std::vector<PackedArray> arrays)
    : ranks_(ranks), writers_(writers), arrays_(std::move(arrays)) {
    uint64_t mine = 0, bytes = 0;
    for (size_t a = 0; a < arrays_.size(); ++a) {
        first_size_.push_back(mine);
        const ChunkRange range = chunks_of_rank(a, rank());
        mine += range.last - range.first;
        bytes += (range.last - range.first) * arrays_[a].packing.grid.whole() * type_bytes(arrays_[a].type);
    }
    sizes_.resize(mine);
    bytes_.reserve(bytes);  // the system gives memory only to pages that are written
    for (uint64_t r = 0; rank() == 0 && r < size(); ++r) {
        begins_.push_back(r == 0 ? 0 : begins_.back() + counts_.back());
        counts_.push_back(0);
        for (size_t a = 0; a < arrays_.size(); ++a) {
            const ChunkRange range = chunks_of_rank(a, r);
            counts_.back() += static_cast<int>(range.last - range.first);
        }
    }
    if (writers_.count() < size() && writers_.number(rank()) < writers_.count()) received_.resize(kMessageBytes);
}

// The chunks of an array that a rank compresses; the exchange must use the same distribution.
Packer::ChunkRange Packer::chunks_of_rank(size_t array, uint64_t rank) const {
    const uint64_t chunks = arrays_[array].packing.grid.count();
    return {split_begin(chunks, size(), rank), split_begin(chunks, size(), rank + 1)};
}

void Packer::give_up() {
    bytes_.clear();
    std::fill(sizes_.begin(), sizes_.end(), 0);
}

// The buffer of the chunk that is being filled. It has the size of a full chunk, also if the array ends within the chunk.
std::span<std::byte> Packer::chunk_being_filled(size_t array) {
    const uint64_t bytes = arrays_[array].packing.grid.whole() * type_bytes(arrays_[array].type);
    if (chunk_.size() < bytes) chunk_.resize(bytes);
    return {chunk_.data(), bytes};
}

void Packer::take(size_t array, uint64_t element, const std::byte* data, uint64_t bytes) {
    const ChunkGrid& grid = arrays_[array].packing.grid;
    const uint64_t element_bytes = type_bytes(arrays_[array].type);
    while (bytes > 0) {
        const uint64_t chunk = grid.at(element), begin = grid.begin(chunk), end = grid.begin(chunk + 1);
        const uint64_t now = std::min(bytes, (end - element) * element_bytes), whole = grid.whole() * element_bytes;
        if (now == whole) {
            encode(array, chunk, {data, whole});
        } else {
            const std::span<std::byte> into = chunk_being_filled(array);
            const uint64_t before = (element - begin) * element_bytes;
            std::memcpy(into.data() + before, data, now);
            if (before + now == (end - begin) * element_bytes) encode_filled(array, chunk, into, before + now);
        }
        element += now / element_bytes;
        data += now;
        bytes -= now;
    }
}

void Packer::take(size_t array, const BlockView& whole) {
    const ChunkGrid& grid = arrays_[array].packing.grid;
    for (uint64_t chunk = 0; chunk < grid.count(); ++chunk) {
        const uint64_t begin = grid.begin(chunk), n = grid.begin(chunk + 1) - begin;
        const std::span<std::byte> into = chunk_being_filled(array);
        if (n == grid.whole() && whole.span_bytes() >= into.size() &&
            begin * whole.element_bytes() % whole.span_bytes() + into.size() <= whole.span_bytes()) {
            whole.for_spans(begin, n, [&](const std::byte* data, uint64_t bytes) { encode(array, chunk, {data, bytes}); });
            continue;
        }
        whole.copy_out(begin, n, into.data());
        encode_filled(array, chunk, into, n * whole.element_bytes());
    }
}

// A chunk is stored full: zeros stand for elements beyond the end of the array.
void Packer::encode_filled(size_t array, uint64_t chunk, std::span<std::byte> bytes, uint64_t filled) {
    std::fill(bytes.begin() + static_cast<long>(filled), bytes.end(), std::byte{});
    encode(array, chunk, bytes);
}

void Packer::encode(size_t array, uint64_t chunk, std::span<const std::byte> bytes) {
    const PackedArray& of = arrays_[array];
    if (of.rounding.rounds()) {
        rounded_.assign(bytes.begin(), bytes.end());
        round_mantissas(of.rounding, rounded_);
        bytes = rounded_;
    }
    const size_t before = bytes_.size();
    codec_.encode(of.packing.filters, bytes, bytes_);
    sizes_.at(first_size_[array] + chunk - chunks_of_rank(array, rank()).first) = bytes_.size() - before;
}

Packer::Placed Packer::place(uint64_t end, const Placement& placement) {
    // Where all ranks write, no two of them write into the same page or stripe.
    const bool all_write = writers_.count() == size();
    const auto room = [&](uint64_t bytes) { return all_write ? placement.align(bytes, kAlignedBytes) : bytes; };
    Placed placed;
    uint64_t base = placement.align(end, kAlignedBytes);
    placed.address = base;
    std::vector<uint64_t> sizes = sizes_;
    if (ranks_ != nullptr && size() > 1) {
        const uint64_t mine = room(bytes_.size()) + (rank() == 0 ? base : 0);
        finish_mpi(
            [&](MPI_Request* request) {
                return MPI_Iexscan(&mine, &placed.address, 1, MPI_UINT64_T, MPI_SUM, ranks_->all(), request);
            },
            "MPI_Iexscan");
        if (rank() == 0) placed.address = base;
        if (rank() == 0) sizes.resize(static_cast<size_t>(begins_.back() + counts_.back()));
        finish_mpi(
            [&](MPI_Request* request) {
                return MPI_Igatherv(sizes_.data(), static_cast<int>(sizes_.size()), MPI_UINT64_T, sizes.data(), counts_.data(),
                                    begins_.data(), MPI_UINT64_T, 0, ranks_->all(), request);
            },
            "MPI_Igatherv");
    }
    if (rank() != 0) return placed;
    placed.chunks.resize(arrays_.size());
    size_t next = 0;
    for (uint64_t r = 0; r < size(); ++r) {
        uint64_t at = base;
        for (size_t a = 0; a < arrays_.size(); ++a)
            for (ChunkRange range = chunks_of_rank(a, r); range.first < range.last; ++range.first) {
                placed.complete = placed.complete && sizes[next] > 0;
                placed.chunks[a].push_back({at, sizes[next]});
                at += sizes[next++];
            }
        base += room(at - base);
    }
    return placed;
}

void Packer::hand_over(uint64_t address, const std::function<void(uint64_t, const std::byte*, uint64_t)>& write) {
    const uint64_t writers = writers_.count(), number = writers_.number(rank());
    const bool is_writer = number < writers;
    std::exception_ptr error;
    const auto write_bytes = [&](uint64_t at, const std::byte* data, uint64_t bytes) {
        if (error || bytes == 0) return;
        try {
            write(at, data, bytes);
        } catch (...) {
            error = std::current_exception();
        }
    };
    const auto send = [&](const void* data, uint64_t bytes, uint64_t to) {
        finish_long_mpi(
            [&](MPI_Request* request) {
                return MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(to), kPackedTag, ranks_->all(), request);
            },
            "MPI_Isend");
    };
    const auto receive = [&](void* data, uint64_t bytes, uint64_t from) {
        finish_long_mpi(
            [&](MPI_Request* request) {
                return MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(from), kPackedTag, ranks_->all(),
                                 request);
            },
            "MPI_Irecv");
    };
    if (is_writer) write_bytes(address, bytes_.data(), bytes_.size());
    // For each rank that does not write, the nearest writer of a lower rank writes.
    uint64_t head[2] = {address, bytes_.size()};
    if (writers < size() && is_writer) {
        const uint64_t last = number + 1 < writers ? writers_.rank(number + 1) : size();
        for (uint64_t r = rank() + 1; r < last; ++r) {
            receive(head, sizeof head, r);
            for (uint64_t done = 0; done < head[1]; done += kMessageBytes) {
                const uint64_t now = std::min(kMessageBytes, head[1] - done);
                receive(received_.data(), now, r);
                write_bytes(head[0] + done, received_.data(), now);
            }
        }
    } else if (writers < size()) {
        uint64_t k = writers - 1;
        while (writers_.rank(k) > rank()) --k;
        send(head, sizeof head, writers_.rank(k));
        for (uint64_t done = 0; done < head[1]; done += kMessageBytes)
            send(bytes_.data() + done, std::min(kMessageBytes, head[1] - done), writers_.rank(k));
    }
    if (error) std::rethrow_exception(error);
}

}  // namespace tailrace
