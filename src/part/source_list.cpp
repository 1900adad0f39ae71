#include "part/source_list.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/error.hpp"

namespace tailrace {
namespace {

constexpr uint8_t kListVersion = 0;
constexpr uint32_t kHyperslab = 2, kHyperslabVersion = 1;

static_assert(std::endian::native == std::endian::little, "numbers are stored as they are in memory");

template <class Number>
void put(std::vector<std::byte>& out, Number number) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&number);
    out.insert(out.end(), bytes, bytes + sizeof number);
}

void put_text(std::vector<std::byte>& out, const std::string& text) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.c_str());
    out.insert(out.end(), bytes, bytes + text.size() + 1);
}

// A box as a hyperslab of one block: its first and its last position.
void put_box(std::vector<std::byte>& out, const Box& box) {
    const auto rank = static_cast<uint32_t>(box.count.size());
    put(out, kHyperslab);
    put(out, kHyperslabVersion);
    put(out, uint32_t{0});
    put(out, uint32_t{8 + 8 * rank});  // bytes that follow
    put(out, rank);
    put(out, uint32_t{1});
    for (size_t d = 0; d < rank; ++d) put(out, static_cast<uint32_t>(box.offset[d]));
    for (size_t d = 0; d < rank; ++d) put(out, static_cast<uint32_t>(box.offset[d] + box.count[d] - 1));
}

uint64_t box_bytes(const Box& box) { return 24 + 8 * box.count.size(); }

// Bob Jenkins' lookup3 ("hashlittle", public domain), with which HDF5 sums metadata.
uint32_t lookup3(std::span<const std::byte> bytes) {
    const auto word = [&](size_t at) {
        uint32_t value = 0;
        std::memcpy(&value, bytes.data() + at, std::min<size_t>(4, bytes.size() - at));
        return value;
    };
    uint32_t a = 0xdeadbeef + static_cast<uint32_t>(bytes.size()), b = a, c = a;
    const auto turn = [](uint32_t value, int by) { return std::rotl(value, by); };
    size_t at = 0;
    for (; bytes.size() - at > 12; at += 12) {
        a += word(at), b += word(at + 4), c += word(at + 8);
        a -= c, a ^= turn(c, 4), c += b;
        b -= a, b ^= turn(a, 6), a += c;
        c -= b, c ^= turn(b, 8), b += a;
        a -= c, a ^= turn(c, 16), c += b;
        b -= a, b ^= turn(a, 19), a += c;
        c -= b, c ^= turn(b, 4), b += a;
    }
    if (at == bytes.size()) return c;
    a += word(at);
    if (at + 4 < bytes.size()) b += word(at + 4);
    if (at + 8 < bytes.size()) c += word(at + 8);
    c ^= b, c -= turn(b, 14);
    a ^= c, a -= turn(c, 11);
    b ^= a, b -= turn(a, 25);
    c ^= b, c -= turn(b, 16);
    a ^= c, a -= turn(c, 4);
    b ^= a, b -= turn(a, 14);
    c ^= b, c -= turn(b, 24);
    return c;
}

uint64_t source_bytes(const Source& source) {
    return source.file.size() + 1 + source.dataset.size() + 1 + box_bytes(source.from) + box_bytes(source.to);
}

// All but the checksum at the end.
std::vector<std::byte> encode(const std::vector<Source>& sources, uint64_t bytes) {
    std::vector<std::byte> out;
    out.reserve(bytes);
    put(out, kListVersion);
    put(out, static_cast<uint64_t>(sources.size()));
    for (const Source& source : sources) {
        put_text(out, source.file);
        put_text(out, source.dataset);
        put_box(out, source.from);
        put_box(out, source.to);
    }
    return out;
}

bool is_near(const Box& box) {
    for (size_t d = 0; d < box.count.size(); ++d)
        if (box.count[d] == 0 || box.offset[d] + box.count[d] > UINT32_MAX) return false;
    return !box.count.empty();
}

}  // namespace

bool SourceList::can_hold(const std::vector<Source>& sources) {
    return sources.size() > 1 && std::all_of(sources.begin(), sources.end(), [](const Source& source) {
               return is_near(source.from) && is_near(source.to) && source.file.find('%') == std::string::npos &&
                      source.dataset.find('%') == std::string::npos;
           });
}

SourceList::SourceList(std::vector<Source> sources, size_t number)
    : sources_(std::move(sources)), placeholder_(text("sources ", number, " ")) {
    uint64_t bytes = 0;
    for (const Source& source : sources_) bytes += source_bytes(source);
    placeholder_.resize(bytes - (source_bytes(first()) - first().file.size()), '-');
}

uint64_t SourceList::put_into(std::span<std::byte> metadata, uint64_t near) const {
    const std::vector<std::byte> before = encode({{placeholder_, first().dataset, first().from, first().to}}, placeholder_.size());
    std::vector<std::byte> after = encode(sources_, before.size() + sizeof(uint32_t));
    const auto find = [&](uint64_t begin, uint64_t end) {
        const std::string_view all(reinterpret_cast<const char*>(metadata.data()) + begin, end - begin);
        return all.find({reinterpret_cast<const char*>(before.data()), before.size()});
    };
    uint64_t from = std::min<uint64_t>(near, metadata.size());
    size_t found = find(from, metadata.size());
    if (found == std::string_view::npos) from = 0, found = find(0, metadata.size());
    if (found == std::string_view::npos || from + found + after.size() + sizeof(uint32_t) > metadata.size() ||
        after.size() != before.size())
        fail(Status::INTERNAL, "HDF5 stored the list of the ", sources_.size(), " sources of ", first().dataset,
             " in another form than was expected");
    put(after, lookup3(after));
    std::copy(after.begin(), after.end(), metadata.begin() + static_cast<long>(from + found));
    return from + found + after.size();
}

}  // namespace tailrace
