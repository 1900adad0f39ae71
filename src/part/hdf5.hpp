// One checked function for each HDF5 call that is used. Handles close themselves; failures are Errors with HDF5's own reasons in
// the text. Only src/part/ includes this file: no layer above uses an hid_t.
#pragma once

#include <hdf5.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/system_error.hpp"
#include "layout/shape.hpp"
#include "part/reading_process.hpp"

namespace tailrace::hdf5 {

// Must be held during calls of HDF5. It is a lock, since many builds of HDF5 serve only one thread at a time. It also keeps HDF5
// from printing its error stack, and restores the application's setting at its end.
class Quiet {
public:
    Quiet() : alone_(mutex()) {
        enter_calls();
        H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    }
    ~Quiet() {
        H5Eset_auto2(H5E_DEFAULT, function_, data_);
        leave_calls();
    }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

private:
    // Recursive: opening a part may register a filter, which takes the lock again.
    static std::recursive_mutex& mutex() {
        static std::recursive_mutex only;
        return only;
    }

    const std::lock_guard<std::recursive_mutex> alone_;
    H5E_auto2_t function_ = nullptr;
    void* data_ = nullptr;
};

// Returns the reasons on HDF5's error stack, the innermost first, and empties the stack.
inline std::string reasons() {
    std::string found;
    const auto visit = [](unsigned, const H5E_error2_t* error, void* text) -> herr_t {
        auto& into = *static_cast<std::string*>(text);
        if (error->desc != nullptr && *error->desc != '\0') into += (into.empty() ? "" : "; ") + std::string(error->desc);
        return 0;
    };
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, visit, &found);
    H5Eclear2(H5E_DEFAULT);
    std::replace(found.begin(), found.end(), '\n', ' ');  // HDF5 writes the time with one
    return found.empty() ? "no reason given" : found;
}

// The status of the errno in HDF5's message, or else `otherwise`. This function reads a message because HDF5 gives errno only as
// text.
inline Status status_of(const std::string& found, Status otherwise) {
    static constexpr std::string_view key = "errno = ";
    const size_t at = found.find(key);
    const int code = at == std::string::npos ? 0 : std::atoi(found.c_str() + at + key.size());
    return code > 0 ? status_of_errno(code) : otherwise;
}

template <class Result>
Result check(Result result, const char* call, const std::string& what, Status status = Status::INTERNAL) {
    if (result >= 0) return result;
    const std::string found = reasons();
    fail(status_of(found, status), "HDF5 failed in ", call, " for ", what, ": ", found);
}

// An identifier that is closed by its own function. HDF5's predefined types and spaces are passed as plain hid_t.
template <herr_t (*Close)(hid_t)>
class Handle {
public:
    Handle() = default;
    explicit Handle(hid_t id) : id_(id) {}
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(id_, other.id_);
        return *this;
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() {
        if (id_ >= 0) Close(id_);
    }
    operator hid_t() const { return id_; }
    hid_t release() { return std::exchange(id_, H5I_INVALID_HID); }

private:
    hid_t id_ = H5I_INVALID_HID;
};

using FileId = Handle<H5Fclose>;
using Dataset = Handle<H5Dclose>;
using AttributeId = Handle<H5Aclose>;
using Space = Handle<H5Sclose>;
using TypeId = Handle<H5Tclose>;
using Properties = Handle<H5Pclose>;
using Driver = Handle<H5FDunregister>;

using Lengths = std::vector<hsize_t>;
inline Lengths lengths_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

// ---- properties ----------------------------------------------------------------------------------------------------------------

inline Properties create_properties(hid_t of) { return Properties(check(H5Pcreate(of), "H5Pcreate", "properties")); }

inline void set_driver(hid_t access, hid_t driver, const void* information) {
    check(H5Pset_driver(access, driver, information), "H5Pset_driver", "file access");
}
inline void set_format(hid_t access, H5F_libver_t low, H5F_libver_t high) {
    check(H5Pset_libver_bounds(access, low, high), "H5Pset_libver_bounds", "file access");
}
inline void track_link_order(hid_t creation) {
    check(H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED), "H5Pset_link_creation_order",
          "the file");
}
inline void track_attribute_order(hid_t creation) {
    check(H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED), "H5Pset_attr_creation_order",
          "an object");
}
inline void keep_attributes_compact(hid_t creation, unsigned most) {
    check(H5Pset_attr_phase_change(creation, most, most / 2), "H5Pset_attr_phase_change", "an object");
}
inline void leave_out_times(hid_t creation) {
    check(H5Pset_obj_track_times(creation, false), "H5Pset_obj_track_times", "an object");
}
inline void set_utf8_names(hid_t creation) {
    check(H5Pset_char_encoding(creation, H5T_CSET_UTF8), "H5Pset_char_encoding", "names");
}
inline void set_chunk(hid_t creation, const Lengths& chunk) {
    check(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), "H5Pset_chunk", "a dataset");
}
inline void set_allocation(hid_t creation, H5D_alloc_time_t time) {
    check(H5Pset_alloc_time(creation, time), "H5Pset_alloc_time", "a dataset");
}
inline void never_write_fill(hid_t creation) {
    check(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "H5Pset_fill_time", "a dataset");
}
inline void set_fill(hid_t creation, hid_t type, const void* value) {
    check(H5Pset_fill_value(creation, type, value), "H5Pset_fill_value", "a dataset");
}
inline void set_shuffle(hid_t creation) { check(H5Pset_shuffle(creation), "H5Pset_shuffle", "a dataset"); }
inline void set_deflate(hid_t creation, unsigned level) { check(H5Pset_deflate(creation, level), "H5Pset_deflate", "a dataset"); }
inline void set_filter(hid_t creation, H5Z_filter_t filter, unsigned value) {
    check(H5Pset_filter(creation, filter, H5Z_FLAG_OPTIONAL, 1, &value), "H5Pset_filter", "a dataset");
}
inline void set_virtual(hid_t creation, hid_t space, const std::string& file, const std::string& dataset, hid_t source) {
    check(H5Pset_virtual(creation, space, file.c_str(), dataset.c_str(), source), "H5Pset_virtual", file);
}
inline void set_chunk_cache(hid_t access, size_t slots, size_t bytes) {
    check(H5Pset_chunk_cache(access, slots, bytes, 1.0), "H5Pset_chunk_cache", "a dataset");
}

// ---- files ---------------------------------------------------------------------------------------------------------------------

inline FileId create_file(const std::string& path, hid_t creation, hid_t access) {
    return FileId(check(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access), "H5Fcreate", path));
}
// Opens a file for reading, with the driver of `access`. Takes no file lock: some file systems have no locks, and a part with its
// final name is not changed.
inline FileId open_file(const std::string& path, const Properties& access) {
    begin_reading(path);
    check(H5Pset_file_locking(access, false, true), "H5Pset_file_locking", path);
    return FileId(check(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), "H5Fopen", path, Status::CORRUPT));
}
// Throws CORRUPT for a link or a FIFO.
inline FileId open_file(const std::string& path) {
    (void)File::open_read(path);
    return open_file(path, create_properties(H5P_FILE_ACCESS));
}
inline void close_file(FileId file, const std::string& path) { check(H5Fclose(file.release()), "H5Fclose", path); }

// ---- spaces and types
// ------------------------------------------------------------------------------------------------------------

inline Space create_space(H5S_class_t kind) { return Space(check(H5Screate(kind), "H5Screate", "a space")); }
// A dataspace with these lengths; a scalar if there are none.
inline Space create_space(const Lengths& lengths, const Lengths& most) {
    if (lengths.empty()) return create_space(H5S_SCALAR);
    const int dims = static_cast<int>(lengths.size());
    return Space(check(H5Screate_simple(dims, lengths.data(), most.data()), "H5Screate_simple", "a space"));
}
inline Space create_space(const Lengths& lengths) { return create_space(lengths, lengths); }
inline void select(hid_t space, const Lengths& offset, const Lengths& count) {
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset.data(), nullptr, count.data(), nullptr), "H5Sselect_hyperslab",
          "a space");
}

// Text of a fixed number of bytes.
inline TypeId create_text_type(size_t bytes, H5T_str_t end, H5T_cset_t encoding) {
    TypeId type(check(H5Tcopy(H5T_C_S1), "H5Tcopy", "text"));
    check(H5Tset_size(type, bytes), "H5Tset_size", "text");
    check(H5Tset_strpad(type, end), "H5Tset_strpad", "text");
    check(H5Tset_cset(type, encoding), "H5Tset_cset", "text");
    return type;
}
inline TypeId create_list_type(hid_t of) { return TypeId(check(H5Tvlen_create(of), "H5Tvlen_create", "a list")); }
inline TypeId create_compound_type(size_t bytes) {
    return TypeId(check(H5Tcreate(H5T_COMPOUND, bytes), "H5Tcreate", "a compound"));
}
inline void insert_field(hid_t type, const char* name, size_t offset, hid_t field) {
    check(H5Tinsert(type, name, offset, field), "H5Tinsert", name);
}

// ---- datasets and attributes
// -------------------------------------------------------------------------------------------------------

struct DatasetProperties {
    hid_t link = H5P_DEFAULT, creation = H5P_DEFAULT, access = H5P_DEFAULT;
};
inline Dataset create_dataset(hid_t where, const std::string& name, hid_t type, hid_t space, const DatasetProperties& properties) {
    return Dataset(check(H5Dcreate2(where, name.c_str(), type, space, properties.link, properties.creation, properties.access),
                         "H5Dcreate2", name));
}
// Writes a chunk in its stored form: the filters are already applied.
inline void write_chunk(hid_t dataset, const Lengths& offset, size_t bytes, const void* data) {
    check(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, offset.data(), bytes, data), "H5Dwrite_chunk", "a chunk");
}
inline haddr_t object_address(hid_t object) {
    H5O_info_t information;
    check(H5Oget_info2(object, &information, H5O_INFO_BASIC), "H5Oget_info2", "an object");
    return information.addr;
}
inline bool has_link(hid_t where, const std::string& name) {
    return check(H5Lexists(where, name.c_str(), H5P_DEFAULT), "H5Lexists", name, Status::CORRUPT) > 0;
}
inline Dataset open_dataset(hid_t where, const std::string& name) {
    return Dataset(check(H5Dopen2(where, name.c_str(), H5P_DEFAULT), "H5Dopen2", name, Status::CORRUPT));
}
inline Lengths dataset_lengths(hid_t dataset, const std::string& name) {
    const Space space(check(H5Dget_space(dataset), "H5Dget_space", name, Status::CORRUPT));
    Lengths lengths(static_cast<size_t>(check(H5Sget_simple_extent_ndims(space), "H5Sget_simple_extent_ndims", name)));
    check(H5Sget_simple_extent_dims(space, lengths.data(), nullptr), "H5Sget_simple_extent_dims", name, Status::CORRUPT);
    return lengths;
}
inline Properties dataset_creation(hid_t dataset, const std::string& name) {
    return Properties(check(H5Dget_create_plist(dataset), "H5Dget_create_plist", name, Status::CORRUPT));
}
inline bool is_chunked(hid_t creation, const std::string& name) {
    return check(H5Pget_layout(creation), "H5Pget_layout", name, Status::CORRUPT) == H5D_CHUNKED;
}
inline Lengths chunk_lengths(hid_t creation, size_t dims, const std::string& name) {
    Lengths lengths(dims);
    check(H5Pget_chunk(creation, static_cast<int>(dims), lengths.data()), "H5Pget_chunk", name, Status::CORRUPT);
    return lengths;
}
inline unsigned filter_count(hid_t creation, const std::string& name) {
    return static_cast<unsigned>(check(H5Pget_nfilters(creation), "H5Pget_nfilters", name, Status::CORRUPT));
}
// The number of a filter, and the first of its values (0: it has none).
inline std::pair<H5Z_filter_t, unsigned> filter_at(hid_t creation, unsigned which, const std::string& name) {
    unsigned flags = 0, values[8] = {};
    size_t count = 8;
    const H5Z_filter_t filter = H5Pget_filter2(creation, which, &flags, &count, values, 0, nullptr, nullptr);
    return {check(filter, "H5Pget_filter2", name, Status::CORRUPT), count > 0 ? values[0] : 0};
}
inline bool dataset_has_type(hid_t dataset, hid_t type, const std::string& name) {
    const TypeId stored(check(H5Dget_type(dataset), "H5Dget_type", name, Status::CORRUPT));
    return check(H5Tequal(stored, type), "H5Tequal", name, Status::CORRUPT) > 0;
}
// The address of a contiguous dataset; HADDR_UNDEF if nothing is stored.
inline haddr_t contiguous_address(hid_t dataset) { return H5Dget_offset(dataset); }
struct Chunk {
    unsigned skipped_filters = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t bytes = 0;
};
inline Chunk find_chunk(hid_t dataset, const Lengths& offset, const std::string& name) {
    Chunk chunk;
    check(H5Dget_chunk_info_by_coord(dataset, offset.data(), &chunk.skipped_filters, &chunk.address, &chunk.bytes),
          "H5Dget_chunk_info_by_coord", name, Status::CORRUPT);
    return chunk;
}
// Calls visit(name) for each dataset or group of the root.
template <class Visit>
void for_each_link(hid_t where, Visit&& visit, const std::string& path) {
    const auto call = [](hid_t, const char* name, const H5L_info_t*, void* with) -> herr_t {
        (*static_cast<std::vector<std::string>*>(with)).emplace_back(name);
        return 0;
    };
    std::vector<std::string> names;
    check(H5Literate(where, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, call, &names), "H5Literate", path, Status::CORRUPT);
    for (const std::string& name : names) visit(name);
}
inline AttributeId create_attribute(hid_t object, const std::string& name, hid_t type, hid_t space, hid_t creation) {
    return AttributeId(check(H5Acreate2(object, name.c_str(), type, space, creation, H5P_DEFAULT), "H5Acreate2", name));
}
inline void write_attribute(hid_t attribute, hid_t type, const void* values, const std::string& name) {
    check(H5Awrite(attribute, type, values), "H5Awrite", name);
}
inline bool has_attribute(hid_t object, const std::string& name) {
    return check(H5Aexists(object, name.c_str()), "H5Aexists", name, Status::CORRUPT) > 0;
}
inline AttributeId open_attribute(hid_t object, const std::string& name) {
    return AttributeId(check(H5Aopen(object, name.c_str(), H5P_DEFAULT), "H5Aopen", name, Status::CORRUPT));
}
inline uint64_t attribute_elements(hid_t attribute, const std::string& name) {
    const Space space(check(H5Aget_space(attribute), "H5Aget_space", name, Status::CORRUPT));
    return static_cast<uint64_t>(check(H5Sget_simple_extent_npoints(space), "H5Sget_simple_extent_npoints", name, Status::CORRUPT));
}
inline bool attribute_holds_integers(hid_t attribute, const std::string& name) {
    const TypeId type(check(H5Aget_type(attribute), "H5Aget_type", name, Status::CORRUPT));
    return H5Tget_class(type) == H5T_INTEGER;
}
// Text of a fixed length, without the zeros behind it; empty if the attribute is of another kind.
inline std::string attribute_text(hid_t attribute, const std::string& name) {
    const TypeId type(check(H5Aget_type(attribute), "H5Aget_type", name, Status::CORRUPT));
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 || attribute_elements(attribute, name) != 1) return "";
    constexpr size_t kMostBytes = 64u << 20;  // netCDF's tools read no longer ones
    if (H5Tget_size(type) > kMostBytes) return "";
    std::string text(H5Tget_size(type), '\0');
    check(H5Aread(attribute, type, text.data()), "H5Aread", name, Status::CORRUPT);
    return text.substr(0, text.find('\0'));
}
inline void read_attribute(hid_t attribute, hid_t type, void* values, const std::string& name) {
    check(H5Aread(attribute, type, values), "H5Aread", name, Status::CORRUPT);
}

// ---- filters and drivers
// ---------------------------------------------------------------------------------------------------------------------

inline bool filter_is_known(H5Z_filter_t filter) { return check(H5Zfilter_avail(filter), "H5Zfilter_avail", "a filter") > 0; }
inline void register_filter(const H5Z_class2_t& filter) { check(H5Zregister(&filter), "H5Zregister", filter.name); }
inline void unregister_filter(H5Z_filter_t filter) { H5Zunregister(filter); }
inline Driver register_driver(const H5FD_class_t& driver) {
    return Driver(check(H5FDregister(&driver), "H5FDregister", driver.name));
}
inline void push_reason(const char* function, const std::string& reason) {
    H5Epush2(H5E_DEFAULT, __FILE__, function, __LINE__, H5E_ERR_CLS, H5E_VFL, H5E_CANTINIT, "%s", reason.c_str());
}

}  // namespace tailrace::hdf5
