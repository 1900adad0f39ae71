// Files of [stage] that are neither on this node's scratch nor at their target: on other nodes, and in bundles of earlier runs. The
// agent of the node is asked for them (docs/decisions/0048-an-absent-name-is-asked-of-the-other-nodes.md and
// docs/decisions/0051-a-file-leaves-its-bundle-when-it-is-named.md). All functions keep errno.
#pragma once

#include <dirent.h>
#include <stdint.h>
#include <string.h>

namespace tailrace::preload::staging {

// Called once. `rules_path`: path of the rules file. `scratch`: the folder of this run on this node.
void begin_questions(const char* rules_path, const char* scratch);

// Asks other nodes and bundles for an absent file. True: make the call again, because it may be at its target now.
bool has_asked_for(int directory, const char* path);
// Before a call that may create a file: takes a file of this name out of its bundle if it is there alone.
void take_out_of_bundle(int directory, const char* path);
// Before a file is removed or renamed: if a bundle has it, too, it does not any more. A user may have extracted it by hand.
void leave_bundle(int directory, const char* path);
// Before a folder is renamed, or gets another's name: takes all files below it out of their bundles.
void take_folder_out(int directory, const char* path);
// Before a folder is removed: whether other nodes or bundles have files in it.
bool has_names_elsewhere(int directory, const char* path);

// Whether a call renames a folder, in which other nodes may have files.
bool renames_folder(int directory, const char* path);

// The rename of a folder on the other nodes, which may have files in it. They rename it on their scratch before the call renames it
// at the target, so a process that sees the new name finds all files there.
class FolderElsewhere {
public:
    // `from` is a folder. Asks the other nodes if the call may rename it.
    FolderElsewhere(int from_directory, const char* from, int to_directory, const char* to, unsigned flags);

    // The error with which the call must fail; 0: it is to be made.
    int refusal() const { return refusal_; }
    // The call has failed: the folder gets its old name back.
    void undo(int from_directory, const char* from, int to_directory, const char* to) const;

private:
    bool is_moved_ = false;
    int refusal_ = 0;
};

// The names of the files in a folder that other nodes or bundles have. Other nodes name closed files only.
class NamesElsewhere {
public:
    // Asks. `folder`: its real path. Nothing is asked of a folder outside of the run's, and in a run without
    // questions.
    NamesElsewhere(const char* folder, uint32_t bytes);
    NamesElsewhere(const NamesElsewhere&) = delete;
    ~NamesElsewhere();

    bool is_asked() const { return is_asked_; }
    // This name is in the listing already.
    void leave_out(const char* name);
    // Calls see(name, type) for each name that was not left out. `type`: DT_REG or DT_LNK.
    template <class See>
    void each(See see) const {
        for (uint64_t at = 0; at < bytes_; at += strlen(text_ + at) + 1)
            if (text_[at] != kLeftOut) see(text_ + at + 1, static_cast<unsigned char>(text_[at] == kLink ? DT_LNK : DT_REG));
    }

private:
    // Before each name in the text, which ends with a zero byte.
    static constexpr char kFile = 'f', kLink = 'l', kLeftOut = '-';

    void read(int64_t file);
    bool is_sound() const;
    void fill_slots();

    bool is_asked_ = false;
    char* text_ = nullptr;  // with the slots behind it
    uint64_t bytes_ = 0, room_ = 0;
    uint32_t* slots_ = nullptr;  // 1 + the index of a name in the text, by its hash; 0: none
    uint64_t slot_count_ = 0;    // a power of 2
};

}  // namespace tailrace::preload::staging
