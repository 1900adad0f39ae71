// The scratch folder: lists its files, says which may be delivered, and removes them without losing what a program writes
// meanwhile.
#pragma once

#include <string>
#include <vector>

#include "base/own_descriptor.hpp"
#include "stage/item.hpp"
#include "stage/leases.hpp"
#include "stage/open_files.hpp"

namespace tailrace {

// The drain's own folder within the scratch folder: it has the lock, the journal, and removing/. Its mode is 0700.
constexpr char kStateFolder[] = ".tailrace-drain";

enum class Taken : uint8_t { taken, open_for_writing, gone, special };

// The paths of all files, links and folders below an open folder, sorted; a folder follows its contents. Follows no symbolic link.
std::vector<std::string> scan_below(int folder);

class Scratch {
public:
    // Refuses a folder that is another user's, or that others may write to.
    Scratch(const std::string& path, Leases& leases) : Scratch(path, &leases) {}
    // For a folder that no other process knows, and of which only closed files are taken: asks for no leases, and needs none.
    explicit Scratch(const std::string& path) : Scratch(path, nullptr) {}

    const std::string& path() const { return path_; }
    std::string state_path() const { return path_ + "/" + kStateFolder; }
    // Takes the lock of the folder, which shows that a drain or a run uses it. Throws IN_USE. Tries several times, because `status`
    // and `scavenge` hold the lock for a moment to test it.
    OwnDescriptor lock() const;
    std::vector<std::string> scan();
    // The names of the files of a folder that no process has open for writing at this moment; of links and folders none. "": the
    // scratch folder itself. Empty if there is no such folder.
    std::vector<std::string> closed_files_in(const std::string& folder);
    // Forgets the folder of the last path, because another folder may have its name now.
    void forget_parent() { parent_.close(); }
    // Gets the attributes of a path below the folder (lstat); false: there is no file of this name.
    bool look_at(const std::string& path, struct stat& status);
    // Finds out which files all processes have open for writing, if the file system has no leases. Call this before a shipment is
    // taken, and before it is removed.
    void look_for_writers();
    // Opens a file for delivery, under a lease, and sets `item`; for a link or folder, only sets `item`.
    Taken take(const std::string& path, Item& item);
    // Whether the item's name still belongs to the file that was taken, and no process has opened the file for writing.
    bool is_unchanged(const Item& item);
    // Whether no process has the file open for writing at this moment. Gives up the file's lease, if it has one, so that programs
    // can open the file without a delay. The item stays open.
    bool has_no_writer_now(const Item& item);
    // Gives up the lease and closes the item.
    void give_up(Item& item);
    // Moves the item's file to removing/NAME.
    void set_aside(const Item& item, const std::string& name);
    // Removes the file that was set aside. False: a process has it open for writing now, so it got its old name back.
    bool remove(const Item& item, const std::string& name);
    // After a drain was killed: removes removing/NAME, or the file with its old name, if it is the recorded file. If removing/NAME
    // is another file, it gets its old name back.
    void remove_recorded(const Item& recorded, const std::string& name);
    // After a drain was killed: removes removing/NAME if the target has the file, else gives it its old name back. Does nothing if
    // removing/NAME does not exist.
    void end_set_aside(const std::string& path, const std::string& name, bool is_at_target);
    // Removes a folder if it is empty.
    void remove_folder(const std::string& path);

private:
    Scratch(const std::string& path, Leases* leases);
    bool has_no_writer(const Item& item);
    int parent_of(const std::string& path, std::string& name);
    void give_name_back(const std::string& path, const std::string& name);

    std::string path_;
    Leases* const leases_;  // null: all files are closed
    Descriptor folder_, removing_;
    Descriptor parent_;  // the folder of the last path
    std::string parent_path_;
    OpenFiles writers_;
};

}  // namespace tailrace
