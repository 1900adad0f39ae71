// A folder for unfinished files, which do not have their final names yet. Its file `lock` is locked while the process that owns the
// folder runs, and has the name of its node. So the next owner, and `tailrace drain scavenge`, find what a killed process has left.
//
// The path is PARENT/NAME/TOKEN/. All owners of one kind use the same NAME; each has a random TOKEN.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "stage/descriptor.hpp"

namespace tailrace {

std::string node_name();
std::string random_token();  // eight hexadecimal digits

class WorkFolder {
public:
    // Makes the folder, and removes other folders in PARENT/NAME whose owners have ended. Follows no link. Throws, also if
    // PARENT/NAME belongs to another user.
    WorkFolder(const std::string& parent, const std::string& name);
    WorkFolder(const WorkFolder&) = delete;
    ~WorkFolder();  // removes the folder, and PARENT/NAME if it is empty then

    // Takes over a folder of a killed owner, with its contents. Null if the folder does not exist, or its owner still runs. Throws.
    static std::unique_ptr<WorkFolder> take_over(const std::string& parent, const std::string& name, const std::string& token);
    const std::string& token() const { return token_; }
    void remove_all_but(const std::set<std::string>& names) const;
    void keep() { is_kept_ = true; }  // the destructor does not remove the folder, so that another process can take it over

    const std::string& path() const { return path_; }
    int descriptor() const { return own_.get(); }

private:
    WorkFolder() = default;
    bool open_outer();
    bool claim();

    std::string outer_path_, path_, token_;
    Descriptor parent_, outer_, own_, lock_;
    std::string name_;
    bool is_kept_ = false;
};

// The state of a folder's file `lock`.
enum class LockState : uint8_t {
    absent,     // there is no such file
    held,       // its owner still runs
    free,       // its owner has ended; this process holds the lock now (Lock::file)
    elsewhere,  // it was made on another node, and whether its owner runs cannot be found out from this node
    unknown     // the file system has no locks, or the file may not be opened
};
struct Lock {
    LockState state = LockState::absent;
    std::string node;  // the node that made the lock; empty: not known
    int64_t made_s = 0;
    Descriptor file;  // holds the lock while it is open
};
// Tries to take the lock in file `name` of a folder. `any_node`: a lock of another node is treated like one of this node.
Lock take_lock(int folder, const char* name, bool any_node = false);

}  // namespace tailrace
