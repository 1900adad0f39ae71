// Extracts files from bundles to a folder. No file can be made outside of that folder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stage/bundle_reader.hpp"
#include "stage/work_folder.hpp"

namespace tailrace {

class Extraction {
public:
    // A hard link becomes another name of a file that was extracted before, or a file of its own.
    enum class HardLinks : uint8_t { made, copied };

    explicit Extraction(std::string folder, HardLinks links = HardLinks::made) : folder_path_(std::move(folder)), links_(links) {}

    // Extracts a member; the first call also makes the folder. Throws if the name exists already, or is outside of the folder. A
    // file appears complete, after its checksum was compared, or not at all.
    void make(const BundleReader& bundle, const Member& member);
    uint64_t files() const { return files_; }
    uint64_t bytes() const { return bytes_; }

private:
    // A file of a bundle, and the name under which it was extracted first.
    struct Made {
        std::string bundle, name;
    };

    void begin();
    void make_work_folder();
    Descriptor new_file(int parent);
    void give_name(int file, int parent, const std::string& name, const Member& member);
    void make_file(const BundleReader& bundle, const Member& member, int parent, const std::string& name);
    void make_hard_link(const BundleReader& bundle, const Member& member, int parent, const std::string& name);
    bool link_to_made(const BundleReader& bundle, std::string_view file, const Member& member, int parent, const std::string& name);
    void set_attributes(const BundleReader& bundle, const Member& member, int file) const;
    [[noreturn]] void fail_at(const char* action, const Member& member) const;

    std::string folder_path_;
    HardLinks links_;
    Descriptor folder_;
    bool has_unnamed_ = true;                        // the file system makes files without a name
    std::optional<WorkFolder> work_;                 // otherwise: for files that have no name below the folder yet
    std::map<std::string, Made, std::less<>> made_;  // by the name of the file in its bundle, for its other names
    uint64_t files_ = 0, bytes_ = 0;
};

}  // namespace tailrace
