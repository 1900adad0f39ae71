// The folder of files on scratch: what is in it, what may leave it, and its removal without losing what a program writes meanwhile.
#pragma once

#include <string>
#include <vector>

#include "stage/item.hpp"
#include "stage/leases.hpp"
#include "stage/open_files.hpp"

namespace tailrace {

// Of the drain itself, within the folder: lock, journal, and removing/. Its mode is 0700.
constexpr char kStateFolder[] = ".tailrace-drain";

enum class Taken : uint8_t { taken, open_for_writing, gone, special };

// Files, links and folders below an open folder, sorted; folders behind what is in them. Follows no symbolic link.
std::vector<std::string> scan_below(int folder);

class Scratch {
public:
    // Refuses a folder that is another user's, or that others may write to.
    Scratch(const std::string& path, Leases& leases);

    const std::string& path() const { return path_; }
    std::string state_path() const { return path_ + "/" + kStateFolder; }
    std::vector<std::string> scan();
    // What a path below it is; false where nothing has the name.
    bool look_at(const std::string& path, struct stat& status);
    // Looks at all processes, where the file system's leases do not suffice. Call it before a shipment is taken, and before its
    // removal.
    void look_for_writers();
    Taken take(const std::string& path, Item& item);
    // Whether its name still stands for what was taken, and no process has opened it for writing.
    bool is_unchanged(const Item& item);
    // Whether no process has it open for writing at this moment. Its lease, if it has one, is given up: programs that open it do
    // not meet it. What was taken stays open.
    bool has_no_writer_now(const Item& item);
    void give_up(Item& item);
    // Moves it to removing/NAME.
    void set_aside(const Item& item, const std::string& name);
    // Removes what was set aside. False where a process has it open for writing by now: it has its old name again.
    bool remove(const Item& item, const std::string& name);
    // After a death: removes removing/NAME, or the file at its old name, if it is what was recorded. Else it has its old name.
    void remove_recorded(const Item& recorded, const std::string& name);
    // A folder, or nothing of it where it is not empty.
    void remove_folder(const std::string& path);

private:
    bool has_no_writer(const Item& item);
    int parent_of(const std::string& path, std::string& name);
    void give_name_back(const std::string& path, const std::string& name);

    std::string path_;
    Leases& leases_;
    Descriptor folder_, removing_;
    Descriptor parent_;  // the folder of the last path
    std::string parent_path_;
    OpenFiles writers_;
};

}  // namespace tailrace
