// The metadata image of one part: the bytes that make a file with placed arrays a NetCDF-4 file, encoded or made by HDF5 in memory.
// No file is opened, and no array data is moved. Equal arguments give equal bytes. Not thread-safe, because HDF5 is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/file.hpp"
#include "format/bytes.hpp"
#include "layout/placement.hpp"
#include "part/description.hpp"

namespace tailrace {

struct Image {
    format::ByteVector superblock;  // written last, at address 0: it puts the metadata in force
    uint64_t metadata_address = 0;
    format::ByteVector metadata;
    uint64_t file_bytes = 0;  // the size that the file must have
};

// The sizes that Placement needs: of the arrays that are placed in the file, in the order of Description::arrays. static_bytes:
// arrays that do not vary. step_bytes: one step of those that do. Virtual and compressed arrays are in neither.
PartBytes part_bytes(const Description& description, uint64_t seal_bytes);

// For each array, in the order of Description::arrays: its address if it does not vary, else its offset within a step; 0 if it is
// not placed in the file. Throws INTERNAL when the placement is of other arrays.
std::vector<uint64_t> places_of(const Description& description, const Placement& placement);

// The extents of the chunks of each compressed array, in the order of Description::arrays: step by step, within a step in the order
// of ChunkGrid. Empty for arrays that are not compressed. Readers get fill values for steps that are missing at the end.
using ChunkPlaces = std::vector<std::vector<Extent>>;

// `steps`: the length of the time dimension that readers see; `blocks` must lay out all of these steps.
// `metadata_address`: behind all data of the file, since the metadata's size is known only afterwards.
// Arrays are contiguous where there is one step and time is not unlimited; otherwise each step is a chunk (several from 4 GiB on).
// Throws BAD_ARGUMENT and BAD_SHAPE for what NetCDF-4 cannot express, with the remedy.
Image make_image(const Description& description, const Placement& placement, const std::vector<StepBlock>& blocks, uint64_t steps,
                 uint64_t metadata_address, const ChunkPlaces& chunks = {});

// Writes the metadata, sets the size, and writes the superblock last. The arrays must be written before.
void put_in_force(File& out, const Image& image);

}  // namespace tailrace
