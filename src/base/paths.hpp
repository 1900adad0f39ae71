// Directories and names of files: one checked function for each system call. All throw Error with the path, the system's reason and
// a remedy where there is one.
#pragma once

#include <string>
#include <vector>

namespace tailrace {

// Makes the directory and its missing parents. `within` must exist: neither it nor a parent of it is made. With `sync` the new
// names are on the device on return.
void make_directories(const std::string& path, const std::string& within = "", bool sync = false);
void rename_path(const std::string& from, const std::string& to);
void replace_directory(const std::string& from, const std::string& to);  // renames; removes a directory of the name `to` first
void remove_tree(const std::string& path);                               // does nothing if it is absent
void remove_directory_if_empty(const std::string& path) noexcept;        // ignores every error
void remove_file(const std::string& path);                               // does nothing if it is absent
void sync_directory(const std::string& path);
void sync_directories(const std::string& path);            // the directory and all directories below it
void sync_directory_if_readable(const std::string& path);  // fsync needs permission to read the directory
bool path_exists(const std::string& path);
bool is_directory(const std::string& path);  // false for a link to a directory
// Whether a directory has an entry. Opens the directory again, so that a network file system gets the entries from its server.
bool directory_has(const std::string& directory, const std::string& name);
// Makes an empty file. Returns false if the name exists: of several callers, exactly one gets true.
bool make_new_file(const std::string& path);
// Makes `to` a second name of the file `from`, and replaces what had that name: a hard link, or a symbolic link if the file system
// has no hard links. `temporary` is a free name in the directory of `to`.
void link_in_place(const std::string& from, const std::string& to, const std::string& temporary);
bool is_same_file(const std::string& path, const std::string& other);
// Whether the path names the file that is open as `descriptor`.
bool is_open_at(int descriptor, const std::string& path);
std::string parent_of(const std::string& path);  // the text before the last slash
// Copies a file to a new name, or over the file of that name.
void copy_file(const std::string& from, const std::string& to, bool sync);
std::vector<std::string> list_directory(const std::string& path);  // names, sorted; [] if absent
// Writes the text to the temporary name PATH.new and renames it to PATH.
void replace_file(const std::string& path, const std::string& content, bool sync);

}  // namespace tailrace
