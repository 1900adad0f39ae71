// Messages of an encoded object header: the filters and the attributes of an array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "format/object_header.hpp"
#include "part/description.hpp"

namespace tailrace {

void put_filters(format::ObjectHeader& header, const Filters& filters);
void put_attribute(format::ObjectHeader& header, const Attribute& attribute);
// An attribute of a dimension scale, as HDF5's own H5DSset_scale writes it: ASCII, with the terminator.
void put_scale_text(format::ObjectHeader& header, const char* name, std::string value);

}  // namespace tailrace
