#include "part/header_messages.hpp"

#include <algorithm>
#include <vector>

#include "format/messages.hpp"
#include "format/types.hpp"

namespace tailrace {

void put_filters(format::ObjectHeader& header, const Filters& filters) {
    constexpr uint16_t kShuffle = 2, kDeflate = 1;
    std::vector<format::Filter> pipeline;
    if (filters.shuffled_bytes > 1) pipeline.push_back({kShuffle, "", {static_cast<uint32_t>(filters.shuffled_bytes)}});
    const auto level = static_cast<uint32_t>(filters.compression.level);
    switch (filters.compression.kind) {
        case Compression::Kind::none: break;
        case Compression::Kind::deflate: pipeline.push_back({kDeflate, "", {level}}); break;
        case Compression::Kind::zstd: pipeline.push_back({kZstdFilter, kZstdName, {level}}); break;
    }
    header.add(format::Message::filters, format::filter_pipeline(pipeline), true);
}

void put_attribute(format::ObjectHeader& header, const Attribute& attribute) {
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

void put_scale_text(format::ObjectHeader& header, const char* name, std::string value) {
    value.push_back('\0');
    const format::Bytes type =
        format::text_type(static_cast<uint32_t>(value.size()), format::TextEnd::terminator, format::Encoding::ascii);
    header.add_attribute(name, type, format::scalar_space(), std::as_bytes(std::span(value)));
}

}  // namespace tailrace
