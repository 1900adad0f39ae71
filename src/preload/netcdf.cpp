// netCDF and PnetCDF, which have the same calls under different names: calls on files and on variables.
#include <stddef.h>

#include "preload/library_call.hpp"
#include "preload/mpi.hpp"

namespace tailrace::preload {
namespace {

constexpr uint64_t kNameBytes = 4096, kMostDimensions = 1024;

// The inquiry functions of one of the two libraries.
struct Library {
    trace::Within layer;
    FindFunction inq_path, inq_varname, inq_varndims, inq_vardimid, inq_dimlen, inq_vartype, inq_type;
};
const Library kNetcdf = {trace::Within::netcdf,
                         LIBRARY_FUNCTION(nc_inq_path),
                         LIBRARY_FUNCTION(nc_inq_varname),
                         LIBRARY_FUNCTION(nc_inq_varndims),
                         LIBRARY_FUNCTION(nc_inq_vardimid),
                         LIBRARY_FUNCTION(nc_inq_dimlen),
                         LIBRARY_FUNCTION(nc_inq_vartype),
                         LIBRARY_FUNCTION(nc_inq_type)};
const Library kPnetcdf = {trace::Within::pnetcdf,
                          LIBRARY_FUNCTION(ncmpi_inq_path),
                          LIBRARY_FUNCTION(ncmpi_inq_varname),
                          LIBRARY_FUNCTION(ncmpi_inq_varndims),
                          LIBRARY_FUNCTION(ncmpi_inq_vardimid),
                          LIBRARY_FUNCTION(ncmpi_inq_dimlen),
                          LIBRARY_FUNCTION(ncmpi_inq_vartype),
                          nullptr};

class NetcdfCall : public LibraryCall {
public:
    NetcdfCall(const Library& library, Call call, const void* return_address)
        : LibraryCall(library.layer, call, return_address), library_(library) {}

    uint64_t file_name(Word id) const {
        char name[kNameBytes] = "";
        size_t bytes = 0;  // PnetCDF stores an int
        if (inquire(library_.inq_path, {{id, as_word(&bytes)}}) != 0 || bytes >= sizeof name) return 0;
        return inquire(library_.inq_path, {{id, as_word(&bytes), as_word(name)}}) == 0 ? file_id(name) : 0;
    }
    uint64_t variable_name(Word id, Word variable) const {
        char name[kNameBytes] = "";
        if (inquire(library_.inq_varname, {{id, variable, as_word(name)}}) != 0) return 0;
        return trace::name_id(name, __builtin_strlen(name));
    }
    // Elements of a variable; with counts, of that hyperslab.
    uint64_t elements(Word id, Word variable, const size_t* counts) const {
        int dimensions = 0, of_variable[kMostDimensions];
        if (inquire(library_.inq_varndims, {{id, variable, as_word(&dimensions)}}) != 0) return 0;
        if (dimensions < 0 || static_cast<uint64_t>(dimensions) > kMostDimensions) return 0;
        if (counts == nullptr && inquire(library_.inq_vardimid, {{id, variable, as_word(of_variable)}}) != 0) return 0;
        uint64_t elements = 1;
        for (int d = 0; d < dimensions; ++d) {
            size_t length = 0;
            if (counts == nullptr) inquire(library_.inq_dimlen, {{id, of_variable[d], as_word(&length)}});
            elements *= counts == nullptr ? length : counts[d];
        }
        return elements;
    }
    // Bytes of an element in the file, for calls without a type in memory.
    uint64_t element_bytes(Word id, Word variable) const {
        int type = 0;
        size_t bytes = 0;
        if (inquire(library_.inq_vartype, {{id, variable, as_word(&type)}}) != 0 || type < 0) return 0;
        const auto number = static_cast<size_t>(type);
        if (library_.inq_type == nullptr) return number < sizeof kClassicBytes ? kClassicBytes[number] : 0;
        inquire(library_.inq_type, {{id, type, 0, as_word(&bytes)}});
        return bytes;
    }
    Word finish(Word result, const LibraryCallInfo& info) {
        const int64_t error = as_int(result);  // netCDF's own errors are negative; an errno is positive
        return LibraryCall::finish(result, error > 0 ? -error : error, info);
    }

private:
    // Makes an inquiry. Calls that the library makes within it are not recorded.
    int inquire(FindFunction inquiry, const Words& words) const {
        const RecordingPause pause;
        return as_int(call_words(inquiry(object()), words));
    }
    // Bytes of an element by the number of its type: NC_BYTE (1), NC_CHAR, NC_SHORT, NC_INT, NC_FLOAT, NC_DOUBLE, NC_UBYTE,
    // NC_USHORT, NC_UINT, NC_INT64, NC_UINT64.
    static constexpr uint8_t kClassicBytes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
    const Library& library_;
};

// (name, ...) or (communicator, name, ...); `path` is the position of the name.
Word open_file(const Words& words, FindFunction find, const void* return_address, const Library& library, Call name, int path) {
    NetcdfCall call(library, name, return_address);
    const Word result = call_words(find(call.object()), words);
    return call.finish(result, {.file = call.is_recording() ? file_id(reinterpret_cast<const char*>(words.at[path])) : 0});
}

// (file, ...). The name is read before the call, which may close the file.
Word of_file(const Words& words, FindFunction find, const void* return_address, const Library& library, Call name) {
    NetcdfCall call(library, name, return_address);
    LibraryCallInfo info;
    if (call.is_recording()) info.file = call.file_name(words.at[0]);
    return call.finish(call_words(find(call.object()), words), info);
}

// The elements that a call moves: the whole variable, one element, a hyperslab given by counts, several hyperslabs (varn), or as
// many as the type in memory has (vard).
enum class Selection { all, one, counts, many, memory };

// (file, variable, number, starts, counts, ...): `number` hyperslabs; without counts each has one element.
uint64_t elements_of_many(const NetcdfCall& call, const Words& words) {
    const auto* const* counts = reinterpret_cast<const size_t* const*>(words.at[4]);
    const int number = as_int(words.at[2]);
    uint64_t elements = 0;
    for (int i = 0; i < number; ++i)
        elements += counts == nullptr || counts[i] == nullptr ? 1 : call.elements(words.at[0], words.at[1], counts[i]);
    return elements;
}

// (file, variable, [start, [counts, ...]] memory); for Selection::memory (file, variable, type in the file, memory, count, type)
uint64_t bytes_of(const NetcdfCall& call, const Words& words, Selection selection, uint64_t element_bytes) {
    const Word file = words.at[0], variable = words.at[1];
    if (selection == Selection::memory) return mpi_bytes(call.object(), words.at[4], words.at[5]);
    const auto* counts = selection == Selection::counts ? reinterpret_cast<const size_t*>(words.at[3]) : nullptr;
    const uint64_t elements = selection == Selection::one    ? 1
                              : selection == Selection::many ? elements_of_many(call, words)
                                                             : call.elements(file, variable, counts);
    return elements * (element_bytes == 0 ? call.element_bytes(file, variable) : element_bytes);
}

Word transfer(const Words& words, FindFunction find, const void* return_address, const Library& library, Call name,
              Selection selection, uint64_t element_bytes) {
    NetcdfCall call(library, name, return_address);
    const Word result = call_words(find(call.object()), words);
    if (!call.is_recording() || as_int(result) != 0) return call.finish(result, {});
    return call.finish(result, {.file = call.file_name(words.at[0]),
                                .object = call.variable_name(words.at[0], words.at[1]),
                                .bytes = bytes_of(call, words, selection, element_bytes)});
}

}  // namespace

LIBRARY_HOOK(nc_create, open_file, kNetcdf, Call::nc_create, 0)
LIBRARY_HOOK(nc__create, open_file, kNetcdf, Call::nc_create, 0)
LIBRARY_HOOK(nc_create_par, open_file, kNetcdf, Call::nc_create, 0)
LIBRARY_HOOK(nc_open, open_file, kNetcdf, Call::nc_open, 0)
LIBRARY_HOOK(nc__open, open_file, kNetcdf, Call::nc_open, 0)
LIBRARY_HOOK(nc_open_par, open_file, kNetcdf, Call::nc_open, 0)
LIBRARY_HOOK(nc_close, of_file, kNetcdf, Call::nc_close)
LIBRARY_HOOK(nc_sync, of_file, kNetcdf, Call::nc_sync)
LIBRARY_HOOK(nc_enddef, of_file, kNetcdf, Call::nc_enddef)
LIBRARY_HOOK(nc__enddef, of_file, kNetcdf, Call::nc_enddef)
LIBRARY_HOOK(nc_redef, of_file, kNetcdf, Call::nc_redef)
LIBRARY_HOOK(ncmpi_create, open_file, kPnetcdf, Call::ncmpi_create, 1)
LIBRARY_HOOK(ncmpi_open, open_file, kPnetcdf, Call::ncmpi_open, 1)
LIBRARY_HOOK(ncmpi_close, of_file, kPnetcdf, Call::ncmpi_close)
LIBRARY_HOOK(ncmpi_sync, of_file, kPnetcdf, Call::ncmpi_sync)
LIBRARY_HOOK(ncmpi_enddef, of_file, kPnetcdf, Call::ncmpi_enddef)
LIBRARY_HOOK(ncmpi__enddef, of_file, kPnetcdf, Call::ncmpi_enddef)
LIBRARY_HOOK(ncmpi_redef, of_file, kPnetcdf, Call::ncmpi_redef)
LIBRARY_HOOK(ncmpi_wait_all, of_file, kPnetcdf, Call::ncmpi_wait_all)
LIBRARY_HOOK(ncmpi_wait, of_file, kPnetcdf, Call::ncmpi_wait_all)

// The suffix of the function's name for each type, and the size in bytes of an element in memory.
#define EACH_TYPE(NAMES, ...)         \
    NAMES(_text, 1, __VA_ARGS__)      \
    NAMES(_schar, 1, __VA_ARGS__)     \
    NAMES(_uchar, 1, __VA_ARGS__)     \
    NAMES(_short, 2, __VA_ARGS__)     \
    NAMES(_ushort, 2, __VA_ARGS__)    \
    NAMES(_int, 4, __VA_ARGS__)       \
    NAMES(_uint, 4, __VA_ARGS__)      \
    NAMES(_long, 8, __VA_ARGS__)      \
    NAMES(_longlong, 8, __VA_ARGS__)  \
    NAMES(_ulonglong, 8, __VA_ARGS__) \
    NAMES(_float, 4, __VA_ARGS__)     \
    NAMES(_double, 8, __VA_ARGS__)
#define EACH_FORM(NAMES)           \
    EACH_TYPE(NAMES, var, all)     \
    EACH_TYPE(NAMES, var1, one)    \
    EACH_TYPE(NAMES, vara, counts) \
    EACH_TYPE(NAMES, vars, counts) \
    EACH_TYPE(NAMES, varm, counts)
#define NETCDF(type, bytes, form, selection)                                                               \
    LIBRARY_HOOK(nc_put_##form##type, transfer, kNetcdf, Call::nc_put_##form, Selection::selection, bytes) \
    LIBRARY_HOOK(nc_get_##form##type, transfer, kNetcdf, Call::nc_get_##form, Selection::selection, bytes)
EACH_FORM(NETCDF)
// Types that PnetCDF does not have.
#define OF_NETCDF(form, selection) NETCDF(_ubyte, 1, form, selection) NETCDF(_string, sizeof(char*), form, selection)
OF_NETCDF(var, all)
OF_NETCDF(var1, one)
OF_NETCDF(vara, counts)
OF_NETCDF(vars, counts)
OF_NETCDF(varm, counts)
#define UNTYPED(form, selection) NETCDF(, 0, form, selection)
UNTYPED(var, all)
UNTYPED(var1, one)
UNTYPED(vara, counts)
UNTYPED(vars, counts)
UNTYPED(varm, counts)
#define PNETCDF_BLOCKING(type, bytes, form, selection)                                                                  \
    LIBRARY_HOOK(ncmpi_put_##form##type, transfer, kPnetcdf, Call::ncmpi_put_##form, Selection::selection, bytes)       \
    LIBRARY_HOOK(ncmpi_put_##form##type##_all, transfer, kPnetcdf, Call::ncmpi_put_##form, Selection::selection, bytes) \
    LIBRARY_HOOK(ncmpi_get_##form##type, transfer, kPnetcdf, Call::ncmpi_get_##form, Selection::selection, bytes)       \
    LIBRARY_HOOK(ncmpi_get_##form##type##_all, transfer, kPnetcdf, Call::ncmpi_get_##form, Selection::selection, bytes)
// Transfers that ncmpi_wait completes.
#define PNETCDF_NONBLOCKING(type, bytes, form, selection)                                                           \
    LIBRARY_HOOK(ncmpi_iput_##form##type, transfer, kPnetcdf, Call::ncmpi_iput_##form, Selection::selection, bytes) \
    LIBRARY_HOOK(ncmpi_bput_##form##type, transfer, kPnetcdf, Call::ncmpi_iput_##form, Selection::selection, bytes) \
    LIBRARY_HOOK(ncmpi_iget_##form##type, transfer, kPnetcdf, Call::ncmpi_iget_##form, Selection::selection, bytes)
#define PNETCDF(type, bytes, form, selection)      \
    PNETCDF_BLOCKING(type, bytes, form, selection) \
    PNETCDF_NONBLOCKING(type, bytes, form, selection)
EACH_FORM(PNETCDF)
EACH_TYPE(PNETCDF, varn, many)
PNETCDF(, 0, var, all)
PNETCDF(, 0, var1, one)
PNETCDF(, 0, vara, counts)
PNETCDF(, 0, vars, counts)
PNETCDF(, 0, varm, counts)
PNETCDF(, 0, varn, many)
LIBRARY_HOOK(ncmpi_put_vard, transfer, kPnetcdf, Call::ncmpi_put_vard, Selection::memory, 0)
LIBRARY_HOOK(ncmpi_put_vard_all, transfer, kPnetcdf, Call::ncmpi_put_vard, Selection::memory, 0)
LIBRARY_HOOK(ncmpi_get_vard, transfer, kPnetcdf, Call::ncmpi_get_vard, Selection::memory, 0)
LIBRARY_HOOK(ncmpi_get_vard_all, transfer, kPnetcdf, Call::ncmpi_get_vard, Selection::memory, 0)

}  // namespace tailrace::preload
