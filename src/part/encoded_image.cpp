#include "part/encoded_image.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "format/global_heap.hpp"
#include "format/messages.hpp"
#include "format/object_header.hpp"
#include "format/types.hpp"
#include "part/conventions.hpp"
#include "part/encoded_chunks.hpp"
#include "part/header_messages.hpp"
#include "part/source_list.hpp"

namespace tailrace {
namespace {

using format::Bytes;
using format::GlobalHeap;
using format::Message;
using format::ObjectHeader;

// The most objects of an encoded file. Readers compare a name with the names of all links, one by one: for more objects, the tree
// that HDF5 makes is faster.
constexpr size_t kMostObjects = 16384;
// The list of the arrays that use a dimension is an attribute of at most 64 KiB. A longer one is left out: it serves to detach a
// dimension, and readers do not need it.
constexpr size_t kMostUses = (format::kMostMessageBytes - 256) / format::kUseBytes;
// A reader of one list of sources reads its whole collection, so large lists have collections of their own. Lists of scales are
// read together.
constexpr uint64_t kSourceCollectionBytes = 4096, kScaleCollectionBytes = 65536;

template <class Value>
std::span<const std::byte> bytes_of_value(const Value& value) {
    return std::as_bytes(std::span(&value, 1));
}

// Everything is encoded in one buffer, in its order in the file: heaps, indexes of chunks, headers, the root's header. References
// to later addresses are filled in at the end; then checksums are set.
class Encoder {
public:
    explicit Encoder(const ImagePlan& plan)
        : plan_(plan), description_(plan.description), scales_(description_.dimensions.size() + plan.time_dimensions()),
          lists_(description_.arrays.size()), sources_(lists_.size()), addresses_(lists_.size()) {}

    std::optional<Image> encode() {
        if (description_.arrays.size() + description_.dimensions.size() > kMostObjects) return std::nullopt;
        out_.reserve(expected_bytes());
        list_scales();
        put_source_lists();
        put_texts();
        chunks_ = put_chunk_indexes(out_, plan_);
        put_objects();
        put_root();
        put_extension();
        if (!fits_) return std::nullopt;
        fill_in();
        return finish();
    }

    std::optional<EncodedHead> encode_head(uint64_t most_children) {
        if (description_.arrays.size() + description_.dimensions.size() > kMostObjects) return std::nullopt;
        out_.reserve(expected_bytes());
        list_scales();
        put_texts();
        chunks_ = indexes_without_chunks(plan_, most_children);
        put_objects();
        put_root();
        put_extension();
        if (!fits_) return std::nullopt;
        fill_in();
        head_.root = root_;
        head_.extension = extension_;
        head_.summed = std::move(summed_);
        head_.bytes = std::move(out_);
        return std::move(head_);
    }

private:
    struct Use {
        size_t array, dimension;  // the array that uses the scale, and which of its dimensions
        uint64_t list = 0;        // position of the reference to the scale in the metadata
    };
    struct Scale {
        uint64_t address = 0, uses_at = 0;
        std::vector<Use> uses;
    };
    static constexpr size_t kOfTheFile = SIZE_MAX;  // in the place of an array's number
    struct ListPlace {
        uint64_t collection = 0;
        uint32_t number = 0;
    };

    // An estimate of the bytes to encode: with enough memory reserved, the buffer is not moved while it grows.
    uint64_t expected_bytes() const {
        constexpr uint64_t kOfAnArray = 1024;
        uint64_t bytes = 16384;
        for (const Array& array : description_.arrays) bytes += kOfAnArray + kExpectedSourceBytes * array.sources.size();
        return bytes;
    }

    uint64_t address() const { return plan_.metadata_address + out_.size(); }

    void list_scales() {
        align(out_);
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
        align(out_);
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

    // Appends the characters of attributes that are lists of texts.
    void put_texts() {
        align(out_);
        GlobalHeap heap(out_, kScaleCollectionBytes);
        const auto put_of = [&](size_t owner, const std::vector<Attribute>& attributes) {
            for (const Attribute& attribute : attributes) {
                if (!attribute.is_list) continue;
                std::vector<ListPlace>& places = texts_[{owner, attribute.name}];
                for (const std::string_view text : texts_of(attribute)) {
                    const GlobalHeap::Place place = heap.add(std::as_bytes(std::span(text)));
                    places.push_back({plan_.metadata_address + place.collection, place.number});
                }
            }
        };
        for (size_t a = 0; a < description_.arrays.size(); ++a) put_of(a, description_.arrays[a].attributes);
        put_of(kOfTheFile, description_.attributes);
        heap.end();
    }

    void put_attributes(ObjectHeader& header, size_t owner, const std::vector<Attribute>& attributes) {
        for (const Attribute& attribute : attributes)
            attribute.is_list ? put_list_of_texts(header, attribute, texts_.at({owner, attribute.name}))
                              : put_attribute(header, attribute);
    }

    void put_list_of_texts(ObjectHeader& header, const Attribute& attribute, const std::vector<ListPlace>& places) {
        const std::vector<std::string_view> texts = texts_of(attribute);
        Bytes values;
        for (size_t k = 0; k < texts.size(); ++k) {
            values.put(static_cast<uint32_t>(texts[k].size()));
            values.put(places[k].collection);
            values.put(places[k].number);
        }
        const uint64_t count[] = {texts.size()};
        const uint64_t at = header.add_attribute(attribute.name, format::texts_type(), format::simple_space(count), values.all());
        for (size_t k = 0; k < texts.size(); ++k) head_.addresses.push_back(at + k * format::kListBytes + sizeof(uint32_t));
    }

    void put_objects() {
        for (size_t a = 0; a < description_.arrays.size(); ++a)
            if (plan_.is_scale(description_.arrays[a])) put_array(a);
        for (const size_t d : plan_.dimensions_without_array()) put_scale_without_array(d);
        for (size_t a = 0; a < description_.arrays.size(); ++a)
            if (!plan_.is_scale(description_.arrays[a])) put_array(a);
    }

    void begin_object(const std::string& name) {
        align(out_);
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
        put_attributes(header, a, plan_.attributes(array));
        if (plan_.is_scale(array))
            put_scale_attributes(header, plan_.dimension_of_scale(array), array.name);
        else if (!lists_[a].empty())
            put_list_of_scales(header, lists_[a]);
        end_object(header);
    }

    // Records the positions of what changes with the number of steps. `space_at`, `layout_at`: positions of the messages' bodies.
    void note_growth(size_t a, uint64_t space_at, uint64_t layout_at) {
        head_.step_counts.push_back(space_at + format::kFirstLengthAt);
        head_.trees.push_back({a, layout_at + format::kTreeAddressAt});
    }

    void put_storage(ObjectHeader& header, size_t a) {
        using format::Allocation, format::FillTime;
        const Array& array = description_.arrays[a];
        const Shape lengths = plan_.stored_shape(array);
        Shape most = lengths;
        const bool is_chunked = !array.is_virtual() && plan_.is_chunked(array);
        if (plan_.may_grow(array)) most[0] = format::kUnlimited;
        const uint64_t space_at = header.add(Message::dataspace, format::simple_space(lengths, most));
        header.add(Message::datatype, format::type_of(array.type), true);
        const auto add_fill = [&](Allocation allocation, FillTime time) {
            header.add(Message::fill_value, format::fill_value(allocation, time, value_of_missing(array)), true);
        };
        const uint64_t bytes = volume(lengths) * type_bytes(array.type);
        if (array.is_virtual()) {
            add_fill(Allocation::late, FillTime::if_set);
            header.add(Message::layout, sources_[a].number > 0 ? format::virtual_layout(sources_[a].collection, sources_[a].number)
                                                               : format::contiguous_layout(format::kUndefined, bytes));
        } else if (array.packing) {
            // Steps that are laid out but not written have no chunks: readers get fill values for them.
            add_fill(Allocation::incremental, FillTime::if_set);
            note_growth(a, space_at, header.add(Message::layout, chunks_.layouts[a]));
            put_filters(header, array.packing->filters);
        } else if (is_chunked) {
            add_fill(description_.time_unlimited ? Allocation::early : Allocation::late, FillTime::never);
            note_growth(a, space_at, header.add(Message::layout, chunks_.layouts[a]));
        } else {
            add_fill(Allocation::early, FillTime::never);
            header.add(Message::layout, format::contiguous_layout(bytes > 0 ? plan_.address(a) : format::kUndefined, bytes), true);
        }
    }

    void put_scale_attributes(ObjectHeader& header, size_t dimension, const std::string& scale_name) {
        put_scale_text(header, kScaleClassAttribute, kScaleClass);
        put_scale_text(header, kScaleNameAttribute, scale_name);
        const auto number = static_cast<int32_t>(dimension);
        header.add_attribute(kDimensionAttribute, format::type_of(Type::I32), format::scalar_space(), bytes_of_value(number));
        Scale& scale = scales_[dimension];
        scale.address = plan_.metadata_address + header.begin();
        if (scale.uses.empty() || scale.uses.size() > kMostUses) return;
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

    void put_list_of_scales(ObjectHeader& header, const std::vector<ListPlace>& lists) {
        Bytes values;
        for (const ListPlace& list : lists) {
            values.put(uint32_t{1});  // element
            values.put(list.collection);
            values.put(list.number);
        }
        const uint64_t count[] = {lists.size()};
        const uint64_t at = header.add_attribute(kScalesAttribute, format::lists_type(), format::simple_space(count), values.all());
        for (size_t k = 0; k < lists.size(); ++k) head_.addresses.push_back(at + k * format::kListBytes + sizeof(uint32_t));
    }

    void put_extension() {
        if (chunks_.most_children == format::kMostChildren) return;
        align(out_);
        extension_ = address();
        ObjectHeader header(out_);
        header.add(Message::tree_widths, format::tree_widths(chunks_.most_children));
        end_object(header);
    }

    void put_root() {
        align(out_);
        root_ = address();
        ObjectHeader header(out_);
        header.add(Message::link_info, format::link_info(links_.size()));
        header.add(Message::group_info, format::group_info(), true);
        put_attributes(header, kOfTheFile, description_.attributes);
        for (const Bytes& link : links_)
            head_.addresses.push_back(header.add(Message::link, link) + link.size() - sizeof(uint64_t));
        end_object(header);
    }

    void fill_in() {
        for (const Scale& scale : scales_) {
            uint64_t at = scale.uses_at;
            for (const Use& use : scale.uses) {
                out_.set(use.list, scale.address);
                head_.addresses.push_back(use.list);
                if (scale.uses_at == 0) continue;
                out_.set(at, addresses_[use.array]);
                head_.addresses.push_back(at);
                out_.set(at + 8, static_cast<int32_t>(use.dimension));
                at += format::kUseBytes;
            }
        }
        out_.set_checksums(summed_);
    }

    Image finish() {
        Image image;
        image.metadata_address = plan_.metadata_address;
        image.file_bytes = std::max({address(), plan_.reserved_end, chunks_.raw_end});
        image.metadata = out_.take();
        image.superblock = format::superblock(root_, extension_, image.file_bytes).take();
        return image;
    }

    const ImagePlan& plan_;
    const Description& description_;
    Bytes out_;  // from the metadata's address on
    bool fits_ = true;
    uint64_t root_ = 0, extension_ = format::kUndefined;
    ChunkIndexes chunks_;
    std::vector<Scale> scales_;                  // by the number of the dimension
    std::vector<std::vector<ListPlace>> lists_;  // of each array: for each of its dimensions, the list of scales
    std::vector<ListPlace> sources_;             // of each array that is virtual; number 0: it shows nothing
    std::map<std::pair<size_t, std::string>, std::vector<ListPlace>> texts_;  // by array and attribute
    std::vector<uint64_t> addresses_;                                         // of each array's header
    std::vector<Bytes> links_;
    std::vector<Bytes::Range> summed_;  // what has a checksum at its end
    EncodedHead head_;                  // the positions that it needs
};

}  // namespace

std::optional<Image> encoded_image(const ImagePlan& plan) { return Encoder(plan).encode(); }

std::optional<EncodedHead> encoded_head(const Description& description, const std::vector<uint64_t>& places,
                                        uint64_t most_children) {
    const ChunkPlaces no_chunks(description.arrays.size());
    return Encoder({description, 0, 0, 0, {}, places, no_chunks}).encode_head(most_children);
}

}  // namespace tailrace
