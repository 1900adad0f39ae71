// Copies of a program's files that were made while it ran (src/stage/early_copier.hpp). They are at the target under temporary
// names; the journal early.jsonl on scratch says what each was made of. The drain at the end of the run renames the copies that are
// still correct to their final names, and removes the others.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "stage/item.hpp"
#include "stage/scratch.hpp"
#include "stage/work_folder.hpp"

namespace tailrace {

using FileKey = std::pair<uint64_t, uint64_t>;  // device and inode
inline FileKey key_of(const Identity& identity) { return {identity.device, identity.inode}; }

struct EarlyCopy {
    std::string name;  // the copy's name in the folder of the copies
    std::string path;  // the file's path below scratch, when it was copied
    Identity made_of, copy;
    uint64_t sum = 0;            // XXH3 of the bytes
    bool shows_changes = false;  // whether a later change of the file would change its times
};

// The contents of the journal early.jsonl.
struct EarlyJournal {
    std::string folder;  // the token of the folder of the copies; empty: no copying was begun
    std::map<FileKey, EarlyCopy> copies;
    std::vector<std::string> dropped_paths;  // paths of files that were changed or removed after they were copied
    std::string stopped_because;
};
std::string early_journal_path(const std::string& state_path);
EarlyJournal read_early_journal(const std::string& state_path);

Json line_of(const EarlyCopy& copy);

// The early copies, for the drain at the end of the run. The destructor removes the copies that are not used, and the journal.
class EarlyCopies {
public:
    // Takes over the folder of copies in TARGET/OUTER, if it exists.
    EarlyCopies(const std::string& state_path, const std::string& target, const std::string& outer);
    EarlyCopies(const EarlyCopies&) = delete;
    ~EarlyCopies();

    void keep();  // keeps copies and journal for the next drain

    const std::string& stopped_because() const { return stopped_because_; }
    std::string folder() const;  // the token of the folder that is in use; empty: none
    // Returns `paths`, ordered so that files with a copy come first, because they need no further space at the target. Removes
    // copies of files that no longer exist.
    std::vector<std::string> first(Scratch& scratch, std::vector<std::string> paths);
    // Sets `item.early_path` if the file that was taken from scratch has a correct copy. If the file's times show that it did not
    // change, the bytes are not read; else their checksums are compared.
    void use(Item& item);

private:
    void keep_only(const std::vector<Identity>& files);
    bool is_intact(const EarlyCopy& copy) const;
    void remove(const FileKey& key);

    std::string journal_path_;
    std::map<FileKey, EarlyCopy> copies_;
    std::string stopped_because_;
    std::unique_ptr<WorkFolder> folder_;
    bool is_kept_ = false;
};

}  // namespace tailrace
