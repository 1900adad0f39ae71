#include "part/part_reader.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "part/description.hpp"
#include "part/filters.hpp"
#include "part/netcdf.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kWindowBytes = 4u << 20;    // bytes that are read at once if spans are short
constexpr uint64_t kShortGapBytes = 8192;      // shorter gaps are read, too: this is as cheap as another call
constexpr uint64_t kLongGapBytes = 64u << 10;  // gaps up to four times the span are read, but none longer than this
constexpr uint64_t kCopiedSpanBytes = 4096;    // shorter spans of memory are filled by copying
constexpr size_t kReadBuffers = 512;           // of one vectored read

std::vector<uint64_t> read_numbers(hid_t object, const char* name) {
    const hdf5::AttributeId attribute = hdf5::open_attribute(object, name);
    const uint64_t count = hdf5::attribute_elements(attribute, name);
    if (!hdf5::attribute_holds_integers(attribute, name) || count > kMaxDims)
        fail(Status::CORRUPT, "attribute ", name, " holds ", count, " elements, not an integer for each of up to ", kMaxDims,
             " dimensions");
    std::vector<uint64_t> values(count);
    if (!values.empty()) hdf5::read_attribute(attribute, H5T_NATIVE_UINT64, values.data(), name);
    return values;
}

// How many parts OpenParts keeps open. A part takes two file descriptors. A process has several readers and files of its own, so
// one reader uses only a small fraction of the descriptors that the process may have.
size_t most_open_parts() {
    constexpr rlim_t kMost = 64, kShare = 32;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    return static_cast<size_t>(std::clamp<rlim_t>(limit.rlim_cur / kShare, 1, kMost));
}

// Reads bytes that are contiguous in the file into spans of memory.
void read_span(const File& file, uint64_t address, const BlockView& memory, uint64_t begin, uint64_t n) {
    std::vector<iovec> buffers;
    uint64_t bytes = 0;
    const auto read_gathered = [&] {
        file.read_stable_at(address, buffers);
        address += bytes;
        bytes = 0;
        buffers.clear();
    };
    memory.for_spans(begin, n, [&](const std::byte* to, uint64_t span_bytes) {
        buffers.push_back({const_cast<std::byte*>(to), span_bytes});
        bytes += span_bytes;
        if (buffers.size() == kReadBuffers) read_gathered();
    });
    if (!buffers.empty()) read_gathered();
}

}  // namespace

PartReader::PartReader(const std::string& path)
    : file_(std::make_shared<File>(File::open_read(path))), bytes_(file_->size_bytes()), superblock_(superblock_of(*file_)) {
    const hdf5::Quiet quiet;
    metadata_ = hdf5::open_file(path);
}

PartReader::PartReader(const std::string& path, uint64_t part, std::shared_ptr<KnownParts> known)
    : file_(std::make_shared<File>(File::open_read(path))), bytes_(file_->size_bytes()), superblock_(superblock_of(*file_)),
      part_(part), known_parts_(std::move(known)), known_(known_parts_->of(part)) {
    if (known_ && known_->is_of(*file_)) return;
    known_.reset();
    const hdf5::Quiet quiet;
    open_recorded();
}

// The caller holds Quiet.
void PartReader::open_recorded() const {
    if (!known_parts_ || recorded_file_) return;
    recorded_ = known_ ? std::make_unique<KnownMetadata>(*known_) : std::make_unique<KnownMetadata>(bytes_);
    recorded_file_ = std::make_unique<RecordedFile>(*file_, *recorded_);
}

PartReader::Superblock PartReader::superblock_of(const File& file) {
    Superblock superblock{};
    if (file.size_bytes() >= superblock.size()) file.read_at(0, superblock.data(), superblock.size());
    return superblock;
}

bool PartReader::is_current() const noexcept {
    try {
        return superblock_of(*file_) == superblock_;
    } catch (const Error&) {
        return false;
    }
}

PartReader::~PartReader() {
    const hdf5::Quiet quiet;
    metadata_ = hdf5::FileId();
    recorded_file_.reset();
}

std::optional<std::string> root_text(const std::string& path, const std::string& name) {
    const hdf5::Quiet quiet;
    try {
        const hdf5::FileId file = hdf5::open_file(path);
        if (!hdf5::has_attribute(file, name)) return std::nullopt;
        return hdf5::attribute_text(hdf5::open_attribute(file, name), name);
    } catch (const Error& error) {
        if (error.status() != Status::CORRUPT) throw;
        return std::nullopt;
    }
}

template <class Open>
PartReader& OpenParts::find_or_open(const std::string& path, Open&& open) {
    if (const auto found = parts_.find(path); found != parts_.end()) return *found->second;
    if (parts_.size() >= most_open_parts()) parts_.clear();
    return *(parts_[path] = open());
}

PartReader& OpenParts::open(const std::string& path) {
    return find_or_open(path, [&] { return std::make_unique<PartReader>(path); });
}

PartReader& OpenParts::open(const std::string& path, uint64_t part) {
    return find_or_open(path, [&] { return std::make_unique<PartReader>(path, part, known_); });
}

void PartReader::refuse(const std::string& array, const std::string& why) const {
    fail(Status::CORRUPT, path(), ": array '", array, "' ", why, "; the part was changed after it was written");
}

uint64_t PartReader::steps_of(const std::string& array) const {
    const hdf5::Quiet quiet;
    open_recorded();
    const hdf5::Lengths lengths = hdf5::dataset_lengths(hdf5::open_dataset(metadata(), array), array);
    return lengths.empty() ? 0 : lengths[0];
}

StoredArray PartReader::find(const Wanted& array, uint64_t step, const Box& box) const {
    if (is_known()) {
        if (const auto place = known_->find(array)) {
            StoredArray stored{file_, array.name, type_bytes(array.type), array.shape};
            stored.address = address_of_step(array, *place, step);
            return stored;
        }
    }
    const hdf5::Quiet quiet;
    open_recorded();
    try {
        return find_by_hdf5(array, step, box);
    } catch (const Error&) {
        if (recorded_file_) recorded_file_->rethrow();
        throw;
    }
}

uint64_t PartReader::address_of_step(const Wanted& array, const KnownMetadata::Place& place, uint64_t step) const {
    const auto refuse = [&](const std::string& why) { this->refuse(array.name, why); };
    const uint64_t bytes = volume(array.shape) * type_bytes(array.type);
    if (array.varies && step >= place.steps) refuse(text("has ", place.steps, " steps and no step ", step));
    if (place.address == HADDR_UNDEF) refuse("has no values");
    uint64_t before = 0, address = 0;
    if (array.varies && __builtin_mul_overflow(step, bytes, &before)) refuse("ends behind the file's end");
    if (__builtin_add_overflow(place.address, before, &address)) refuse("ends behind the file's end");
    if (address > bytes_ || bytes > bytes_ - address) refuse("ends behind the file's end: the file was truncated");
    return address;
}

// The caller holds Quiet.
StoredArray PartReader::find_by_hdf5(const Wanted& array, uint64_t step, const Box& box) const {
    const auto refuse = [&](const std::string& why) { this->refuse(array.name, why); };
    if (!hdf5::has_link(metadata(), array.name)) refuse("is not there");
    const hdf5::Dataset dataset = hdf5::open_dataset(metadata(), array.name);
    if (!hdf5::dataset_has_type(dataset, stored_type(array.type), array.name)) refuse("has another type");
    const hdf5::Lengths lengths = hdf5::dataset_lengths(dataset, array.name);
    const size_t outer = array.varies ? 1 : 0;
    if (lengths.size() != array.shape.size() + outer ||
        !std::equal(array.shape.begin(), array.shape.end(), lengths.begin() + outer))
        refuse("has another shape");
    if (array.varies && step >= lengths[0]) refuse(text("has ", lengths[0], " steps and no step ", step));
    StoredArray stored{file_, array.name, type_bytes(array.type), array.shape};
    const uint64_t bytes = volume(array.shape) * stored.element_bytes;
    if (bytes == 0) return stored;
    const hdf5::Properties creation = hdf5::dataset_creation(dataset, array.name);
    if (hdf5::is_chunked(creation, array.name)) {
        if (hdf5::filter_count(creation, array.name) > 0) {
            if (!array.varies) refuse("is compressed and has no steps");
            find_chunks(dataset, creation, step, box, stored);
            return stored;
        }
        hdf5::Lengths first(lengths.size(), 0);
        if (array.varies) first[0] = step;
        // The chunks of a step are contiguous.
        stored.address = find_chunk(dataset, first, array.name).address;
    } else {
        const KnownMetadata::Place place{hdf5::contiguous_address(dataset), array.varies ? lengths[0] : 1};
        stored.address = address_of_step(array, place, step);
        if (recorded_ && !recorded_->find(array)) {
            recorded_->add_array(array, place);
            known_parts_->set(part_, std::make_shared<KnownMetadata>(*recorded_));
        }
        return stored;
    }
    if (stored.address == HADDR_UNDEF) refuse("has no values");
    if (stored.address > bytes_ || bytes > bytes_ - stored.address) refuse("ends behind the file's end: the file was truncated");
    return stored;
}

hdf5::Chunk PartReader::find_chunk(hid_t dataset, const hdf5::Lengths& offset, const std::string& name) const {
    auto tree = trees_.find(name);
    if (tree == trees_.end()) tree = trees_.emplace(name, format::ChunkTree::of(file_, hdf5::object_address(dataset))).first;
    if (!tree->second) return hdf5::find_chunk(dataset, offset, name);
    const Shape first(offset.begin(), offset.end());
    const auto found = tree->second->find(first);
    return found ? hdf5::Chunk{found->skipped_filters, found->place.address, found->place.bytes} : hdf5::Chunk{};
}

void PartReader::find_chunks(hid_t dataset, hid_t creation, uint64_t step, const Box& box, StoredArray& stored) const {
    const hdf5::Lengths chunk = hdf5::chunk_lengths(creation, stored.shape.size() + 1, stored.name);
    const auto grid = ChunkGrid::of(stored.shape, {chunk.begin() + 1, chunk.end()});
    if (!grid || chunk[0] != 1) refuse(stored.name, "has chunks of a shape that Tailrace does not write");
    stored.packing = {*grid, read_filters(creation, stored.element_bytes, stored.name)};
    const Spans spans(stored.shape, box);
    if (spans.count() == 0) return;
    const uint64_t most = 2 * grid->whole() * stored.element_bytes + (64u << 10);  // no codec stores a chunk in more
    stored.first_chunk = grid->at(spans.begin(0));
    const uint64_t last = grid->at(spans.begin(spans.count() - 1) + spans.length() - 1);
    for (uint64_t c = stored.first_chunk; c <= last; ++c) {
        const hdf5::Chunk found = find_chunk(dataset, hdf5::lengths_of(grid->offset(step, c)), stored.name);
        if (found.address == HADDR_UNDEF) refuse(stored.name, "has no values");
        if (found.address > bytes_ || found.bytes > bytes_ - found.address)
            refuse(stored.name, "ends behind the file's end: the file was truncated");
        if (found.bytes > most) refuse(stored.name, text("has a chunk of ", found.bytes, " bytes"));
        if (found.skipped_filters != 0) refuse(stored.name, "has a chunk without its filters");
        stored.chunks.push_back({found.address, found.bytes});
    }
}

namespace {

void read_packed(const StoredArray& array, const Box& box, const BlockView& memory) {
    const ChunkGrid& grid = array.packing->grid;
    const Spans spans(array.shape, box);
    Codec codec;
    std::vector<std::byte> stored, chunk(grid.whole() * array.element_bytes);
    for (uint64_t c = array.first_chunk; c < array.first_chunk + array.chunks.size(); ++c) {
        const uint64_t begin = grid.begin(c), end = grid.begin(c + 1);
        const auto [first, last] = spans.touching(begin, end);
        if (first == last) continue;
        const Extent& place = array.chunks[c - array.first_chunk];
        stored.resize(place.bytes);
        array.file->read_stable_at(place.address, stored.data(), stored.size());
        if (!codec.decode(array.packing->filters, stored, chunk))
            fail(Status::CORRUPT, array.file->path(), ": array '", array.name, "': the ", place.bytes, " bytes at ", place.address,
                 " are not those of a chunk; the part was changed after it was written");
        for (uint64_t span = first; span < last; ++span) {
            const uint64_t from = std::max(spans.begin(span), begin), to = std::min(spans.begin(span) + spans.length(), end);
            memory.copy_in(span * spans.length() + (from - spans.begin(span)), to - from,
                           chunk.data() + (from - begin) * array.element_bytes);
        }
    }
}

// Calls use(bytes) with bytes of a file, which are mapped from the page cache if possible, or else read into the window.
template <class Use>
void with_bytes(const File& file, uint64_t address, uint64_t bytes, std::unique_ptr<std::byte[]>& window, Use&& use) {
    if (const auto cached = file.cached(address, bytes)) {
        use(cached->data());
        if (cached->are_still_there()) return;
    }
    if (!window) window = std::make_unique_for_overwrite<std::byte[]>(kWindowBytes);
    file.read_at(address, window.get(), bytes);
    use(window.get());
}

void read_placed(const StoredArray& array, const Box& box, const BlockView& memory) {
    const File& file = *array.file;
    const Spans spans(array.shape, box);
    const uint64_t element_bytes = array.element_bytes, span_bytes = spans.length() * element_bytes;
    const auto place = [&](uint64_t span) { return array.address + spans.begin(span) * element_bytes; };
    std::unique_ptr<std::byte[]> window;
    for (uint64_t span = 0; span < spans.count();) {
        // Spans with short gaps between them are read together.
        uint64_t last = span + 1;
        while (last < spans.count()) {
            const uint64_t gap = place(last) - place(last - 1) - span_bytes;
            if (gap > kShortGapBytes && gap > std::min(kLongGapBytes, 4 * span_bytes)) break;
            if (place(last) + span_bytes - place(span) > kWindowBytes) break;
            ++last;
        }
        const bool spans_are_small = memory.span_bytes() < kCopiedSpanBytes;
        if (last - span == 1 && !spans_are_small) {
            read_span(file, place(span), memory, span * spans.length(), spans.length());
        } else if (last - span == 1) {
            const uint64_t at_once = kWindowBytes / element_bytes;
            for (uint64_t done = 0; done < spans.length(); done += at_once) {
                const uint64_t now = std::min(at_once, spans.length() - done);
                with_bytes(file, place(span) + done * element_bytes, now * element_bytes, window,
                           [&](const std::byte* bytes) { memory.copy_in(span * spans.length() + done, now, bytes); });
            }
        } else {
            with_bytes(file, place(span), place(last - 1) + span_bytes - place(span), window, [&](const std::byte* bytes) {
                for (uint64_t s = span; s < last; ++s)
                    memory.copy_in(s * spans.length(), spans.length(), bytes + (place(s) - place(span)));
            });
        }
        span = last;
    }
}

}  // namespace

void read_box(const StoredArray& array, const Box& box, const BlockView& memory) {
    array.packing ? read_packed(array, box, memory) : read_placed(array, box, memory);
}

std::vector<PartReader::Block> PartReader::blocks() const {
    const hdf5::Quiet quiet;
    open_recorded();
    std::vector<Block> found;
    const auto visit = [&](const std::string& name) {
        const hdf5::Dataset dataset = hdf5::open_dataset(metadata(), name);
        if (!hdf5::has_attribute(dataset, kOffsetAttribute)) return;
        const std::vector<uint64_t> offset = read_numbers(dataset, kOffsetAttribute);
        const hdf5::Lengths lengths = hdf5::dataset_lengths(dataset, name);
        if (lengths.size() < offset.size() || lengths.size() > offset.size() + 1 || offset.size() > kMaxDims)
            fail(Status::CORRUPT, path(), ": array '", name, "' and its attribute ", kOffsetAttribute, " do not fit");
        const auto inner = lengths.end() - static_cast<long>(offset.size());  // without the time
        found.push_back({name, {Shape(offset.begin(), offset.end()), Shape(inner, lengths.end())}});
    };
    hdf5::for_each_link(metadata(), visit, path());
    return found;
}

}  // namespace tailrace
