#include "stage/tar.hpp"

#include <cstdio>
#include <cstring>

namespace tailrace {
namespace {

constexpr size_t kNameBytes = 100;
constexpr uint64_t kMostOctal = 077777777777;  // 8 GiB - 1

struct Header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
    char magic[6], version[2], unused[247];
};
static_assert(sizeof(Header) == kTarBlock);

template <size_t n>
void octal(char (&field)[n], uint64_t value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%0*llo", static_cast<int>(n - 1), static_cast<unsigned long long>(value));
    std::memcpy(field, digits, n - 1);
}

std::string block_of(const std::string& name, const std::string& link, char type, uint64_t bytes, const Identity& is) {
    Header header{};
    std::memcpy(header.name, name.data(), std::min(name.size(), kNameBytes));
    std::memcpy(header.link, link.data(), std::min(link.size(), kNameBytes));
    constexpr uint32_t kMostId = 07777777;
    octal(header.mode, is.mode & 07777);
    octal(header.uid, std::min(is.uid, kMostId));
    octal(header.gid, std::min(is.gid, kMostId));
    octal(header.size, bytes > kMostOctal ? 0 : bytes);
    const int64_t seconds = is.mtime_ns / 1000000000;
    octal(header.mtime, seconds < 0 || static_cast<uint64_t>(seconds) > kMostOctal ? 0 : static_cast<uint64_t>(seconds));
    header.type = type;
    std::memcpy(header.magic, "ustar", 6);
    std::memcpy(header.version, "00", 2);
    std::memset(header.checksum, ' ', sizeof header.checksum);
    unsigned sum = 0;
    const auto* bytes_of = reinterpret_cast<const unsigned char*>(&header);
    for (size_t i = 0; i < sizeof header; ++i) sum += bytes_of[i];
    std::snprintf(header.checksum, sizeof header.checksum, "%06o", sum);
    return {reinterpret_cast<const char*>(&header), sizeof header};
}

// "LENGTH KEY=VALUE\n", where the length counts itself.
std::string record(const std::string& key, const std::string& value) {
    const size_t rest = key.size() + value.size() + 3;
    size_t length = rest + 1;
    while (std::to_string(length).size() + rest != length) length = std::to_string(length).size() + rest;
    return std::to_string(length) + " " + key + "=" + value + "\n";
}

// The key of an attribute. GNU tar escapes "=", which ends a key, and its escape character.
std::string pax_key_of(const Attribute& attribute) {
    std::string key = "SCHILY.xattr.";
    for (const char c : attribute.name) {
        if (c == '=')
            key += "%3D";
        else if (c == '%')
            key += "%25";
        else
            key += c;
    }
    return key;
}

char type_of(ItemKind kind) {
    switch (kind) {
        case ItemKind::symbolic_link: return '2';
        case ItemKind::hard_link: return '1';
        case ItemKind::folder: return '5';
        default: return '0';
    }
}

}  // namespace

std::string tar_header(const Item& item, const std::vector<Attribute>& attributes) {
    const std::string name = item.kind == ItemKind::folder ? item.path + "/" : item.target_path();
    const uint64_t bytes = item.kind == ItemKind::file ? item.identity.size_bytes : 0;
    std::string extended;
    if (name.size() > kNameBytes) extended += record("path", name);
    if (item.link.size() > kNameBytes) extended += record("linkpath", item.link);
    if (bytes > kMostOctal) extended += record("size", std::to_string(bytes));
    for (const Attribute& each : attributes) extended += record(pax_key_of(each), each.value);
    std::string header;
    if (!extended.empty()) {
        header = block_of("PaxHeader", "", 'x', extended.size(), item.identity) + extended;
        header.resize((header.size() + kTarBlock - 1) / kTarBlock * kTarBlock, '\0');
    }
    return header + block_of(name, item.link, type_of(item.kind), bytes, item.identity);
}

}  // namespace tailrace
