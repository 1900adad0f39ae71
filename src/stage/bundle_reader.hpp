// Reads a bundle by the index behind its end mark. A bundle may come from an unknown source, so each entry is checked when it is
// read.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stage/bundle_index.hpp"
#include "stage/descriptor.hpp"
#include "stage/frames.hpp"
#include "stage/item.hpp"

namespace tailrace {

struct Member {
    std::string_view name, link, attributes;  // valid as long as the reader exists; attributes: see unpacked()
    ItemKind kind;
    uint32_t mode;
    uint64_t data_at, data_bytes, sum;
    int64_t mtime_ns;
};

class BundleReader {
public:
    explicit BundleReader(const std::string& path);  // throws CORRUPT where the file has no sound index

    uint64_t count() const { return end_.count; }
    // The member with this number, from 0, in the order of the names. Throws CORRUPT for one that no drain can have written.
    Member at(uint64_t number) const;
    std::optional<Member> find(std::string_view name) const;
    uint64_t first_from(std::string_view name) const;  // the number of the first member whose name is not less than `name`

    // Reads bytes of a member, from `at` of it. Throws CORRUPT if the bundle became shorter, or does not decompress.
    void read(const Member& member, uint64_t at, std::span<char> into) const;

    const std::string& path() const { return path_; }

private:
    [[noreturn]] void refuse(const std::string& why) const;
    uint64_t marks_at() const { return end_.count * end_.entry_bytes; }  // in the index
    uint64_t names_at() const { return marks_at() + end_.marks * sizeof(FrameMark); }
    uint64_t tar_bytes() const { return frames_ ? frames_->tar_bytes() : end_.index_at; }
    void read_marks();
    BundleEntry entry(uint64_t number) const;
    std::string_view name_of(const BundleEntry& entry) const;

    std::string path_;
    Descriptor file_;
    BundleEnd end_{};
    std::unique_ptr<char[]> index_;        // has end_.index_bytes
    std::unique_ptr<FrameReader> frames_;  // of a compressed bundle
};

// Calls `see` for the member `name`; for a folder, also for all members below it; for an empty name, for all members. Returns how
// many members these are.
uint64_t each_member(const BundleReader& bundle, const std::string& name, const std::function<void(const Member&)>& see);

// The member itself; for another name of a file, that file. Throws CORRUPT if the bundle does not have it.
Member file_of(const BundleReader& bundle, const Member& member);

// Calls `use` for the bytes of a file, piece by piece. Throws CORRUPT at the end if their checksum is another.
void each_piece_of(const BundleReader& bundle, const Member& file, const std::function<void(std::span<const char>)>& use);

// Whether a file of this name stays below the folder that it is extracted to: the name is relative, without empty parts, `.` and
// `..`.
bool is_name_below(std::string_view name);
// Whether a symbolic link with the target `link` stays below the folder if it is made there under this name.
bool is_link_below(std::string_view name, std::string_view link);

}  // namespace tailrace
