// The drain: moves closed files from scratch to the target, in shipments.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stage/drain_journal.hpp"
#include "stage/early_copies.hpp"
#include "stage/held_names.hpp"
#include "stage/scratch.hpp"
#include "stage/sink.hpp"
#include "stage/work_folder.hpp"

namespace tailrace {

struct DrainOptions {
    std::string target;
    std::string sink = "mirror";
    std::string compression = "none";  // of bundles: see zstd_level_of
    uint64_t shipment_bytes = 256u << 20;
    size_t shipment_files = 0;           // the most files of a shipment; 0: as many as the limit of open files allows
    double wait_s = 0;                   // how long to wait for files that are open for writing
    std::vector<std::string> torn = {};  // paths on scratch of files that are delivered as NAME.torn
};

// A file that stays on scratch, and the reason.
struct Left {
    std::string path, why;
};

struct DrainProgress {
    uint64_t files = 0, bytes = 0;  // delivered
    uint64_t entries = 0;           // found: files, links and folders
    uint64_t copied_again = 0;      // files that changed while they were copied, or whose copy was wrong when read back
    uint64_t bundles = 0;
    uint64_t early_files = 0, early_bytes = 0;  // how much of the delivered was copied while the program ran
    std::string early_stopped_because;          // why copying stopped while the program ran; empty: it did not stop
    std::vector<Left> left;                     // what stays on scratch
    std::set<std::string> torn;                 // the names NAME of files that were delivered as NAME.torn
};

// The result of give().
struct Given {
    uint64_t files = 0, bytes = 0;  // delivered
    std::vector<std::string> open;  // a process has these open for writing, or changes them again and again
    std::vector<Left> left;         // these could not be delivered
};

class Drain {
public:
    using Report = std::function<void(const DrainProgress&)>;  // called after each shipment
    Drain(Scratch& scratch, DrainOptions options, Report report);

    // Moves all files that are on scratch. Returns when all are delivered or listed in `left`. Throws NO_SPACE if the target is
    // full, and STOPPED on request of a signal (stop.hpp); what is not delivered then stays on scratch.
    DrainProgress run();

    // The same for files that come one after the other: begin() once, deliver() for each list of paths on scratch, end() once.
    // deliver() throws as run() does, and may be called again; `left` is what this call could not carry.
    void begin();
    const DrainProgress& deliver(std::vector<std::string> paths);
    DrainProgress end();

    // Delivers these files while the program runs. Files that do not exist are ignored. Copies that were made early are not used,
    // because another process has them.
    Given give(const std::vector<std::string>& paths);

    // Writes to the journal where the files are to be delivered. `process`: the number of a process that will drain them at its
    // end; if it is killed before, the journal still has the target.
    void announce(uint64_t process);

private:
    void carry_or_leave(std::vector<std::string> paths);
    void note_stop(const Error& error);
    void try_again_until(double until_s);
    void carry_all(const std::vector<std::string>& paths);
    void carry(std::span<const std::string> paths);
    void ship(std::span<const std::string> paths);
    void take(const std::string& path, std::vector<Item>& items);
    bool publish(std::vector<Item>& items);
    bool copy(std::vector<Item>& items, Sink& sink);
    bool drop_changed(std::vector<Item>& items);
    bool publish_names(std::vector<Item>& items, Sink& sink);
    void record(const std::vector<Item>& items);
    void free_scratch(std::vector<Item>& items);
    SinkPlace place() const;

    Scratch& scratch_;
    DrainOptions options_;
    Report report_;
    DrainProgress progress_;
    std::optional<EarlyCopies> early_;     // set from begin() to end()
    std::optional<WorkFolder> work_;       // at the target; set from begin() to end(), and from the first give() on
    std::optional<DrainJournal> journal_;  // set when the target is there
    std::vector<std::string> again_;       // files to try again: they were open for writing, or changed
    std::vector<std::string> folders_;
    SharedNames names_;       // set in give(): the program runs, and changes names on scratch
    std::set<FileKey> torn_;  // by device and inode, since a torn file may have several names
};

}  // namespace tailrace
