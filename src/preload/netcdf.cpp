// netCDF and PnetCDF, which have the same calls under other names: files, and variables in all their forms.
#include <stddef.h>

#include "preload/library_call.hpp"

namespace tailrace::preload {
namespace {

constexpr uint64_t kNameBytes = 4096, kMostDimensions = 1024;

// The questions that one of the two libraries answers.
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
        size_t bytes = 0;  // or an int, of PnetCDF
        if (ask(library_.inq_path, {{id, as_word(&bytes)}}) != 0 || bytes >= sizeof name) return 0;
        return ask(library_.inq_path, {{id, as_word(&bytes), as_word(name)}}) == 0 ? file_of(name) : 0;
    }
    uint64_t variable_name(Word id, Word variable) const {
        char name[kNameBytes] = "";
        if (ask(library_.inq_varname, {{id, variable, as_word(name)}}) != 0) return 0;
        return trace::file_id(name, __builtin_strlen(name));
    }
    // Elements of a variable, or of the part with these counts.
    uint64_t elements(Word id, Word variable, const size_t* counts) const {
        int dimensions = 0, of_variable[kMostDimensions];
        if (ask(library_.inq_varndims, {{id, variable, as_word(&dimensions)}}) != 0) return 0;
        if (dimensions < 0 || static_cast<uint64_t>(dimensions) > kMostDimensions) return 0;
        if (counts == nullptr && ask(library_.inq_vardimid, {{id, variable, as_word(of_variable)}}) != 0) return 0;
        uint64_t elements = 1;
        for (int d = 0; d < dimensions; ++d) {
            size_t length = 0;
            if (counts == nullptr) ask(library_.inq_dimlen, {{id, of_variable[d], as_word(&length)}});
            elements *= counts == nullptr ? length : counts[d];
        }
        return elements;
    }
    // Where the call does not say how large an element is, the variable does.
    uint64_t element_bytes(Word id, Word variable) const {
        int type = 0;
        size_t bytes = 0;
        if (library_.inq_type == nullptr || ask(library_.inq_vartype, {{id, variable, as_word(&type)}}) != 0) return 0;
        ask(library_.inq_type, {{id, type, 0, as_word(&bytes)}});
        return bytes;
    }
    Word done(Word answer, const LibraryAbout& about) {
        const int64_t error = as_int(answer);  // netCDF's are less than 0, those of the system are not
        return LibraryCall::done(answer, error > 0 ? -error : error, about);
    }

private:
    // What a library does to answer us is not the program's doing.
    int ask(FindFunction question, const Words& words) const {
        const Silence silence;
        return as_int(call_words(question(object()), words));
    }
    const Library& library_;
};

// (name, ...), or, of those that begin with a communicator, (communicator, name, ...)
Word open_file(const Words& words, FindFunction find, const void* return_address, const Library& library, Call name, int path) {
    NetcdfCall call(library, name, return_address);
    const Word answer = call_words(find(call.object()), words);
    return call.done(answer, {.file = call.on() ? file_of(reinterpret_cast<const char*>(words.at[path])) : 0});
}

// (file, ...), which may be gone afterwards
Word of_file(const Words& words, FindFunction find, const void* return_address, const Library& library, Call name) {
    NetcdfCall call(library, name, return_address);
    LibraryAbout about;
    if (call.on()) about.file = call.file_name(words.at[0]);
    return call.done(call_words(find(call.object()), words), about);
}

// How much of a variable a call moves: all of it, one element, or by counts after the start.
enum class Part { all, one, counts };

// (file, variable, [start, [counts, ...]] memory)
Word transfer(const Words& words, FindFunction find, const void* return_address, const Library& library, Call name, Part part,
              uint64_t element_bytes) {
    NetcdfCall call(library, name, return_address);
    const Word answer = call_words(find(call.object()), words);
    if (!call.on() || as_int(answer) != 0) return call.done(answer, {});
    const auto* counts = part == Part::counts ? reinterpret_cast<const size_t*>(words.at[3]) : nullptr;
    const uint64_t elements = part == Part::one ? 1 : call.elements(words.at[0], words.at[1], counts);
    if (element_bytes == 0) element_bytes = call.element_bytes(words.at[0], words.at[1]);
    return call.done(answer, {.file = call.file_name(words.at[0]),
                              .object = call.variable_name(words.at[0], words.at[1]),
                              .bytes = elements * element_bytes});
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

// What each form is called for each type, and the bytes of an element of it in memory.
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
#define NETCDF(type, bytes, form, part)                                                          \
    LIBRARY_HOOK(nc_put_##form##type, transfer, kNetcdf, Call::nc_put_##form, Part::part, bytes) \
    LIBRARY_HOOK(nc_get_##form##type, transfer, kNetcdf, Call::nc_get_##form, Part::part, bytes)
EACH_FORM(NETCDF)
#define UNTYPED(form, part) NETCDF(, 0, form, part)
UNTYPED(var, all)
UNTYPED(var1, one)
UNTYPED(vara, counts)
UNTYPED(vars, counts)
UNTYPED(varm, counts)
#define PNETCDF(type, bytes, form, part)                                                                      \
    LIBRARY_HOOK(ncmpi_put_##form##type, transfer, kPnetcdf, Call::ncmpi_put_##form, Part::part, bytes)       \
    LIBRARY_HOOK(ncmpi_put_##form##type##_all, transfer, kPnetcdf, Call::ncmpi_put_##form, Part::part, bytes) \
    LIBRARY_HOOK(ncmpi_get_##form##type, transfer, kPnetcdf, Call::ncmpi_get_##form, Part::part, bytes)       \
    LIBRARY_HOOK(ncmpi_get_##form##type##_all, transfer, kPnetcdf, Call::ncmpi_get_##form, Part::part, bytes)
EACH_FORM(PNETCDF)

}  // namespace tailrace::preload
