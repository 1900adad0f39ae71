// The bytes that HDF5 has read of a part, and where it found arrays by them. HDF5 finds the arrays at the same addresses in every
// file of equal length with these bytes in the same places, so it need not open such a file. RATIONALE: HDF5 takes 0.3 to 0.6 ms to
// open a part and find an array. Parts of one step each have equal metadata, and comparing it takes about 0.02 ms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/type.hpp"
#include "layout/shape.hpp"
#include "part/hdf5.hpp"

namespace tailrace {

// An array that a reader looks for in a part.
struct WantedArray {
    std::string name;
    Type type = Type::F64;
    Shape shape;  // without time
    bool varies = false;
    bool operator==(const WantedArray&) const = default;
};

class KnownMetadata {
public:
    // The address of a contiguous array, and its length along time.
    struct Place {
        uint64_t address, steps;
    };

    explicit KnownMetadata(uint64_t file_bytes) : file_bytes_(file_bytes) {}

    // Adds bytes that HDF5 has read of the file.
    void add_read(uint64_t address, const std::byte* data, uint64_t bytes);
    void add_array(const WantedArray& array, Place place) { arrays_.insert_or_assign(array.name, std::pair{array, place}); }

    // Whether the file has this length and these bytes. False if the file cannot be read: opening it then reports the error.
    bool is_of(const File& file) const noexcept;
    // The place of the array. Nothing if HDF5 has not looked for it, or it is not contiguous.
    std::optional<Place> find(const WantedArray& array) const;

private:
    struct Read {
        uint64_t address;
        std::vector<std::byte> bytes;
        bool operator==(const Read&) const = default;
    };
    bool has_reads(const File& file, std::vector<std::byte>& buffer) const;

    uint64_t file_bytes_, read_bytes_ = 0;
    std::vector<Read> reads_;                                      // ascending by address
    std::map<std::string, std::pair<WantedArray, Place>> arrays_;  // by name
};

// Opens a file for HDF5, through a driver that reads the File that is open already, and adds the bytes that HDF5 reads to `known`.
class RecordedFile {
public:
    // The caller holds hdf5::Quiet here and in the destructor. `file` and `known` outlive this.
    RecordedFile(const File& file, KnownMetadata& known);
    RecordedFile(const RecordedFile&) = delete;
    hid_t id() const { return id_; }
    // If a read of the file failed, throws its error again: it says more than HDF5's message.
    void rethrow() const {
        if (source_.failed) std::rethrow_exception(source_.failed);
    }

    struct Source {
        const File* file;
        KnownMetadata* known;
        uint64_t bytes = 0;
        std::exception_ptr failed = nullptr;
    };

private:
    Source source_;
    hdf5::Driver driver_;
    hdf5::FileId id_;
};

// For each number of a part in its step: the known metadata of the last part with this number that was read.
class KnownParts {
public:
    std::shared_ptr<const KnownMetadata> of(uint64_t part) const;
    void set(uint64_t part, std::shared_ptr<const KnownMetadata> known);

private:
    std::map<uint64_t, std::shared_ptr<const KnownMetadata>> known_;
};

}  // namespace tailrace
