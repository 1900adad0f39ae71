#include "part/netcdf.hpp"

#include "base/error.hpp"
#include "part/conventions.hpp"

namespace tailrace {

hid_t stored_type(Type type) {
    switch (type) {
        case Type::I8: return H5T_STD_I8LE;
        case Type::I16: return H5T_STD_I16LE;
        case Type::I32: return H5T_STD_I32LE;
        case Type::I64: return H5T_STD_I64LE;
        case Type::U8: return H5T_STD_U8LE;
        case Type::U16: return H5T_STD_U16LE;
        case Type::U32: return H5T_STD_U32LE;
        case Type::U64: return H5T_STD_U64LE;
        case Type::F32: return H5T_IEEE_F32LE;
        case Type::F64: return H5T_IEEE_F64LE;
        case Type::CHAR: return H5T_C_S1;
    }
    fail(Status::INTERNAL, "type number ", static_cast<int>(type), " has no HDF5 type");
}

hid_t memory_type(Type type) {
    switch (type) {
        case Type::I8: return H5T_NATIVE_INT8;
        case Type::I16: return H5T_NATIVE_INT16;
        case Type::I32: return H5T_NATIVE_INT32;
        case Type::I64: return H5T_NATIVE_INT64;
        case Type::U8: return H5T_NATIVE_UINT8;
        case Type::U16: return H5T_NATIVE_UINT16;
        case Type::U32: return H5T_NATIVE_UINT32;
        case Type::U64: return H5T_NATIVE_UINT64;
        case Type::F32: return H5T_NATIVE_FLOAT;
        case Type::F64: return H5T_NATIVE_DOUBLE;
        case Type::CHAR: return H5T_C_S1;  // as netCDF's NC_CHAR
    }
    fail(Status::INTERNAL, "type number ", static_cast<int>(type), " has no HDF5 type");
}

AttributeWriter::AttributeWriter()
    : properties_(hdf5::create_properties(H5P_ATTRIBUTE_CREATE)), scalar_(hdf5::create_space(H5S_SCALAR)),
      nothing_(hdf5::create_space(H5S_NULL)) {
    hdf5::set_utf8_names(properties_);
}

void AttributeWriter::write_typed(hid_t object, const std::string& name, hid_t stored, hid_t memory, hid_t space,
                                  const void* values) const {
    const hdf5::AttributeId attribute = hdf5::create_attribute(object, name, stored, space, properties_);
    if (values != nullptr) hdf5::write_attribute(attribute, memory, values, name);
}

hid_t AttributeWriter::text_type(size_t bytes, H5T_str_t end, H5T_cset_t encoding) const {
    const size_t key = (bytes * 4 + static_cast<size_t>(end)) * 2 + static_cast<size_t>(encoding);
    auto found = text_types_.find(key);
    if (found == text_types_.end()) found = text_types_.emplace(key, hdf5::create_text_type(bytes, end, encoding)).first;
    return found->second;
}

void AttributeWriter::write_text(hid_t object, const std::string& name, const std::string& value, H5T_str_t end,
                                 H5T_cset_t encoding) const {
    const size_t bytes = value.size() + (end == H5T_STR_NULLTERM ? 1 : 0);
    const hid_t type = text_type(std::max<size_t>(bytes, 1), end, encoding);
    write_typed(object, name, type, type, bytes == 0 ? nothing_ : scalar_, bytes == 0 ? nullptr : value.c_str());
}

void AttributeWriter::write(hid_t object, const Attribute& attribute) const {
    if (attribute.is_text()) {
        const std::string value(reinterpret_cast<const char*>(attribute.values.data()), attribute.values.size());
        write_text(object, attribute.name, value, H5T_STR_NULLPAD, H5T_CSET_UTF8);
        return;
    }
    if (attribute.is_list) {
        const hdf5::TypeId type = hdf5::create_text_type(H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_UTF8);
        std::vector<const char*> texts;
        for (const std::string_view text : texts_of(attribute)) texts.push_back(text.data());
        write_typed(object, attribute.name, type, type, hdf5::create_space({texts.size()}), texts.data());
        return;
    }
    const hid_t stored = stored_type(attribute.type), memory = memory_type(attribute.type);
    if (attribute.count == 0)
        write_typed(object, attribute.name, stored, memory, nothing_, nullptr);
    else
        write_typed(object, attribute.name, stored, memory, hdf5::create_space({attribute.count}), attribute.values.data());
}

void AttributeWriter::write_all(hid_t object, const std::vector<Attribute>& attributes) const {
    for (const Attribute& attribute : attributes) write(object, attribute);
}

Scales::Scales(const AttributeWriter& attributes, size_t count)
    : attributes_(attributes), scales_(count), list_type_(hdf5::create_list_type(H5T_STD_REF_OBJ)),
      use_type_(hdf5::create_compound_type(sizeof(Use))) {
    hdf5::insert_field(use_type_, "dataset", offsetof(Use, array), H5T_STD_REF_OBJ);
    hdf5::insert_field(use_type_, "dimension", offsetof(Use, dimension), H5T_NATIVE_INT);
}

void Scales::add(size_t dimension, hdf5::Dataset dataset, const std::string& scale_name) {
    // As HDF5's own H5DSset_scale writes them: ASCII, with the terminator.
    attributes_.write_text(dataset, kScaleClassAttribute, kScaleClass, H5T_STR_NULLTERM, H5T_CSET_ASCII);
    attributes_.write_text(dataset, kScaleNameAttribute, scale_name, H5T_STR_NULLTERM, H5T_CSET_ASCII);
    const int number = static_cast<int>(dimension);
    attributes_.write_typed(dataset, kDimensionAttribute, H5T_NATIVE_INT, H5T_NATIVE_INT, attributes_.scalar(), &number);
    Scale& scale = scales_[dimension];
    scale.reference = hdf5::object_address(dataset);
    scale.dataset = std::move(dataset);
}

void Scales::link(hid_t array, const std::vector<size_t>& dimensions) {
    if (dimensions.empty()) return;
    const hobj_ref_t reference = hdf5::object_address(array);
    std::vector<hvl_t> lists;
    for (const size_t dimension : dimensions) {
        Scale& scale = scales_[dimension];
        scale.uses.push_back({reference, static_cast<int>(lists.size())});
        lists.push_back({1, &scale.reference});
    }
    attributes_.write_typed(array, kScalesAttribute, list_type_, list_type_, hdf5::create_space({lists.size()}), lists.data());
}

void Scales::finish() {
    for (Scale& scale : scales_) {
        if (!scale.uses.empty())
            attributes_.write_typed(scale.dataset, kUsesAttribute, use_type_, use_type_, hdf5::create_space({scale.uses.size()}),
                                    scale.uses.data());
        scale.dataset = hdf5::Dataset();
    }
}

}  // namespace tailrace
