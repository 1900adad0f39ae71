// What one file holds: dimensions, arrays, attributes. The metadata image is made from this description alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/extent.hpp"
#include "base/type.hpp"
#include "layout/attribute.hpp"
#include "layout/box.hpp"
#include "layout/chunks.hpp"
#include "layout/dimension.hpp"
#include "part/codec.hpp"

namespace tailrace {

// Text with shared ownership. RATIONALE: an index names each of its files once for every variable and box.
class SharedText {
public:
    SharedText(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}
    SharedText(const char* text) : SharedText(std::string(text)) {}
    operator const std::string&() const { return *text_; }
    bool operator==(const SharedText& other) const { return *text_ == *other.text_; }
    friend std::ostream& operator<<(std::ostream& out, const SharedText& shared) { return out << *shared.text_; }

private:
    std::shared_ptr<const std::string> text_;
};

// One source of a virtual array: box `from` of a dataset of `file` (a path relative to the index) is shown as box `to` of the
// array. The dataset's name is the array's name followed by `suffix`. If the array varies, both boxes have the leading time
// dimension; if not, `from` may have one of length 1.
struct Source {
    SharedText file;
    std::string suffix;
    Box from, to;
    bool shows_elements() const { return to.elements() > 0; }
};

// All sources of an array. Arrays that are cut in the same way share one list.
class Sources {
public:
    Sources() = default;
    Sources(std::vector<Source> list)
        : list_(list.empty() ? nullptr : std::make_shared<const std::vector<Source>>(std::move(list))) {}
    Sources(std::initializer_list<Source> list) : Sources(std::vector<Source>(list)) {}
    const Source* begin() const { return list_ ? list_->data() : nullptr; }
    const Source* end() const { return begin() + size(); }
    uint64_t size() const { return list_ ? list_->size() : 0; }
    bool empty() const { return !list_; }
    bool shared_with(const Sources& other) const { return list_ && list_ == other.list_; }

private:
    std::shared_ptr<const std::vector<Source>> list_;
};

// The chunks and filters of a compressed array that varies. The address of a chunk is known only after the chunk was compressed.
struct Packing {
    ChunkGrid grid;  // of one step
    Filters filters;
};

struct Array {
    std::string name;
    Type type = Type::F64;
    std::vector<int> dims;  // indices in Description::dimensions, slowest first, without time
    bool varies = false;    // has a leading time dimension
    std::vector<Attribute> attributes;
    std::vector<std::byte> fill;  // one element, or empty: no fill value
    Sources sources = {};         // not empty: the array is virtual, nothing of it is stored in this file
    std::optional<Packing> packing = std::nullopt;
    bool is_virtual() const { return !sources.empty(); }
    // Stored uncompressed, at an address that the placement gives.
    bool is_placed() const { return sources.empty() && !packing; }
};

// Attributes of an array that is a block of a larger one: where it begins in it, and the larger one's shape.
constexpr const char* kOffsetAttribute = "tailrace_offset";
constexpr const char* kShapeAttribute = "tailrace_shape";

struct Description {
    std::vector<Dimension> dimensions;
    std::string time_name;        // "": there is no time; else the name of an array that has no dims, varies and is F64
    bool time_unlimited = false;  // the time dimension is unlimited
    std::vector<Array> arrays;
    std::vector<Attribute> attributes;  // of the file
};

// Throws BAD_ARGUMENT, BAD_SHAPE or BAD_ATTRIBUTE, with the remedy, for what a NetCDF-4 file cannot contain.
void check(const Description& description);

// The fill value of an array: Array::fill, or else the equal value of its attribute _FillValue; empty: none.
const std::vector<std::byte>& fill_of(const Array& array);
// The value that readers get for elements of a missing part, or of a chunk that is not stored: the fill value, or else NetCDF's
// default of the type, which fields do not contain. HDF5's own default is 0, which looks like data.
std::vector<std::byte> value_of_missing(const Array& array);

bool is_time(const Description& description, const Array& array);
// The dimension that the array is the coordinate of (1-D, of the same name), or -1. Time is not one of the dimensions.
int coordinate_of(const Description& description, const Array& array);
// The shape of the array; if it varies, with a leading time dimension of length `steps`.
Shape stored_shape(const Description& description, const Array& array, uint64_t steps);
// Bytes of the array; of one step of it if it varies.
uint64_t bytes_of(const Description& description, const Array& array);

}  // namespace tailrace
