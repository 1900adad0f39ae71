// The drain: carries what is closed from scratch to the target, in shipments.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/journal.hpp"
#include "stage/early_copies.hpp"
#include "stage/scratch.hpp"
#include "stage/sink.hpp"
#include "stage/work_folder.hpp"

namespace tailrace {

struct DrainOptions {
    std::string target;
    std::string sink = "mirror";
    uint64_t shipment_bytes = 256u << 20;
    size_t shipment_files = 0;           // 0: as many as the limit of open files allows
    double wait_s = 0;                   // for files that are open for writing
    std::vector<std::string> torn = {};  // of scratch: files that go as NAME.torn
};

struct Left {
    std::string path, why;
};

struct DrainProgress {
    uint64_t files = 0, bytes = 0;  // delivered
    uint64_t entries = 0;           // found: files, links and folders
    uint64_t copied_again = 0;      // changed while they were copied, or read back wrong
    uint64_t bundles = 0;
    uint64_t early_files = 0, early_bytes = 0;  // of the delivered ones: copied while the program ran
    std::string early_stopped_because;          // why copying stopped while it ran; empty: it did not
    std::vector<Left> left;                     // what stays on scratch
    std::set<std::string> torn;                 // delivered as NAME.torn: these names
};

class Drain {
public:
    using Report = std::function<void(const DrainProgress&)>;  // called after each shipment
    Drain(Scratch& scratch, DrainOptions options, Report report);

    // Carries everything that is there. Returns when all is delivered, or what is left is known. NO_SPACE: the target is full, and
    // what is not delivered is on scratch.
    DrainProgress run();

    // Notes in the journal where the files are to go, for a process that will drain them when it ends, and may be killed before.
    void announce(uint64_t process);

private:
    void recover();
    Json start_line(uint64_t process) const;
    void note(Json line);  // in the journal, for `tailrace drain status` and `resume`
    void carry_what_is_there();
    void find_torn();
    void carry_all(const std::vector<std::string>& paths);
    void carry(std::span<const std::string> paths);
    void ship(std::span<const std::string> paths);
    void take(const std::string& path, std::vector<Item>& items);
    bool publish(std::vector<Item>& items);
    bool copy(std::vector<Item>& items, Sink& sink);
    bool drop_changed(std::vector<Item>& items);
    void record(const std::vector<Item>& items);
    void free_scratch(std::vector<Item>& items);
    SinkPlace place() const;

    Scratch& scratch_;
    DrainOptions options_;
    Report report_;
    DrainProgress progress_;
    std::string token_;
    std::optional<EarlyCopies> early_;  // while it runs
    std::optional<WorkFolder> work_;    // at the target, while it runs
    Journal journal_;
    uint64_t number_ = 0;             // of the last shipment
    std::vector<std::string> again_;  // open for writing, or changed
    std::vector<std::string> folders_;
    std::set<std::pair<uint64_t, uint64_t>> torn_;  // device and inode: a file may have several names
};

}  // namespace tailrace
