// Extended attributes that a user may set (user.*). All others belong to the file system or to root, and are neither read nor set.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace {

struct Attribute {
    std::string name, value;  // the name with its "user."; the value may have any byte
    bool operator==(const Attribute&) const = default;
};

// The attributes of an open file; none if its file system has none. `path` is for messages. Throws.
std::vector<Attribute> user_attributes_of(int file, const std::string& path);
// Throws if one cannot be set, also if the file system has none.
void set_user_attributes(int file, const std::vector<Attribute>& attributes, const std::string& path);

// Attributes as bytes, as the index of a bundle has them.
std::string packed(const std::vector<Attribute>& attributes);
// Reads what `packed` made. Nothing: the bytes are damaged, or have a name that is not "user.*".
std::optional<std::vector<Attribute>> unpacked(std::string_view bytes);

}  // namespace tailrace
