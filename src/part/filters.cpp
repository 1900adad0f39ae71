#include "part/filters.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace tailrace {
namespace {

// The function of a registered filter. HDF5 never calls it: the chunks are compressed before HDF5 sees them.
size_t pass_nothing(unsigned, size_t, const unsigned*, size_t, size_t*, void**) { return 0; }

}  // namespace

KnownFilters::KnownFilters(const Description& description) {
    const auto named = [](const Array& array) {
        return array.packing && array.packing->filters.compression.kind == Compression::Kind::zstd;
    };
    registered_ = std::ranges::any_of(description.arrays, named) && !hdf5::filter_is_known(kZstdFilter);
    if (registered_) hdf5::register_filter({H5Z_CLASS_T_VERS, kZstdFilter, 1, 1, kZstdName, nullptr, nullptr, pass_nothing});
}

KnownFilters::~KnownFilters() {
    if (registered_) hdf5::unregister_filter(kZstdFilter);
}

void set_filters(hid_t creation, const Filters& filters) {
    if (filters.shuffled_bytes > 1) hdf5::set_shuffle(creation);
    const auto level = static_cast<unsigned>(filters.compression.level);
    switch (filters.compression.kind) {
        case Compression::Kind::none: break;
        case Compression::Kind::deflate: hdf5::set_deflate(creation, level); break;
        case Compression::Kind::zstd: hdf5::set_filter(creation, kZstdFilter, level); break;
    }
}

Filters read_filters(hid_t creation, uint64_t bytes, const std::string& name) {
    Filters filters;
    const unsigned count = hdf5::filter_count(creation, name);
    for (unsigned i = 0; i < count; ++i) {
        const auto [filter, value] = hdf5::filter_at(creation, i, name);
        const bool last = i + 1 == count;
        if (filter == H5Z_FILTER_SHUFFLE && i == 0)
            filters.shuffled_bytes = bytes;
        else if (filter == H5Z_FILTER_DEFLATE && last)
            filters.compression = {Compression::Kind::deflate, value};
        else if (filter == kZstdFilter && last)
            filters.compression = {Compression::Kind::zstd, value};
        else
            fail(Status::UNSUPPORTED, "array '", name, "' is stored with HDF5's filter ", filter,
                 ", which Tailrace cannot undo; it writes shuffle, deflate and zstd (", kZstdFilter, ")");
    }
    return filters;
}

}  // namespace tailrace
