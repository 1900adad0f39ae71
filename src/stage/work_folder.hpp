// A folder for what is not finished: files that have no name of their own yet. Its file `lock` is locked while its owner lives, and
// says on which node that is. So the next one, and `tailrace drain scavenge`, can tell what a killed process has left.
//
// PARENT/NAME/TOKEN/: NAME is that of all owners of a kind, TOKEN is drawn by each.
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
    // Makes it, and removes those beside it whose owners are gone. Follows no link; refuses a NAME of another user. Throws.
    WorkFolder(const std::string& parent, const std::string& name);
    WorkFolder(const WorkFolder&) = delete;
    ~WorkFolder();  // removes it, and NAME where no other is in it

    // One that a killed owner has left, with what is in it; nothing where it is gone, or its owner lives. Throws.
    static std::unique_ptr<WorkFolder> take_over(const std::string& parent, const std::string& name, const std::string& token);
    const std::string& token() const { return token_; }
    void remove_all_but(const std::set<std::string>& names) const;
    void keep() { is_kept_ = true; }  // it stays, for one that takes it over

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

// Who has the file `lock` of a folder.
enum class LockState : uint8_t {
    absent,     // there is no such file
    held,       // its owner lives
    free,       // its owner is gone; `lock` has it now
    elsewhere,  // it was made on another node, whose processes cannot be asked from here
    unknown     // the file system has no locks, or the file may not be opened
};
struct Lock {
    LockState state = LockState::absent;
    std::string node;  // where it was made; empty: not said
    int64_t made_s = 0;
    Descriptor file;  // keeps the lock
};
// `any_node`: a lock of another node is taken like one of this node.
Lock take_lock(int folder, const char* name, bool any_node = false);

}  // namespace tailrace
