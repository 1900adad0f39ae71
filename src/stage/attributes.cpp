#include "stage/attributes.hpp"

#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/system_error.hpp"

namespace tailrace {
namespace {

constexpr std::string_view kUser = "user.";

// Each attribute is packed as this and its two texts.
struct Lengths {
    uint32_t name, value;
};

bool is_users(std::string_view name) {
    return name.size() > kUser.size() && name.starts_with(kUser) && name.find('\0') == std::string_view::npos;
}

}  // namespace

std::vector<Attribute> user_attributes_of(int file, const std::string& path) {
    std::vector<Attribute> found;
    const ssize_t bytes = ::flistxattr(file, nullptr, 0);
    if (bytes <= 0) return found;  // none, or none on this file system
    std::string names(static_cast<size_t>(bytes), '\0');
    const ssize_t listed = ::flistxattr(file, names.data(), names.size());
    if (listed < 0) fail_system("list the extended attributes of", path, errno);
    for (size_t at = 0; at < static_cast<size_t>(listed);) {
        const std::string name = names.c_str() + at;
        at += name.size() + 1;
        if (!is_users(name)) continue;
        const ssize_t size = ::fgetxattr(file, name.c_str(), nullptr, 0);
        if (size < 0 && errno == ENODATA) continue;  // it was removed meanwhile
        std::string value(static_cast<size_t>(std::max<ssize_t>(size, 0)), '\0');
        const ssize_t got = size < 0 ? size : ::fgetxattr(file, name.c_str(), value.data(), value.size());
        if (got < 0) fail_system("read an extended attribute of", path, errno);
        value.resize(static_cast<size_t>(got));
        found.push_back({name, value});
    }
    return found;
}

void set_user_attributes(int file, const std::vector<Attribute>& attributes, const std::string& path) {
    for (const Attribute& each : attributes)
        if (::fsetxattr(file, each.name.c_str(), each.value.data(), each.value.size(), 0) != 0)
            fail_system("set an extended attribute of", path, errno);
}

std::string packed(const std::vector<Attribute>& attributes) {
    std::string bytes;
    for (const Attribute& each : attributes) {
        const Lengths lengths{static_cast<uint32_t>(each.name.size()), static_cast<uint32_t>(each.value.size())};
        bytes.append(reinterpret_cast<const char*>(&lengths), sizeof lengths);
        bytes += each.name + each.value;
    }
    return bytes;
}

std::optional<std::vector<Attribute>> unpacked(std::string_view bytes) {
    std::vector<Attribute> found;
    while (!bytes.empty()) {
        Lengths lengths;
        if (bytes.size() < sizeof lengths) return std::nullopt;
        std::memcpy(&lengths, bytes.data(), sizeof lengths);
        bytes.remove_prefix(sizeof lengths);
        if (uint64_t{lengths.name} + lengths.value > bytes.size()) return std::nullopt;
        if (!is_users(bytes.substr(0, lengths.name))) return std::nullopt;
        found.push_back({std::string(bytes.substr(0, lengths.name)), std::string(bytes.substr(lengths.name, lengths.value))});
        bytes.remove_prefix(size_t{lengths.name} + lengths.value);
    }
    return found;
}

}  // namespace tailrace
