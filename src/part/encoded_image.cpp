#include "part/encoded_image.hpp"

#include <algorithm>

#include "format/chunk_index.hpp"
#include "format/global_heap.hpp"
#include "format/messages.hpp"
#include "format/object_header.hpp"
#include "format/types.hpp"
#include "part/conventions.hpp"
#include "part/source_list.hpp"

namespace tailrace {
namespace {

using format::Bytes;
using format::GlobalHeap;
using format::Message;
using format::ObjectHeader;

// Who looks for a link reads all of them: with so many, opening every array of a file takes about as long as with HDF5's tree.
constexpr size_t kMostObjects = 2048;
// A list of sources is read with the others of its collection, so it shares one only with small ones; lists of scales are read
// together.
constexpr uint64_t kSourceCollectionBytes = 4096, kScaleCollectionBytes = 65536;

std::span<const std::byte> bytes_of_text(const std::string& text) { return std::as_bytes(std::span(text)); }

template <class Value>
std::span<const std::byte> bytes_of_value(const Value& value) {
    return std::as_bytes(std::span(&value, 1));
}

// Everything is encoded in its order in the file, in one buffer: heaps, indexes of chunks, headers, the root's header. What names a
// later address is filled in at the end; after that checksums are set.
class Encoder {
public:
    explicit Encoder(const ImagePlan& plan)
        : plan_(plan), description_(plan.description), scales_(description_.dimensions.size() + plan.time_dimensions()),
          lists_(description_.arrays.size()), sources_(lists_.size()), layouts_(lists_.size()), addresses_(lists_.size()) {}

    std::optional<Image> encode() {
        if (description_.arrays.size() + description_.dimensions.size() > kMostObjects) return std::nullopt;
        out_.reserve(expected_bytes());
        list_scales();
        put_source_lists();
        put_chunk_indexes();
        put_objects();
        put_root();
        put_extension();
        if (!fits_) return std::nullopt;
        fill_in();
        return finish();
    }

private:
    struct Use {
        size_t array, dimension;  // as which of the array's dimensions
        uint64_t list = 0;        // where the reference to the scale is, in the metadata
    };
    struct Scale {
        uint64_t address = 0, uses_at = 0;
        std::vector<Use> uses;
    };
    struct ListPlace {
        uint64_t collection = 0;
        uint32_t number = 0;
    };

    // About as much as it will be, so that it is not moved while it grows.
    uint64_t expected_bytes() const {
        constexpr uint64_t kOfAnArray = 1024;
        uint64_t bytes = 16384;
        for (const Array& array : description_.arrays) bytes += kOfAnArray + kExpectedSourceBytes * array.sources.size();
        return bytes;
    }

    uint64_t address() const { return plan_.metadata_address + out_.size(); }
    void align() { out_.put_zeros((8 - out_.size() % 8) % 8); }

    void list_scales() {
        align();
        GlobalHeap heap(out_, kScaleCollectionBytes);
        constexpr uint64_t kNotYet = 0;
        for (size_t a = 0; a < lists_.size(); ++a) {
            const Array& array = description_.arrays[a];
            if (plan_.is_scale(array)) continue;
            const std::vector<size_t> dimensions = plan_.dimensions_of(array);
            for (size_t k = 0; k < dimensions.size(); ++k) {
                const GlobalHeap::Place place = heap.add(bytes_of_value(kNotYet));
                lists_[a].push_back({plan_.metadata_address + place.collection, place.number});
                scales_[dimensions[k]].uses.push_back({a, k, place.at});
            }
        }
        heap.end();
    }

    void put_source_lists() {
        align();
        GlobalHeap heap(out_, kSourceCollectionBytes);
        SourceListEncoder lists;
        for (size_t a = 0; a < sources_.size(); ++a) {
            const Array& array = description_.arrays[a];
            if (!std::ranges::any_of(array.sources, &Source::shows_elements)) continue;
            const std::span<const std::byte> list = lists.encode(array.name, array.sources);
            const GlobalHeap::Place place = heap.add(list);
            sources_[a] = {plan_.metadata_address + place.collection, place.number};
            summed_.push_back({place.at, place.at + list.size()});
        }
        heap.end();
    }

    // How an array is cut, and where its chunks are, step by step.
    struct Chunks {
        Extents chunk;
        std::optional<ChunkGrid> grid;  // of a step; a scalar has none
        std::vector<Extent> places;
        bool in_tree;  // with positions and sizes
    };

    std::optional<Chunks> chunks_of(size_t a) const {
        const Array& array = description_.arrays[a];
        if (array.packing) {
            Extents chunk = array.packing->grid.chunk();
            chunk.insert(chunk.begin(), 1);
            return Chunks{std::move(chunk), array.packing->grid, plan_.chunks.at(a), true};
        }
        if (!array.is_placed() || !plan_.is_chunked(array)) return std::nullopt;
        const Extents chunk = plan_.chunk(array), all = plan_.extents(array);
        std::vector<Extent> places = plan_.chunk_extents(a);
        const bool in_tree = description_.time_unlimited || places.empty();
        return Chunks{chunk, ChunkGrid::of({all.begin() + 1, all.end()}, {chunk.begin() + 1, chunk.end()}), std::move(places),
                      in_tree};
    }

    void put_chunk_indexes() {
        std::vector<std::optional<Chunks>> chunks;
        uint64_t most = 0;
        for (size_t a = 0; a < layouts_.size(); ++a) {
            chunks.push_back(chunks_of(a));
            if (chunks[a] && chunks[a]->in_tree) most = std::max<uint64_t>(most, chunks[a]->places.size());
        }
        if (most > 0) most_children_ = format::children_for(most);
        for (size_t a = 0; a < layouts_.size(); ++a) {
            align();
            if (chunks[a]) layouts_[a] = put_chunk_index(*chunks[a], type_bytes(description_.arrays[a].type));
        }
    }

    Bytes put_chunk_index(const Chunks& chunks, uint64_t element_bytes) {
        for (const Extent& place : chunks.places) raw_end_ = std::max(raw_end_, place.address + place.bytes);
        if (!chunks.in_tree)
            return format::fixed_array_layout(chunks.chunk, element_bytes,
                                              format::put_fixed_array(out_, plan_.metadata_address, chunks.places));
        std::vector<uint64_t> offsets;
        offsets.reserve(chunks.places.size() * chunks.chunk.size());
        const uint64_t a_step = chunks.grid ? chunks.grid->count() : 1;
        for (uint64_t k = 0; k < chunks.places.size(); ++k) {
            const Extents offset = chunks.grid ? chunks.grid->offset(k / a_step, k % a_step) : Extents{k};
            offsets.insert(offsets.end(), offset.begin(), offset.end());
        }
        const uint64_t root = format::put_chunk_tree(out_, plan_.metadata_address, chunks.places, offsets, chunks.chunk,
                                                     element_bytes, most_children_);
        return format::chunk_tree_layout(chunks.chunk, element_bytes, root);
    }

    void put_objects() {
        for (size_t a = 0; a < description_.arrays.size(); ++a)
            if (plan_.is_scale(description_.arrays[a])) put_array(a);
        for (const size_t d : plan_.dimensions_without_array()) put_scale_without_array(d);
        for (size_t a = 0; a < description_.arrays.size(); ++a)
            if (!plan_.is_scale(description_.arrays[a])) put_array(a);
    }

    void begin_object(const std::string& name) {
        align();
        links_.push_back(format::link(name, links_.size(), address()));
    }

    void end_object(ObjectHeader& header) {
        summed_.push_back(header.end());
        fits_ = fits_ && header.fits();
    }

    void put_array(size_t a) {
        const Array& array = description_.arrays[a];
        begin_object(array.name);
        addresses_[a] = address();
        ObjectHeader header(out_);
        put_storage(header, a);
        for (const Attribute& attribute : plan_.attributes(array)) put_attribute(header, attribute);
        if (plan_.is_scale(array))
            put_scale_attributes(header, plan_.dimension_of_scale(array), array.name);
        else if (!lists_[a].empty())
            put_list_of_scales(header, lists_[a]);
        end_object(header);
    }

    void put_storage(ObjectHeader& header, size_t a) const {
        using format::Allocation, format::FillTime;
        const Array& array = description_.arrays[a];
        const Extents lengths = plan_.extents(array);
        Extents most = lengths;
        const bool is_chunked = !array.is_virtual() && plan_.is_chunked(array);
        if (is_chunked && description_.time_unlimited) most[0] = format::kUnlimited;
        header.add(Message::dataspace, format::simple_space(lengths, most));
        header.add(Message::datatype, format::type_of(array.type), true);
        const auto add_fill = [&](Allocation allocation, FillTime time) {
            header.add(Message::fill_value, format::fill_value(allocation, time, fill_of(array)), true);
        };
        const uint64_t bytes = volume(lengths) * type_bytes(array.type);
        if (array.is_virtual()) {
            add_fill(Allocation::late, FillTime::if_set);
            header.add(Message::layout, sources_[a].number > 0 ? format::virtual_layout(sources_[a].collection, sources_[a].number)
                                                               : format::contiguous_layout(format::kUndefined, bytes));
        } else if (array.packing) {
            // Steps that are laid out and not there yet have no chunks: they read as fill values.
            add_fill(Allocation::incremental, FillTime::if_set);
            header.add(Message::layout, layouts_[a]);
            put_filters(header, array.packing->filters);
        } else if (is_chunked) {
            add_fill(description_.time_unlimited ? Allocation::early : Allocation::late, FillTime::never);
            header.add(Message::layout, layouts_[a]);
        } else {
            add_fill(Allocation::early, FillTime::never);
            header.add(Message::layout, format::contiguous_layout(bytes > 0 ? plan_.address(a) : format::kUndefined, bytes), true);
        }
    }

    static void put_filters(ObjectHeader& header, const Filters& filters) {
        constexpr uint16_t kShuffle = 2, kDeflate = 1;
        std::vector<format::Filter> pipeline;
        if (filters.shuffled_bytes > 1) pipeline.push_back({kShuffle, "", {static_cast<uint32_t>(filters.shuffled_bytes)}});
        const auto level = static_cast<uint32_t>(filters.compression.level);
        switch (filters.compression.kind) {
            case Compression::Kind::none: break;
            case Compression::Kind::deflate: pipeline.push_back({kDeflate, "", {level}}); break;
            case Compression::Kind::zstd: pipeline.push_back({kZstdFilter, kZstdName, {level}}); break;
        }
        header.add(Message::filters, format::filter_pipeline(pipeline), true);
    }

    static void put_attribute(ObjectHeader& header, const Attribute& attribute) {
        if (attribute.is_text()) {
            const auto bytes = static_cast<uint32_t>(attribute.values.size());
            header.add_attribute(attribute.name,
                                 format::text_type(std::max(bytes, 1u), format::TextEnd::padding, format::Encoding::utf8),
                                 bytes > 0 ? format::scalar_space() : format::empty_space(), attribute.values);
        } else {
            const uint64_t lengths[] = {attribute.count};
            header.add_attribute(attribute.name, format::type_of(attribute.type),
                                 attribute.count > 0 ? format::simple_space(lengths) : format::empty_space(), attribute.values);
        }
    }

    // As HDF5's own H5DSset_scale writes it: ASCII, with the terminator.
    static void put_text(ObjectHeader& header, const char* name, std::string value) {
        value.push_back('\0');
        const Bytes type =
            format::text_type(static_cast<uint32_t>(value.size()), format::TextEnd::terminator, format::Encoding::ascii);
        header.add_attribute(name, type, format::scalar_space(), bytes_of_text(value));
    }

    void put_scale_attributes(ObjectHeader& header, size_t dimension, const std::string& scale_name) {
        put_text(header, kScaleClassAttribute, kScaleClass);
        put_text(header, kScaleNameAttribute, scale_name);
        const auto number = static_cast<int32_t>(dimension);
        header.add_attribute(kDimensionAttribute, format::type_of(Type::I32), format::scalar_space(), bytes_of_value(number));
        Scale& scale = scales_[dimension];
        scale.address = plan_.metadata_address + header.begin();
        if (scale.uses.empty()) return;
        const uint64_t count[] = {scale.uses.size()};
        const std::vector<std::byte> not_yet(scale.uses.size() * format::kUseBytes);
        scale.uses_at = header.add_attribute(kUsesAttribute, format::uses_type(), format::simple_space(count), not_yet);
    }

    void put_scale_without_array(size_t d) {
        const Dimension& dimension = description_.dimensions[d];
        begin_object(dimension.name);
        ObjectHeader header(out_);
        const uint64_t lengths[] = {dimension.length};
        header.add(Message::dataspace, format::simple_space(lengths));
        header.add(Message::datatype, format::big_endian_float(), true);
        header.add(Message::fill_value, format::fill_value(format::Allocation::late, format::FillTime::if_set, {}), true);
        header.add(Message::layout, format::contiguous_layout(format::kUndefined, 4 * dimension.length));
        put_scale_attributes(header, d + plan_.time_dimensions(), scale_name_without_array(dimension.length));
        end_object(header);
    }

    static void put_list_of_scales(ObjectHeader& header, const std::vector<ListPlace>& lists) {
        Bytes values;
        for (const ListPlace& list : lists) {
            values.put(uint32_t{1});  // element
            values.put(list.collection);
            values.put(list.number);
        }
        const uint64_t count[] = {lists.size()};
        header.add_attribute(kScalesAttribute, format::lists_type(), format::simple_space(count), values.all());
    }

    void put_extension() {
        if (most_children_ == format::kMostChildren) return;
        align();
        extension_ = address();
        ObjectHeader header(out_);
        header.add(Message::tree_widths, format::tree_widths(most_children_));
        end_object(header);
    }

    void put_root() {
        align();
        root_ = address();
        ObjectHeader header(out_);
        header.add(Message::link_info, format::link_info(links_.size()));
        header.add(Message::group_info, format::group_info(), true);
        for (const Attribute& attribute : description_.attributes) put_attribute(header, attribute);
        for (const Bytes& link : links_) header.add(Message::link, link);
        end_object(header);
    }

    void fill_in() {
        for (const Scale& scale : scales_) {
            uint64_t at = scale.uses_at;
            for (const Use& use : scale.uses) {
                out_.set(use.list, scale.address);
                out_.set(at, addresses_[use.array]);
                out_.set(at + 8, static_cast<int32_t>(use.dimension));
                at += format::kUseBytes;
            }
        }
        out_.set_checksums(summed_);
    }

    Image finish() {
        Image image;
        image.metadata_address = plan_.metadata_address;
        image.file_bytes = std::max({address(), plan_.reserved_end, raw_end_});
        image.metadata = out_.take();
        image.superblock = format::superblock(root_, extension_, image.file_bytes).take();
        return image;
    }

    const ImagePlan& plan_;
    const Description& description_;
    Bytes out_;  // from the metadata's address on
    bool fits_ = true;
    uint64_t raw_end_ = 0, root_ = 0, extension_ = format::kUndefined;
    uint64_t most_children_ = format::kMostChildren;
    std::vector<Scale> scales_;                  // by the number of the dimension
    std::vector<std::vector<ListPlace>> lists_;  // of each array: for each of its dimensions, the list of scales
    std::vector<ListPlace> sources_;             // of each array that is virtual; number 0: it shows nothing
    std::vector<Bytes> layouts_;                 // of each array that has chunks
    std::vector<uint64_t> addresses_;            // of each array's header
    std::vector<Bytes> links_;
    std::vector<Bytes::Range> summed_;  // what has a checksum at its end
};

}  // namespace

std::optional<Image> encoded_image(const ImagePlan& plan) { return Encoder(plan).encode(); }

}  // namespace tailrace
