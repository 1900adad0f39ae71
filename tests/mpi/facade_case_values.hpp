// The case of tests/test_fortran.py: lengths, values, and who has which rows or columns.
#pragma once

#include <cstdint>

namespace facade_case {

constexpr std::int64_t lon = 10, lat = 7, level = 3, cell = 23, chunk_cells = 3, halo = 1;
inline int rank, ranks;

inline std::int64_t formula(int variable, std::int64_t step, std::int64_t index) { return variable * 100000 + step * 1000 + index; }
inline std::int64_t begin_of(std::int64_t length, int r) { return length * r / ranks; }

}  // namespace facade_case
