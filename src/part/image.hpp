// The metadata image of one part: the bytes that make a file with placed arrays a NetCDF-4 file. They are encoded, or HDF5 makes
// them in memory; no file is opened, no array data is moved. Equal arguments give equal bytes. Not thread-safe, as HDF5 is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/system.hpp"
#include "format/bytes.hpp"
#include "layout/placement.hpp"
#include "part/description.hpp"

namespace tailrace {

struct Image {
    format::ByteVector superblock;  // to be written at 0, last of all: it makes the metadata count
    uint64_t metadata_address = 0;
    format::ByteVector metadata;
    uint64_t file_bytes = 0;  // the size that the file must have
};

// The arrays that are placed in the file, in the order of Description::arrays: how many bytes each has, for Placement.
// static_bytes: those that do not vary; step_bytes: one step of those that do. Virtual and compressed arrays are left out of both.
PartBytes part_bytes(const Description& description, uint64_t seal_bytes);

// Of each array that is placed in the file, in the order of Description::arrays: its address if it does not vary, else its offset
// within a step. 0 for the others. Throws INTERNAL when the placement is of other arrays.
std::vector<uint64_t> places_of(const Description& description, const Placement& placement);

// Where the chunks of each compressed array are, in the order of Description::arrays: step by step, those of a step in the order of
// ChunkGrid. Empty for arrays that are not compressed; steps that are missing at the end read as fill values.
using ChunkPlaces = std::vector<std::vector<Extent>>;

// `steps`: the length of the time dimension that readers see; all of these steps are laid out in `blocks`.
// Storage: contiguous where there is one step and time is not unlimited, otherwise one chunk a step (several where a step has 4
// GiB). `metadata_address` is behind all that it must not overwrite: the metadata's size is known only afterwards.
// Throws BAD_ARGUMENT and BAD_SHAPE for what NetCDF-4 cannot express, with the remedy.
Image make_image(const Description& description, const Placement& placement, const std::vector<StepBlock>& blocks, uint64_t steps,
                 uint64_t metadata_address, const ChunkPlaces& chunks = {});

// Gives a new file whose arrays are written its metadata and its size; the superblock comes last.
void put_in_force(File& out, const Image& image);

}  // namespace tailrace
