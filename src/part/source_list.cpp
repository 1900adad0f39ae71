#include "part/source_list.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace tailrace {
namespace {

constexpr uint32_t kHyperslab = 2;

bool is_near(const Box& box) {
    for (size_t d = 0; d < box.count.size(); ++d)
        if (box.offset[d] + box.count[d] > UINT32_MAX) return false;
    return true;
}

// Appends a box as a hyperslab of one block: by its first and last position; if those need 64 bits, by start, stride, count and
// block.
void put_box(format::Bytes& out, const Box& box) {
    const auto dims = static_cast<uint32_t>(box.count.size());
    if (is_near(box)) {
        // Type, version, reserved, bytes that follow, dimensions, blocks.
        uint32_t words[6 + 2 * (kMaxDims + 2)] = {kHyperslab, 1, 0, 8 + 8 * dims, dims, 1};
        for (size_t d = 0; d < dims; ++d) {
            words[6 + d] = static_cast<uint32_t>(box.offset[d]);
            words[6 + dims + d] = static_cast<uint32_t>(box.offset[d] + box.count[d] - 1);
        }
        out.put_bytes(std::as_bytes(std::span(words).first(6 + 2 * dims)));
        return;
    }
    constexpr uint8_t kRegular = 1;
    out.put(kHyperslab);
    out.put(uint32_t{2});
    out.put(kRegular);
    out.put(4 + 32 * dims);
    out.put(dims);
    for (size_t d = 0; d < dims; ++d)
        for (const uint64_t value : {box.offset[d], uint64_t{1}, uint64_t{1}, box.count[d]}) out.put(value);
}

}  // namespace

std::string as_pattern(const std::string& name) {
    if (name.find('%') == std::string::npos) return name;
    std::string pattern;
    for (const char c : name) pattern.append(c == '%' ? 2 : 1, c);
    return pattern;
}

std::span<const std::byte> SourceListEncoder::encode(const std::string& name, const Sources& sources) {
    std::string pattern = as_pattern(name);
    const bool only_renamed = sources.shared_with(sources_) && pattern.size() == pattern_.size();
    pattern_ = std::move(pattern);
    if (only_renamed) {
        for (const uint64_t at : names_at_) bytes_.set_text(at, pattern_);
    } else {
        put_all(sources);
    }
    return bytes_.all();
}

void SourceListEncoder::put_all(const Sources& sources) {
    sources_ = sources;
    names_at_.clear();
    bytes_.cut(0);
    bytes_.reserve(kExpectedSourceBytes * sources.size());
    bytes_.put(uint8_t{0});  // version
    bytes_.put(static_cast<uint64_t>(std::ranges::count_if(sources, &Source::shows_elements)));
    for (const Source& source : sources) {
        if (!source.shows_elements()) continue;
        bytes_.put_name(as_pattern(source.file));
        names_at_.push_back(bytes_.size());
        bytes_.put_text(pattern_);
        bytes_.put_name(as_pattern(source.suffix));
        put_box(bytes_, source.from);
        put_box(bytes_, source.to);
    }
    bytes_.put_zeros(format::kChecksumBytes);
}

}  // namespace tailrace
