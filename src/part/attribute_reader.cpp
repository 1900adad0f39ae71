#include "part/attribute_reader.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "part/conventions.hpp"
#include "part/hdf5.hpp"
#include "part/netcdf.hpp"
#include "part/seal.hpp"

namespace tailrace {
namespace {

constexpr std::array<std::string_view, 9> kNotOfTheUser = {kScaleClassAttribute, kScaleNameAttribute, kScalesAttribute,
                                                           kUsesAttribute,       kDimensionAttribute, kSealsAttribute,
                                                           "_NCProperties",      "_nc3_strict",       "_Netcdf4Coordinates"};

std::vector<std::string> names_of_attributes(hid_t object, const std::string& of) {
    const auto call = [](hid_t, const char* name, const H5A_info_t*, void* with) -> herr_t {
        static_cast<std::vector<std::string>*>(with)->emplace_back(name);
        return 0;
    };
    std::vector<std::string> names;
    hdf5::check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, call, &names), "H5Aiterate", of, Status::CORRUPT);
    return names;
}

std::string text_of_variable_length(hid_t attribute, hid_t type, const std::string& name) {
    char* text = nullptr;
    hdf5::read_attribute(attribute, type, static_cast<void*>(&text), name);
    const std::unique_ptr<char, herr_t (*)(void*)> owner(text, H5free_memory);
    return text == nullptr ? "" : text;
}

// Reads a list of texts of fixed length; each text ends at its first zero byte.
Attribute list_of_texts(hid_t attribute, hid_t type, uint64_t count, const std::string& name) {
    std::vector<std::string> texts;
    if (H5Tis_variable_str(type) > 0) {
        std::vector<char*> found(count, nullptr);
        hdf5::read_attribute(attribute, type, static_cast<void*>(found.data()), name);
        for (char* text : found) {
            const std::unique_ptr<char, herr_t (*)(void*)> owner(text, H5free_memory);
            texts.emplace_back(text == nullptr ? "" : text);
        }
    } else {
        const size_t bytes = H5Tget_size(type);
        std::string found(count * bytes, '\0');
        hdf5::read_attribute(attribute, type, found.data(), name);
        for (uint64_t i = 0; i < count; ++i) texts.emplace_back(found.substr(i * bytes, bytes).c_str());
    }
    return texts_attribute(name, texts);
}

Attribute read_one(hid_t object, const std::string& name, const std::string& of) {
    const hdf5::AttributeId attribute = hdf5::open_attribute(object, name);
    const hdf5::TypeId type(hdf5::check(H5Aget_type(attribute), "H5Aget_type", name, Status::CORRUPT));
    const uint64_t count = hdf5::attribute_elements(attribute, name);
    if (H5Tget_class(type) == H5T_STRING && count == 1)
        return text_attribute(name, H5Tis_variable_str(type) > 0 ? text_of_variable_length(attribute, type, name)
                                                                 : hdf5::attribute_text(attribute, name));
    if (H5Tget_class(type) == H5T_STRING && count > 1) return list_of_texts(attribute, type, count, name);
    for (const Type number :
         {Type::I8, Type::I16, Type::I32, Type::I64, Type::U8, Type::U16, Type::U32, Type::U64, Type::F32, Type::F64}) {
        const hdf5::TypeId native(hdf5::check(H5Tget_native_type(type, H5T_DIR_ASCEND), "H5Tget_native_type", name));
        if (H5Tequal(native, memory_type(number)) <= 0) continue;
        std::vector<std::byte> values(count * type_bytes(number));
        hdf5::read_attribute(attribute, memory_type(number), values.data(), name);
        return {name, number, count, std::move(values)};
    }
    fail(Status::UNSUPPORTED, of, ": attribute '", name, "' is neither a text nor a list of numbers");
}

}  // namespace

std::vector<std::string> array_names(const std::string& path) {
    const hdf5::Quiet quiet;
    const hdf5::FileId file = hdf5::open_file(path);
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
        const hdf5::Dataset dataset = hdf5::open_dataset(file, name);
        names.push_back(name);
    };
    hdf5::for_each_link(file, add, path);
    return names;
}

std::vector<Attribute> read_attributes(const std::string& path, const std::string& array) {
    const hdf5::Quiet quiet;
    const hdf5::FileId file = hdf5::open_file(path);
    hdf5::Dataset dataset;
    if (!array.empty()) dataset = hdf5::open_dataset(file, array);
    const hid_t object = array.empty() ? static_cast<hid_t>(file) : static_cast<hid_t>(dataset);
    const std::string of = array.empty() ? path : path + ", array '" + array + "'";
    std::vector<Attribute> attributes;
    for (const std::string& name : names_of_attributes(object, of))
        if (std::ranges::find(kNotOfTheUser, name) == kNotOfTheUser.end()) attributes.push_back(read_one(object, name, of));
    return attributes;
}

}  // namespace tailrace
