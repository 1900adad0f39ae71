// An append-only journal: one JSON object a line, each with the checksum of its text. A torn line is one that was not written
// whole. Only lines at the end can be torn; the next append removes them.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "base/json.hpp"

namespace tailrace {

struct JournalContent {
    std::vector<Json> lines;
    std::vector<uint64_t> ends;  // for each line: the position in the file of the byte behind it
    uint64_t intact_bytes = 0;
    uint64_t torn_bytes = 0;
    // With Damage::passed_over: the first damaged line that has intact ones after it, and how many lines stand before it.
    std::optional<uint64_t> damaged_at;
    size_t lines_before_damage = 0;
};

// What happens where a damaged line has intact ones after it.
enum class Damage {
    refused,      // CORRUPT
    passed_over,  // `lines` has the intact ones after it, too
};

// Reads the lines of a journal. An absent file is an empty journal. Bytes at positions from `end_bytes` on are ignored.
JournalContent read_journal(const std::string& path, uint64_t end_bytes = UINT64_MAX, Damage damage = Damage::refused);
// Reads the first line; returns nothing if it is missing or not intact.
std::optional<Json> read_first_line(const std::string& path);

// Whether the bytes are one whole line with the right checksum.
bool is_intact_line(std::string_view line);

// The bytes of one line: the object's text with its checksum as the last key "sum", and a newline.
std::string journal_line(const Json& object);
// The line of an object that is given as JSON text, with at least one key and none named "sum".
std::string journal_line_of(std::string object);

// A journal that this process appends to. Local. Several threads may append, such as the thread of a write queue and its owner.
class Journal {
public:
    // `is_there`: the first append fails with NOT_FOUND if the file is absent, and does not create it. `check_counts` is called
    // when a line is appended. It throws if readers would ignore lines that are appended now, or if that cannot be found out.
    explicit Journal(std::string path, bool is_there = false, std::function<void()> check_counts = {})
        : path_(std::move(path)), is_there_(is_there), check_counts_(std::move(check_counts)) {}

    // Appends one object, in one write; with `sync` it is on the device on return. Removes torn lines at the end first. If append()
    // throws, it has removed the line again, unless `check_counts` fails again: then another process may have read the line.
    void append(const Json& object, bool sync) { append_line(journal_line(object), sync); }
    void append_line(const std::string& line, bool sync);  // one of journal_line()

private:
    void cut_again(File& file, uint64_t intact) const noexcept;

    std::string path_;
    bool is_there_;
    std::function<void()> check_counts_;
    std::mutex appending_;
    uint64_t intact_bytes_ = 0;  // size after the last append: the end of a file of this size needs no check
};

}  // namespace tailrace
