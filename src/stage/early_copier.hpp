// Copies the files of a program that runs: those that are closed and quiet go to the target, under temporary names. It makes
// nothing visible and frees nothing; the drain at the end of the run does (src/stage/early_copies.hpp). So it may be killed at
// any moment.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/journal.hpp"
#include "stage/early_copies.hpp"
#include "stage/scratch.hpp"
#include "stage/work_folder.hpp"

namespace tailrace {

struct EarlyOptions {
    std::string target;
    double quiet_s = 2;    // a file that was changed within this time is not copied
    bool is_once = false;  // ends when all that is closed is copied
};

class EarlyCopier {
public:
    EarlyCopier(Scratch& scratch, EarlyOptions options);
    // Returns with `is_once` only.
    void run();

private:
    enum class Fate : uint8_t { copy, wait, leave };
    bool look();
    Fate fate_of(const std::string& path, const Identity& now);
    void drop(const FileKey& key, bool has_changed);
    void copy_all(const std::vector<std::string>& paths);
    void copy(std::vector<Item>& items);
    void take(const std::string& path, std::vector<Item>& items);
    void record(const Item& item, const std::string& name, bool is_quiet);
    bool has_room(const std::vector<Item>& items, uint64_t bytes) const;  // `items`: not written yet
    void note(const Json& line);
    void leave_to_the_end(const Item& item);
    void has_failed(const Error& error);
    void make_folder();

    Scratch& scratch_;
    EarlyOptions options_;
    std::string outer_;  // name of the folder at the target that all folders of this drain are in
    Journal journal_;
    EarlyJournal known_;
    std::unique_ptr<WorkFolder> folder_;  // made with the first copy
    std::set<FileKey> left_files_;        // they, and files of these names, are copied at the end only
    std::set<std::string> left_paths_;
    uint64_t next_name_ = 0;
    int failures_ = 0;
};

}  // namespace tailrace
