// An append-only journal: JSON objects, one a line, each with the checksum of its text. A line is whole or torn. Only lines at the
// end can be torn; the next append removes them.
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
    std::vector<uint64_t> ends;  // of each line: the byte behind it
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

// An absent file is an empty journal. Bytes from `end_bytes` on do not count.
JournalContent read_journal(const std::string& path, uint64_t end_bytes = UINT64_MAX, Damage damage = Damage::refused);
// The first line; nothing where there is no intact one.
std::optional<Json> read_first_line(const std::string& path);

// Whether the bytes are one whole line with the right checksum.
bool is_intact_line(std::string_view line);

// The bytes of one line: the object's text with its checksum as the last key "sum", and a newline.
std::string journal_line(const Json& object);
// The same of an object's text, which has at least one key and none named "sum".
std::string journal_line_of(std::string object);

// A journal that is appended to. Local. Several threads may append, such as that of a write queue and its owner.
class Journal {
public:
    // `is_there`: the first append fails with NOT_FOUND where the file is absent, and does not create it. `check_counts` is called
    // when a line is appended, and throws where what is appended now does not count, or where that cannot be found out.
    explicit Journal(std::string path, bool is_there = false, std::function<void()> check_counts = {})
        : path_(std::move(path)), is_there_(is_there), check_counts_(std::move(check_counts)) {}

    // Appends one object, in one write; with `sync` it is on the device on return. Removes a torn tail first. Where it throws, the
    // line is not there, unless `check_counts` fails again: then another process may have read it.
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
