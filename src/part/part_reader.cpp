#include "part/part_reader.hpp"

#include <memory>

#include "base/error.hpp"
#include "part/description.hpp"
#include "part/netcdf.hpp"

namespace tailrace {
namespace {

constexpr size_t kMostOpenParts = 64;
constexpr uint64_t kWindowBytes = 4u << 20;    // read at once where runs are short
constexpr uint64_t kShortGapBytes = 8192;      // read over: as cheap as a further call
constexpr uint64_t kLongGapBytes = 64u << 10;  // at most so many, and four times the run
constexpr uint64_t kSmallPieceBytes = 4096;    // shorter pieces of memory are filled by copying
constexpr size_t kMaxPieces = 512;             // of one vectored read

std::vector<uint64_t> read_numbers(hid_t object, const char* name) {
    const hdf5::AttributeId attribute = hdf5::open_attribute(object, name);
    std::vector<uint64_t> values(hdf5::attribute_elements(attribute, name));
    if (!hdf5::attribute_holds_integers(attribute, name)) fail(Status::CORRUPT, "attribute ", name, " holds no integers");
    if (!values.empty()) hdf5::read_attribute(attribute, H5T_NATIVE_UINT64, values.data(), name);
    return values;
}

// A run that is contiguous in the file, into pieces of memory.
void read_run(const File& file, uint64_t address, const BlockView& memory, uint64_t begin, uint64_t n) {
    std::vector<iovec> pieces;
    uint64_t bytes = 0;
    const auto read_gathered = [&] {
        file.read_at(address, pieces);
        address += bytes;
        bytes = 0;
        pieces.clear();
    };
    memory.for_pieces(begin, n, [&](const std::byte* to, uint64_t piece_bytes) {
        pieces.push_back({const_cast<std::byte*>(to), piece_bytes});
        bytes += piece_bytes;
        if (pieces.size() == kMaxPieces) read_gathered();
    });
    if (!pieces.empty()) read_gathered();
}

}  // namespace

PartReader::PartReader(const std::string& path)
    : file_(std::make_shared<File>(File::open_read(path))), bytes_(file_->size_bytes()) {
    const hdf5::Quiet quiet;
    metadata_ = hdf5::open_file(path);
}

PartReader& OpenParts::open(const std::string& path) {
    if (const auto found = parts_.find(path); found != parts_.end()) return *found->second;
    if (parts_.size() >= kMostOpenParts) parts_.clear();
    return *(parts_[path] = std::make_unique<PartReader>(path));
}

uint64_t PartReader::address_of(const Wanted& array, uint64_t step) const {
    const hdf5::Quiet quiet;
    const auto refuse = [&](const std::string& why) {
        fail(Status::CORRUPT, path(), ": array '", array.name, "' ", why, "; the part was changed after it was written");
    };
    if (!hdf5::has_link(metadata_, array.name)) refuse("is not there");
    const hdf5::Dataset dataset = hdf5::open_dataset(metadata_, array.name);
    if (!hdf5::dataset_has_type(dataset, stored_type(array.type), array.name)) refuse("has another type");
    const hdf5::Lengths lengths = hdf5::dataset_lengths(dataset, array.name);
    const size_t outer = array.varies ? 1 : 0;
    if (lengths.size() != array.shape.size() + outer ||
        !std::equal(array.shape.begin(), array.shape.end(), lengths.begin() + outer))
        refuse("has another shape");
    if (array.varies && step >= lengths[0]) refuse(text("has ", lengths[0], " steps, asked for is step ", step));
    const uint64_t bytes = volume(array.shape) * type_bytes(array.type);
    if (bytes == 0) return 0;
    uint64_t address;
    if (hdf5::dataset_is_chunked(dataset, array.name)) {
        hdf5::Lengths first(lengths.size(), 0);
        if (array.varies) first[0] = step;
        address = hdf5::chunk_address(dataset, first, array.name);  // the chunks of a step lie one behind the other
    } else {
        address = hdf5::contiguous_address(dataset);
        if (address != HADDR_UNDEF && array.varies) address += step * bytes;
    }
    if (address == HADDR_UNDEF) refuse("has no values");
    if (address > bytes_ || bytes > bytes_ - address) refuse("leaves the file: it was truncated");
    return address;
}

void read_box(const File& file, uint64_t address, const Extents& shape, const Box& box, const BlockView& memory) {
    const Runs runs(shape, box);
    const uint64_t element_bytes = memory.element_bytes(), run_bytes = runs.length() * element_bytes;
    const auto place = [&](uint64_t run) { return address + runs.begin(run) * element_bytes; };
    std::unique_ptr<std::byte[]> window;
    for (uint64_t run = 0; run < runs.count();) {
        // Runs with short gaps between them are read together.
        uint64_t last = run + 1;
        while (last < runs.count()) {
            const uint64_t gap = place(last) - place(last - 1) - run_bytes;
            if (gap > kShortGapBytes && gap > std::min(kLongGapBytes, 4 * run_bytes)) break;
            if (place(last) + run_bytes - place(run) > kWindowBytes) break;
            ++last;
        }
        const bool pieces_are_small = memory.piece_bytes() < kSmallPieceBytes;
        if (last - run == 1 && !pieces_are_small) {
            read_run(file, place(run), memory, run * runs.length(), runs.length());
        } else if (last - run == 1) {
            if (!window) window = std::make_unique_for_overwrite<std::byte[]>(kWindowBytes);
            const uint64_t at_once = kWindowBytes / element_bytes;
            for (uint64_t done = 0; done < runs.length(); done += at_once) {
                const uint64_t now = std::min(at_once, runs.length() - done);
                file.read_at(place(run) + done * element_bytes, window.get(), now * element_bytes);
                memory.copy_in(run * runs.length() + done, now, window.get());
            }
        } else {
            if (!window) window = std::make_unique_for_overwrite<std::byte[]>(kWindowBytes);
            file.read_at(place(run), window.get(), place(last - 1) + run_bytes - place(run));
            for (uint64_t r = run; r < last; ++r)
                memory.copy_in(r * runs.length(), runs.length(), window.get() + (place(r) - place(run)));
        }
        run = last;
    }
}

std::vector<PartReader::Block> PartReader::blocks() const {
    const hdf5::Quiet quiet;
    std::vector<Block> found;
    const auto visit = [&](const std::string& name) {
        const hdf5::Dataset dataset = hdf5::open_dataset(metadata_, name);
        if (!hdf5::has_attribute(dataset, kOffsetAttribute)) return;
        const std::vector<uint64_t> offset = read_numbers(dataset, kOffsetAttribute);
        const hdf5::Lengths lengths = hdf5::dataset_lengths(dataset, name);
        if (lengths.size() < offset.size() || lengths.size() > offset.size() + 1)
            fail(Status::CORRUPT, path(), ": array '", name, "' and its attribute ", kOffsetAttribute, " do not fit");
        found.push_back({name, {offset, Extents(lengths.end() - static_cast<long>(offset.size()), lengths.end())}});
    };
    hdf5::for_each_link(metadata_, visit, path());
    return found;
}

}  // namespace tailrace
