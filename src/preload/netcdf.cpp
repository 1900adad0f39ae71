// netCDF and PnetCDF, which have the same calls under other names: files, and variables in all their forms.
#include <stddef.h>

#include "preload/library_call.hpp"
#include "preload/mpi.hpp"

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
        if (ask(library_.inq_vartype, {{id, variable, as_word(&type)}}) != 0 || type < 0) return 0;
        const auto number = static_cast<size_t>(type);
        if (library_.inq_type == nullptr) return number < sizeof kClassicBytes ? kClassicBytes[number] : 0;
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
    // Of NC_BYTE (1), NC_CHAR, NC_SHORT, NC_INT, NC_FLOAT, NC_DOUBLE, NC_UBYTE, NC_USHORT, NC_UINT, NC_INT64, NC_UINT64.
    static constexpr uint8_t kClassicBytes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
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

// How much of a variable a call moves: all of it, one element, by counts after the start, parts, or what its memory's type says.
enum class Part { all, one, counts, many, memory };

// (file, variable, number, starts, counts, ...): so many parts, of one element each where there are no counts.
uint64_t elements_of_many(const NetcdfCall& call, const Words& words) {
    const auto* const* counts = reinterpret_cast<const size_t* const*>(words.at[4]);
    const int number = as_int(words.at[2]);
    uint64_t elements = 0;
    for (int i = 0; i < number; ++i)
        elements += counts == nullptr || counts[i] == nullptr ? 1 : call.elements(words.at[0], words.at[1], counts[i]);
    return elements;
}

// (file, variable, [start, [counts, ...]] memory); of Part::memory (file, variable, type of the file's part, memory, count, type)
uint64_t bytes_of(const NetcdfCall& call, const Words& words, Part part, uint64_t element_bytes) {
    const Word file = words.at[0], variable = words.at[1];
    if (part == Part::memory) return mpi_bytes(call.object(), words.at[4], words.at[5]);
    const auto* counts = part == Part::counts ? reinterpret_cast<const size_t*>(words.at[3]) : nullptr;
    const uint64_t elements = part == Part::one    ? 1
                              : part == Part::many ? elements_of_many(call, words)
                                                   : call.elements(file, variable, counts);
    return elements * (element_bytes == 0 ? call.element_bytes(file, variable) : element_bytes);
}

Word transfer(const Words& words, FindFunction find, const void* return_address, const Library& library, Call name, Part part,
              uint64_t element_bytes) {
    NetcdfCall call(library, name, return_address);
    const Word answer = call_words(find(call.object()), words);
    if (!call.on() || as_int(answer) != 0) return call.done(answer, {});
    return call.done(answer, {.file = call.file_name(words.at[0]),
                              .object = call.variable_name(words.at[0], words.at[1]),
                              .bytes = bytes_of(call, words, part, element_bytes)});
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
// Types that PnetCDF has not, or under no name of theirs.
#define OF_NETCDF(form, part) NETCDF(_ubyte, 1, form, part) NETCDF(_string, sizeof(char*), form, part)
OF_NETCDF(var, all)
OF_NETCDF(var1, one)
OF_NETCDF(vara, counts)
OF_NETCDF(vars, counts)
OF_NETCDF(varm, counts)
#define UNTYPED(form, part) NETCDF(, 0, form, part)
UNTYPED(var, all)
UNTYPED(var1, one)
UNTYPED(vara, counts)
UNTYPED(vars, counts)
UNTYPED(varm, counts)
#define PNETCDF_NOW(type, bytes, form, part)                                                                  \
    LIBRARY_HOOK(ncmpi_put_##form##type, transfer, kPnetcdf, Call::ncmpi_put_##form, Part::part, bytes)       \
    LIBRARY_HOOK(ncmpi_put_##form##type##_all, transfer, kPnetcdf, Call::ncmpi_put_##form, Part::part, bytes) \
    LIBRARY_HOOK(ncmpi_get_##form##type, transfer, kPnetcdf, Call::ncmpi_get_##form, Part::part, bytes)       \
    LIBRARY_HOOK(ncmpi_get_##form##type##_all, transfer, kPnetcdf, Call::ncmpi_get_##form, Part::part, bytes)
// Those that are moved by ncmpi_wait.
#define PNETCDF_LATER(type, bytes, form, part)                                                            \
    LIBRARY_HOOK(ncmpi_iput_##form##type, transfer, kPnetcdf, Call::ncmpi_iput_##form, Part::part, bytes) \
    LIBRARY_HOOK(ncmpi_bput_##form##type, transfer, kPnetcdf, Call::ncmpi_iput_##form, Part::part, bytes) \
    LIBRARY_HOOK(ncmpi_iget_##form##type, transfer, kPnetcdf, Call::ncmpi_iget_##form, Part::part, bytes)
#define PNETCDF(type, bytes, form, part) \
    PNETCDF_NOW(type, bytes, form, part) \
    PNETCDF_LATER(type, bytes, form, part)
EACH_FORM(PNETCDF)
EACH_TYPE(PNETCDF, varn, many)
PNETCDF(, 0, var, all)
PNETCDF(, 0, var1, one)
PNETCDF(, 0, vara, counts)
PNETCDF(, 0, vars, counts)
PNETCDF(, 0, varm, counts)
PNETCDF(, 0, varn, many)
LIBRARY_HOOK(ncmpi_put_vard, transfer, kPnetcdf, Call::ncmpi_put_vard, Part::memory, 0)
LIBRARY_HOOK(ncmpi_put_vard_all, transfer, kPnetcdf, Call::ncmpi_put_vard, Part::memory, 0)
LIBRARY_HOOK(ncmpi_get_vard, transfer, kPnetcdf, Call::ncmpi_get_vard, Part::memory, 0)
LIBRARY_HOOK(ncmpi_get_vard_all, transfer, kPnetcdf, Call::ncmpi_get_vard, Part::memory, 0)

}  // namespace tailrace::preload
