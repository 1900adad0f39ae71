#include "base/journal.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/checksum.hpp"
#include "base/error.hpp"
#include "base/paths.hpp"

namespace tailrace {
namespace {

constexpr std::string_view kSumKey = ",\"sum\":\"";
constexpr size_t kSumDigits = 16;
constexpr std::string_view kLineEnd = "\"}\n";
constexpr size_t kTailBytes = kSumKey.size() + kSumDigits + kLineEnd.size();

std::string hex(uint64_t value) {
    char digits[kSumDigits + 1];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
    return digits;
}

// The object of an intact line (without its checksum), or nothing.
std::optional<Json> parse_line(std::string_view line) {
    if (line.size() < kTailBytes + 1) return std::nullopt;
    const std::string_view body = line.substr(0, line.size() - kTailBytes);
    const std::string_view tail = line.substr(body.size());
    if (!tail.starts_with(kSumKey) || !tail.ends_with(kLineEnd)) return std::nullopt;
    if (tail.substr(kSumKey.size(), kSumDigits) != hex(Checksum::of(body.data(), body.size()))) return std::nullopt;
    Json object = parse_json(std::string(body) + "}");
    if (!object.is_object()) return std::nullopt;
    return object;
}

// Whether the quote at `at` begins or ends a string. After an odd number of backslashes it is a character within a string.
bool is_delimiter(std::string_view text, size_t at) {
    size_t backslashes = 0;
    while (backslashes < at && text[at - backslashes - 1] == '\\') ++backslashes;
    return backslashes % 2 == 0;
}

// The position where the JSON object at the end of the text begins; npos if no object ends there.
size_t begin_of_last_object(std::string_view text) {
    size_t depth = 0;
    bool is_in_string = false;
    for (size_t at = text.find_last_of('}') + 1; at-- > 0;) {
        if (text[at] == '"' && is_delimiter(text, at)) is_in_string = !is_in_string;
        if (is_in_string) continue;
        if (text[at] == '}') ++depth;
        if (text[at] == '{' && --depth == 0) return at;
    }
    return std::string_view::npos;
}

// Whether a damaged line ends with an intact one: then the newline between the two was damaged. RATIONALE: checks only the last
// object of the line. To check every object that begins with a brace takes time that grows with the square of the length.
bool hides_intact_line(std::string_view line) {
    const size_t begin = line.ends_with(kLineEnd) ? begin_of_last_object(line) : std::string_view::npos;
    return begin != std::string_view::npos && begin > 0 && parse_line(line.substr(begin)).has_value();
}

// Whether the file's last line is intact. If lines are short, reads only the file's last bytes.
bool ends_intact(const File& file, uint64_t size_bytes) {
    constexpr uint64_t kFirstRead = 4096;
    for (uint64_t bytes = std::min(kFirstRead, size_bytes);; bytes = std::min(2 * bytes, size_bytes)) {
        std::string tail(bytes, '\0');
        file.read_at(size_bytes - bytes, tail.data(), bytes);
        const size_t newline = bytes < 2 ? std::string::npos : tail.rfind('\n', bytes - 2);
        if (newline == std::string::npos && bytes < size_bytes) continue;
        return parse_line(std::string_view(tail).substr(newline == std::string::npos ? 0 : newline + 1)).has_value();
    }
}

File open_to_append(const std::string& path, bool is_there) {
    try {
        return File::open_append(path, !is_there);
    } catch (const Error& error) {
        if (!is_there || error.status() != Status::NOT_FOUND) throw;
        fail(Status::NOT_FOUND, error.what(),
             "; the list of committed steps is lost with it: restore it from a copy, or open the stream in another directory");
    }
}

}  // namespace

bool is_intact_line(std::string_view line) { return parse_line(line).has_value(); }

std::string journal_line(const Json& object) {
    if (!object.is_object() || object.empty() || object.contains("sum"))
        fail(Status::BAD_ARGUMENT, "a journal line is a JSON object with at least one key and none named 'sum'");
    return journal_line_of(object.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string journal_line_of(std::string object) {
    object.pop_back();
    const std::string sum = hex(Checksum::of(object.data(), object.size()));
    return object.append(kSumKey).append(sum).append(kLineEnd);
}

std::optional<Json> read_first_line(const std::string& path) {
    const File file = File::open_read(path);
    const uint64_t size_bytes = file.size_bytes();
    constexpr uint64_t kFirstRead = 4096;
    for (uint64_t bytes = std::min(kFirstRead, size_bytes);; bytes = std::min(2 * bytes, size_bytes)) {
        std::string begin(bytes, '\0');
        file.read_at(0, begin.data(), bytes);
        const size_t newline = begin.find('\n');
        if (newline != std::string::npos) return parse_line(std::string_view(begin).substr(0, newline + 1));
        if (bytes == size_bytes) return std::nullopt;
    }
}

JournalContent read_journal(const std::string& path, uint64_t end_bytes, Damage damage) {
    JournalContent content;
    if (!path_exists(path)) return content;
    std::string all = File::open_read(path).read_all();
    all.resize(std::min<uint64_t>(all.size(), end_bytes));
    size_t torn_at = std::string::npos;
    for (size_t begin = 0; begin < all.size();) {
        const size_t newline = all.find('\n', begin);
        const size_t end = newline == std::string::npos ? all.size() : newline + 1;
        const std::string_view line = std::string_view(all).substr(begin, end - begin);
        auto object = parse_line(line);
        if (!object && torn_at == std::string::npos) torn_at = begin;
        if (torn_at != std::string::npos && !content.damaged_at && (object || hides_intact_line(line))) {
            if (damage == Damage::refused)
                fail(Status::CORRUPT, path, ": the line at byte ", torn_at,
                     " is damaged, and intact lines follow it; `tailrace repair` of a stream keeps what stands before it");
            content.damaged_at = torn_at;
            content.lines_before_damage = content.lines.size();
        }
        if (object) {
            content.lines.push_back(std::move(*object));
            content.ends.push_back(end);
            content.intact_bytes = end;
        }
        begin = end;
    }
    content.torn_bytes = all.size() - content.intact_bytes;
    return content;
}

// Removes the line again after a failed append: the caller gets an error, so the journal must not have the line.
void Journal::cut_again(File& file, uint64_t intact) const noexcept {
    try {
        if (check_counts_) check_counts_();
        file.is_open() ? file.set_size(intact) : File::open_write(path_).set_size(intact);
    } catch (...) {
        // The next append removes the line if it is torn; a whole line cannot be removed any more.
    }
}

void Journal::append_line(const std::string& line, bool sync) {
    const std::lock_guard lock(appending_);
    File file = open_to_append(path_, is_there_);
    uint64_t intact = file.size_bytes();
    if (intact != intact_bytes_ && !ends_intact(File::open_read(path_), intact)) {
        intact = read_journal(path_).intact_bytes;
        file.set_size(intact);
    }
    try {
        file.append(line.data(), line.size());
        if (sync) file.sync();
        if (check_counts_) check_counts_();
        file.close();
    } catch (...) {
        cut_again(file, intact);
        throw;
    }
    is_there_ = true;
    intact_bytes_ = intact + line.size();
}

}  // namespace tailrace
