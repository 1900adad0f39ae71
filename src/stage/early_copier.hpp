// Copies the files of a running program to the target, under temporary names, once they are closed and not changed for a while. It
// makes nothing visible and frees nothing; the drain at the end of the run does (src/stage/early_copies.hpp). So it may be killed
// at any moment.
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
    bool is_once = false;  // run() returns when all closed files are copied
};

class EarlyCopier {
public:
    EarlyCopier(Scratch& scratch, EarlyOptions options);
    // Copies until the process is killed; returns only with `is_once`.
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
    bool leave_changed(const std::vector<Item>& items);
    void leave_to_the_end(const Item& item);
    void has_failed(const Error& error);
    void make_folder();

    Scratch& scratch_;
    EarlyOptions options_;
    std::string outer_;  // name of the folder at the target that contains all work folders of this drain
    Journal journal_;
    EarlyJournal known_;
    std::unique_ptr<WorkFolder> folder_;  // made with the first copy
    std::set<FileKey> left_files_;        // files that only the drain at the end copies
    std::set<std::string> left_paths_;    // names of files that only the drain at the end copies
    uint64_t next_name_ = 0;
    int failures_ = 0;
};

}  // namespace tailrace
