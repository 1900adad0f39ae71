// HDF5: calls on files, datasets and attributes. The calling object decides which of two HDF5 libraries in a process is called.
//
// HDF5 is queried for the fields of an event only after a successful call, because each call of HDF5 clears the errors of the call
// before, which the program may want to read.
#include "preload/layers.hpp"
#include "preload/library_call.hpp"

namespace tailrace::preload {
namespace {

constexpr uint64_t kNameBytes = 4096;

class Hdf5Call : public LibraryCall {
public:
    Hdf5Call(Call call, const void* return_address) : LibraryCall(trace::Within::hdf5, call, return_address) {}

    // The file that an object is in, and its name there.
    uint64_t file_of_object(Word id) const {
        const RecordingPause pause;
        char name[kNameBytes] = "";
        const Word bytes = call_words(LIBRARY_FUNCTION(H5Fget_name)(object()), {{id, as_word(name), sizeof name}});
        return bytes > 0 ? file_id(name) : 0;
    }
    uint64_t name_of_object(Word id) const {
        const RecordingPause pause;  // HDF5 may read the file to find the name of an object
        char name[kNameBytes] = "";
        const Word bytes = call_words(LIBRARY_FUNCTION(H5Iget_name)(object()), {{id, as_word(name), sizeof name}});
        return bytes > 0 && bytes < Word{sizeof name} ? trace::name_id(name, static_cast<uint64_t>(bytes)) : 0;
    }
    bool is_valid(Word id) const { return as_int(call_words(LIBRARY_FUNCTION(H5Iis_valid)(object()), {{id}})) > 0; }

    uint64_t bytes_of_type(Word type) const {
        const Word bytes = call_words(LIBRARY_FUNCTION(H5Tget_size)(object()), {{type}});
        return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
    }
    uint64_t elements_of(Word space) const {
        const Word elements = call_words(LIBRARY_FUNCTION(H5Sget_select_npoints)(object()), {{space}});
        return elements > 0 ? static_cast<uint64_t>(elements) : 0;
    }
    uint64_t elements_of_space_from(void* get_space, Word id) const {
        const Word space = call_words(get_space, {{id}});
        if (space < 0) return 0;
        const uint64_t elements = elements_of(space);
        call_words(LIBRARY_FUNCTION(H5Sclose)(object()), {{space}});
        return elements;
    }
    // `place`: the address of the chunk's offset
    uint64_t bytes_of_chunk(Word dataset, Word place) const {
        const RecordingPause pause;
        uint64_t bytes = 0;
        void* const storage_size = LIBRARY_FUNCTION(H5Dget_chunk_storage_size)(object());
        return as_int(call_words(storage_size, {{dataset, place, as_word(&bytes)}})) < 0 ? 0 : bytes;
    }
    // A herr_t or hid_t is less than 0 where the call failed.
    Word finish(Word result, const LibraryCallInfo& info) { return LibraryCall::finish(result, as_int(result) < 0 ? -1 : 0, info); }
};

// (name, ...)
Word open_file(const Words& words, FindFunction find, const void* return_address, Call name) {
    Hdf5Call call(name, return_address);
    const Word result = call_words(find(call.object()), words);
    return call.finish(result, {.file = call.is_recording() ? file_id(reinterpret_cast<const char*>(words.at[0])) : 0});
}

// (object, ...): a file, dataset or attribute. The names are read before the call, which may close it.
Word of_object(const Words& words, FindFunction find, const void* return_address, Call name) {
    Hdf5Call call(name, return_address);
    LibraryCallInfo info;
    if (call.is_recording() && call.is_valid(words.at[0]))
        info = {.file = call.file_of_object(words.at[0]), .object = call.name_of_object(words.at[0])};
    return call.finish(call_words(find(call.object()), words), info);
}

// (location, name, ...); returns the object
Word make_object(const Words& words, FindFunction find, const void* return_address, Call name) {
    Hdf5Call call(name, return_address);
    const Word result = call_words(find(call.object()), words);
    if (!call.is_recording() || result < 0) return call.finish(result, {});
    return call.finish(result, {.file = call.file_of_object(result), .object = call.name_of_object(result)});
}

// (dataset or attribute, ...); `bytes_of` returns the bytes of a successful call.
template <class BytesOf>
Word record_transfer(const Words& words, FindFunction find, const void* return_address, Call name, BytesOf bytes_of) {
    Hdf5Call call(name, return_address);
    const Word result = call_words(find(call.object()), words);
    if (!call.is_recording() || as_int(result) < 0) return call.finish(result, {});
    const uint64_t bytes = bytes_of(call);
    return call.finish(result,
                       {.file = call.file_of_object(words.at[0]), .object = call.name_of_object(words.at[0]), .bytes = bytes});
}

// (dataset, type in memory, elements in memory, elements in the file, properties, memory)
Word transfer(const Words& words, FindFunction find, const void* return_address, Call name) {
    return record_transfer(words, find, return_address, name, [&](const Hdf5Call& call) {
        constexpr Word kLastSpecial = 2;  // H5S_ALL, H5S_BLOCK and H5S_PLIST are no ids of dataspaces
        uint64_t elements = 0;
        for (const Word space : {words.at[2], words.at[3]})
            if (space > kLastSpecial && elements == 0) elements = call.elements_of(space);
        if (words.at[2] <= kLastSpecial && words.at[3] <= kLastSpecial)
            elements = call.elements_of_space_from(LIBRARY_FUNCTION(H5Dget_space)(call.object()), words.at[0]);
        return elements * call.bytes_of_type(words.at[1]);
    });
}

// (dataset, properties, filters, place, bytes, memory): writes a chunk in its stored form, without filters
Word write_chunk(const Words& words, FindFunction find, const void* return_address, Call name) {
    return record_transfer(words, find, return_address, name, [&](const Hdf5Call&) { return static_cast<uint64_t>(words.at[4]); });
}

// (dataset, properties, place, filters, memory): reads a chunk in its stored form, without filters
Word read_chunk(const Words& words, FindFunction find, const void* return_address, Call name) {
    return record_transfer(words, find, return_address, name,
                           [&](const Hdf5Call& call) { return call.bytes_of_chunk(words.at[0], words.at[2]); });
}

// (attribute, type in memory, memory)
Word transfer_attribute(const Words& words, FindFunction find, const void* return_address, Call name) {
    return record_transfer(words, find, return_address, name, [&](const Hdf5Call& call) {
        const uint64_t elements = call.elements_of_space_from(LIBRARY_FUNCTION(H5Aget_space)(call.object()), words.at[0]);
        return elements * call.bytes_of_type(words.at[1]);
    });
}

}  // namespace

#define HDF5(symbol, name, how) LIBRARY_HOOK(symbol, how, Call::name)
HDF5(H5Fcreate, H5Fcreate, open_file)
HDF5(H5Fopen, H5Fopen, open_file)
HDF5(H5Fclose, H5Fclose, of_object)
HDF5(H5Fflush, H5Fflush, of_object)
HDF5(H5Dcreate1, H5Dcreate, make_object)
HDF5(H5Dcreate2, H5Dcreate, make_object)
HDF5(H5Dopen1, H5Dopen, make_object)
HDF5(H5Dopen2, H5Dopen, make_object)
HDF5(H5Dset_extent, H5Dset_extent, of_object)
HDF5(H5Dclose, H5Dclose, of_object)
HDF5(H5Dwrite, H5Dwrite, transfer)
HDF5(H5Dread, H5Dread, transfer)
HDF5(H5Dwrite_chunk, H5Dwrite, write_chunk)
HDF5(H5Dread_chunk, H5Dread, read_chunk)
HDF5(H5Dread_chunk1, H5Dread, read_chunk)
HDF5(H5Dread_chunk2, H5Dread, read_chunk)
HDF5(H5Acreate1, H5Acreate, make_object)
HDF5(H5Acreate2, H5Acreate, make_object)
HDF5(H5Awrite, H5Awrite, transfer_attribute)
HDF5(H5Aread, H5Aread, transfer_attribute)
HDF5(H5Gcreate1, H5Gcreate, make_object)
HDF5(H5Gcreate2, H5Gcreate, make_object)

}  // namespace tailrace::preload
