// The bundles of earlier runs in a folder, from which a run takes files when it names them. A file that was taken is an ordinary
// file at its own name from then on (stage/taken_names.hpp), so one that the program removes does not come back.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stage/bundle_reader.hpp"
#include "stage/extract.hpp"
#include "stage/taken_names.hpp"

namespace tailrace {

class EarlierBundles {
public:
    // Reads the indexes of all bundles of the folder, and which files were taken. Throws CORRUPT for a damaged bundle.
    explicit EarlierBundles(const std::string& folder);

    // The hashes of the names that can be taken and of the folders that they are in (place::checksum), sorted.
    std::vector<uint64_t> hashes() const;
    // The names of files below a folder that can be taken.
    std::vector<std::string> names_below(const std::string& folder) const;
    // The names of files and links in a folder that can be taken, not in folders below it. "": the folder of the run.
    std::map<std::string, ItemKind> names_in(const std::string& folder) const;
    // Makes the file of this name below `base`, the folder of the extraction, and notes that it was taken. The extraction makes no
    // hard links. Does nothing if no bundle has the name, or it exists there. Throws BAD_ARGUMENT if two drains have delivered it,
    // as each_member_of() does.
    void take(const std::string& base, const std::string& name, Extraction& extraction);
    // Notes that a file was taken, and makes none: the program is about to remove or rename the one of this name. It may be one
    // that a user has extracted by hand.
    void leave(const std::string& name);

private:
    struct Bundle {
        std::string drain;  // NODE-TOKEN
        std::unique_ptr<BundleReader> reader;
    };
    struct Copy {
        const Bundle* bundle;
        Member member;
    };

    std::vector<Copy> copies_of(const std::string& name) const;  // the last one of each drain

    std::vector<Bundle> bundles_;  // those of each drain from the last to the first
    TakenNames taken_;
};

// Writes the list that the preload reads (place/bundled_names.hpp), for this user alone. A folder without bundles gives an empty
// list.
void write_names(const std::string& folder, const std::string& path, bool asks_other_nodes);

}  // namespace tailrace
