#include "part/description.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/error.hpp"
#include "layout/name.hpp"
#include "layout/netcdf_fill.hpp"
#include "part/conventions.hpp"

namespace tailrace {
namespace {

// Names that the conventions of HDF5 and netCDF reserve.
constexpr std::array kReservedAttributes = {kScaleClassAttribute, kScaleNameAttribute, kScalesAttribute, kUsesAttribute,
                                            kDimensionAttribute,  "_NCProperties",     "_nc3_strict",    "_Netcdf4Coordinates"};

void check_unique(const char* of, const std::string& name, std::unordered_set<std::string>& seen) {
    check_name(of, name);
    if (!seen.insert(name).second) fail(Status::BAD_ARGUMENT, "there are two ", of, "s named '", name, "'; rename one of them");
}

// `array`: nullptr for those of the file.
void check_attributes(const Array* array, const std::vector<Attribute>& attributes) {
    const auto owner = [&] { return array == nullptr ? "the file" : "'" + array->name + "'"; };
    std::unordered_set<std::string> seen;
    for (const Attribute& attribute : attributes) {
        check_unique("attribute", attribute.name, seen);
        if (std::find(kReservedAttributes.begin(), kReservedAttributes.end(), attribute.name) != kReservedAttributes.end())
            fail(Status::BAD_ATTRIBUTE, "attribute '", attribute.name, "' of ", owner(),
                 " is reserved by the file format; use another name");
        const uint64_t expected = attribute.count * type_bytes(attribute.type);
        if (attribute.values.size() != expected)
            fail(Status::INTERNAL, "attribute '", attribute.name, "' of ", owner(), " has ", attribute.values.size(),
                 " bytes, not ", expected);
    }
}

const Attribute* fill_attribute(const Array& array) { return find_attribute(array.attributes, kFillAttribute); }

void check_fill(const Array& array) {
    const Attribute* attribute = fill_attribute(array);
    if (attribute != nullptr && (attribute->type != array.type || attribute->count != 1))
        fail(Status::BAD_ATTRIBUTE, "_FillValue of '", array.name, "' is not one element of its type ", type_code(array.type),
             "; give one of that type");
    if (!array.fill.empty() && array.fill.size() != type_bytes(array.type))
        fail(Status::INTERNAL, "the fill value of '", array.name, "' has ", array.fill.size(), " bytes");
    if (attribute != nullptr && !array.fill.empty() && array.fill != attribute->values)
        fail(Status::BAD_ATTRIBUTE, "'", array.name, "' has two fill values that differ; give one");
}

void check_sources(const Description& description, const Array& array) {
    const size_t dims = array.dims.size() + (array.varies ? 1 : 0);
    if (array.is_virtual() && dims == 0)
        fail(Status::BAD_ARGUMENT, "'", array.name,
             "' is a scalar, which HDF5 cannot show from another file; store it in the index");
    for (const Source& source : array.sources) {
        // An array without time may show one step of a dataset with time.
        const size_t outer = source.from.count.size() == dims + 1 && source.from.count[0] == 1 ? 1 : 0;
        bool fits = source.from.count.size() == dims + outer && source.from.offset.size() == dims + outer &&
                    source.to.offset.size() == dims && source.to.count.size() == dims &&
                    std::equal(source.to.count.begin(), source.to.count.end(), source.from.count.begin() + outer);
        for (size_t d = array.varies ? 1 : 0; fits && d < dims; ++d) {
            const uint64_t length = description.dimensions[array.dims[d - (array.varies ? 1 : 0)]].length;
            fits = source.to.count[d] <= length && source.to.offset[d] <= length - source.to.count[d];
        }
        if (!fits)
            fail(Status::BAD_SHAPE, "'", array.name, "' cannot show ", describe(source.from), " of ", source.file, " as ",
                 describe(source.to));
    }
}

void check_array(const Description& description, size_t number, const std::unordered_set<std::string>& dimensions) {
    const Array& array = description.arrays[number];
    for (const int d : array.dims)
        if (d < 0 || static_cast<size_t>(d) >= description.dimensions.size())
            fail(Status::INTERNAL, "'", array.name, "' has dimension number ", d, " of ", description.dimensions.size());
    if (array.dims.size() > kMaxDims)
        fail(Status::BAD_SHAPE, "'", array.name, "' has ", array.dims.size(), " dimensions; the most are ", kMaxDims);
    if (array.varies && description.time_name.empty()) fail(Status::INTERNAL, "'", array.name, "' varies, but there is no time");
    const bool named_as_dimension = array.name != description.time_name && dimensions.contains(array.name);
    if (named_as_dimension && coordinate_of(description, array) < 0)
        fail(Status::BAD_SHAPE, "'", array.name,
             "' is also the name of a dimension, and an array of that name must be its coordinate: ",
             "static, with that dimension alone; rename the array or the dimension");
    if (is_time(description, array) && (!array.varies || !array.dims.empty() || array.type != Type::F64))
        fail(Status::BAD_SHAPE, "'", array.name, "' is the time coordinate: one f8 a step; rename the array");
    check_attributes(&array, array.attributes);
    check_fill(array);
    // Consecutive arrays with the same sources and dimensions need one check.
    const Array* before = number > 0 ? &description.arrays[number - 1] : nullptr;
    const bool as_before = before != nullptr && array.sources.shared_with(before->sources) && array.dims == before->dims &&
                           array.varies == before->varies;
    if (!as_before) check_sources(description, array);
}

}  // namespace

const std::vector<std::byte>& fill_of(const Array& array) {
    const Attribute* attribute = fill_attribute(array);
    return attribute != nullptr ? attribute->values : array.fill;
}

std::vector<std::byte> value_of_missing(const Array& array) {
    const std::vector<std::byte>& fill = fill_of(array);
    if (!fill.empty() || array.is_placed()) return fill;
    if (array.type == Type::CHAR) return {};  // the default is the zero byte, as HDF5's
    return netcdf_fill(array.type);
}

bool is_time(const Description& description, const Array& array) {
    return !description.time_name.empty() && array.name == description.time_name;
}

int coordinate_of(const Description& description, const Array& array) {
    const bool coordinate = !array.varies && array.dims.size() == 1 && description.dimensions[array.dims[0]].name == array.name;
    return coordinate ? array.dims[0] : -1;
}

Shape stored_shape(const Description& description, const Array& array, uint64_t steps) {
    Shape shape;
    if (array.varies) shape.push_back(steps);
    for (const int d : array.dims) shape.push_back(description.dimensions[d].length);
    return shape;
}

uint64_t bytes_of(const Description& description, const Array& array) {
    return volume(stored_shape(description, array, 1)) * type_bytes(array.type);
}

void check(const Description& description) {
    std::unordered_set<std::string> dimensions, arrays;
    for (const Dimension& dimension : description.dimensions) check_unique("dimension", dimension.name, dimensions);
    if (!description.time_name.empty()) check_unique("dimension", description.time_name, dimensions);
    for (size_t a = 0; a < description.arrays.size(); ++a) {
        check_unique("array", description.arrays[a].name, arrays);
        check_array(description, a, dimensions);
    }
    if (!description.time_name.empty() && !arrays.contains(description.time_name))
        fail(Status::INTERNAL, "there is no array '", description.time_name, "' with the times");
    check_attributes(nullptr, description.attributes);
}

}  // namespace tailrace
