// How messages write indices and dimensions: as C programs count them, or as Fortran programs do. All messages with indices use
// these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tailrace {

enum class Notation {
    c,        // slowest dimension first, from 0, without the end: [0:2, 0:4]
    fortran,  // fastest dimension first, from 1, with the end: (1:4, 1:2)
};

// Sets the notation of the messages made on this thread: the one of the stream or reader that the thread works on.
void set_notation(Notation notation) noexcept;

// Arguments of these functions are slowest dimension first, from 0. The index of one element.
std::string index_text(std::span<const uint64_t> index);
// The elements of an array from `offset` on, `count` along each dimension.
std::string range_text(std::span<const uint64_t> offset, std::span<const uint64_t> count);
std::string shape_text(std::span<const uint64_t> shape);
// Names of dimensions, slowest first.
std::string name_list_text(std::span<const std::string> names);
// An index along one dimension; `index` counts from 0. An index that was negative before its conversion to unsigned is written with
// its sign.
std::string position_text(uint64_t index);
// The number of a dimension; `dimension` counts from the slowest, from 0.
std::string dimension_text(size_t dimension, size_t ndims);
// How the notation counts, such as "offsets count from 0, slowest dimension first".
std::string counting_rule();

}  // namespace tailrace
