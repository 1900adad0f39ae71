// Writes the dimension scales and attributes that make an HDF5 file a NetCDF-4 file. Each scale's list of the arrays that use it is
// written once. RATIONALE: H5DSattach_scale rewrites the whole list for every array, which takes quadratic time.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "part/description.hpp"
#include "part/hdf5.hpp"

namespace tailrace {

hid_t stored_type(Type type);  // little endian
hid_t memory_type(Type type);

class AttributeWriter {
public:
    AttributeWriter();
    void write(hid_t object, const Attribute& attribute) const;
    void write_all(hid_t object, const std::vector<Attribute>& attributes) const;
    // Writes an attribute of any HDF5 type, such as those that only HDF5's dimension scales use.
    void write_typed(hid_t object, const std::string& name, hid_t stored, hid_t memory, hid_t space, const void* values) const;
    void write_text(hid_t object, const std::string& name, const std::string& value, H5T_str_t end, H5T_cset_t encoding) const;
    hid_t scalar() const { return scalar_; }

private:
    hid_t text_type(size_t bytes, H5T_str_t end, H5T_cset_t encoding) const;
    hdf5::Properties properties_;
    hdf5::Space scalar_, nothing_;
    mutable std::unordered_map<size_t, hdf5::TypeId> text_types_;  // by size, end and encoding
};

// The scales of one file, by the number of the dimension. Time is the first, if there is time.
class Scales {
public:
    Scales(const AttributeWriter& attributes, size_t count);

    // Marks a dataset as the scale of a dimension and keeps it open until finish().
    void add(size_t dimension, hdf5::Dataset dataset, const std::string& scale_name);
    // Links an array to the scales of its dimensions. All of them must have been added.
    void link(hid_t array, const std::vector<size_t>& dimensions);
    // Writes each scale's list of the arrays that use it.
    void finish();

private:
    struct Use {
        hobj_ref_t array;
        int dimension;
    };
    struct Scale {
        hdf5::Dataset dataset;
        hobj_ref_t reference = 0;
        std::vector<Use> uses;
    };
    const AttributeWriter& attributes_;
    std::vector<Scale> scales_;
    hdf5::TypeId list_type_, use_type_;
};

}  // namespace tailrace
