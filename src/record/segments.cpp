#include "record/segments.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <variant>

#include "base/error.hpp"
#include "base/paths.hpp"

namespace tailrace {
namespace {

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Reads the first line of a segment; nothing if that line is torn: such a segment is ignored. A segment of an older version begins
// with another kind of line.
std::optional<Segment> open_segment(const std::string& journal, uint64_t number) {
    Segment segment;
    segment.path = segment_path(journal, number);
    const auto line = read_first_line(segment.path);
    std::optional<SegmentHead> head;
    try {
        if (line) head = SegmentHead::of_json(*line);
    } catch (const Error& error) {
        fail(error.status(), segment.path, ": its first line is not that of a segment of a journal: ", error.what());
    }
    if (!line) read_journal(segment.path);  // damaged, unless nothing follows it
    if (!head && (number > 0 || !line)) return std::nullopt;
    segment.has_head = head.has_value();
    if (head) segment.head = *head;
    segment.head.number = number;
    if (segment.head.least_reader > kJournalFormat)
        fail(Status::UNSUPPORTED, segment.path, ": the stream was written in format ", segment.head.format,
             ", which this version cannot read; install Tailrace ", segment.head.writer.version, " or newer");
    return segment;
}

// Appends a line to segment 0 that makes versions before 0.2 refuse the stream: a run of a format that they do not know. They would
// append to segment 0, where later lines are ignored.
void mark_for_older_versions(const Segment& before) {
    try {
        Journal(before.path, true).append({{"kind", "run"}, {"format", kFormatWithoutStages}}, false);
    } catch (const Error&) {
        // Only older versions need the line, so errors are ignored.
    }
}

}  // namespace

Json SegmentHead::json() const {
    Json line = {{"kind", "segment"}, {"format", format}, {"number", number}};
    if (follows) {
        line["follows"] = *follows;
        line["bytes"] = bytes;
    }
    if (is_contested) line["contested"] = true;
    line["writer"] = writer.json();
    return line;
}

std::optional<SegmentHead> SegmentHead::of_json(const Json& line) {
    if (kind_of(line) != "segment") return std::nullopt;
    SegmentHead head;
    head.format = format_at(line, "format", kFormatWithoutStages);
    head.number = count_at(line, "number", 0);
    if (line.contains("follows")) head.follows = count_at(line, "follows");
    head.bytes = count_at(line, "bytes", 0);
    if (const auto contested = line.find("contested"); contested != line.end()) head.is_contested = *contested == true;
    head.least_reader = format_at(line, "least_reader", 1);
    if (const auto writer = line.find("writer"); writer != line.end()) head.writer = Writer::of_json(*writer);
    return head;
}

int format_at(const Json& line, const char* key, int absent) {
    return static_cast<int>(std::min<uint64_t>(count_at(line, key, static_cast<uint64_t>(absent)), INT_MAX));
}

std::string kind_of(const Json& line) {
    const auto kind = line.find("kind");
    return kind != line.end() && kind->is_string() ? kind->get<std::string>() : "";
}

std::string segment_path(const std::string& journal, uint64_t number) {
    if (number == 0) return journal;
    char digits[32];
    std::snprintf(digits, sizeof digits, ".%06llu", static_cast<unsigned long long>(number));
    const size_t ending = journal.rfind('.');
    return journal.substr(0, ending) + digits + journal.substr(ending);
}

std::vector<std::string> segment_paths(const std::string& journal) {
    std::vector<std::string> paths;
    for (uint64_t number = 0; path_exists(segment_path(journal, number)); ++number) paths.push_back(segment_path(journal, number));
    return paths;
}

SegmentChain find_segments(const std::string& journal, uint64_t most) {
    SegmentChain chain;
    // An error in a segment is thrown only if that segment is part of the chain: `repair` continues behind damaged ones.
    std::vector<std::variant<std::optional<Segment>, Error>> all;
    const std::vector<std::string> paths = segment_paths(journal);
    for (size_t k = 0; k < std::min<uint64_t>(paths.size(), most); ++k) {
        try {
            all.emplace_back(open_segment(journal, k));
        } catch (const Error& error) {
            all.emplace_back(error);
        }
    }
    chain.next_number = paths.size();
    uint64_t end_bytes = UINT64_MAX;
    for (size_t k = all.size(); k-- > 0;) {
        if (const Error* error = std::get_if<Error>(&all[k])) throw Error(error->status(), error->what());
        std::optional<Segment>& segment = std::get<std::optional<Segment>>(all[k]);
        if (!segment) {
            if (chain.empty()) continue;
            fail(Status::CORRUPT, segment_path(journal, k),
                 ": the first line is damaged, and a later segment of the journal follows it");
        }
        segment->end_bytes = end_bytes;
        chain.segments.push_back(*segment);
        if (!segment->head.follows) break;
        if (*segment->head.follows >= k) fail(Status::CORRUPT, segment->path, ": it follows segment ", *segment->head.follows);
        end_bytes = segment->head.bytes;
        k = *segment->head.follows + 1;
    }
    std::ranges::reverse(chain.segments);
    return chain;
}

SegmentLines read_segments(const SegmentChain& chain) {
    SegmentLines all;
    for (const Segment& segment : chain.segments) {
        JournalContent content = read_journal(segment.path, segment.end_bytes);
        all.has_ended = !segment.has_head || (!content.lines.empty() && kind_of(content.lines.back()) == "end");
        all.torn_bytes = content.torn_bytes;
        all.bytes = content.intact_bytes;
        const auto first = content.lines.begin() + (segment.has_head && !content.lines.empty() ? 1 : 0);
        all.lines.insert(all.lines.end(), std::make_move_iterator(first), std::make_move_iterator(content.lines.end()));
    }
    return all;
}

OwnSegment::OwnSegment(const std::string& journal, uint64_t number, const Writer& writer, bool is_contested, Follows follows)
    : first_(journal), path_(segment_path(journal, number)), parts_(parent_of(path_)),
      next_name_(name_of(segment_path(journal, number + 1))), follows_(follows), journal_(path_, true, [this] {
          if (has_begun()) check_is_last();
      }) {
    head_.number = number;
    head_.writer = writer;
    head_.is_contested = is_contested;
}

void OwnSegment::begin() {
    if (state_ == State::begun) return;
    if (state_ == State::absent && !make_new_file(path_)) {
        const auto line = read_first_line(path_);
        const auto other = line ? SegmentHead::of_json(*line) : std::nullopt;
        fail(Status::OVERTAKEN, "another run has begun to write since this one opened the stream: ",
             other ? other->writer.text() : "it is not known which", "; end one of them, then open the stream again (", path_, ")");
    }
    state_ = State::created;
    // Reads the earlier segments only now that this segment exists: an earlier run that appends from now on gets an error.
    const SegmentChain before = cut_before_                 ? SegmentChain{{*cut_before_}, 0}
                                : follows_ == Follows::last ? find_segments(first_)
                                                            : SegmentChain();
    if (cut_before_) {
        head_.follows = cut_before_->head.number;
        head_.bytes = cut_before_->end_bytes;
    } else if (!before.empty()) {
        head_.follows = before.segments.back().head.number;
        head_.bytes = read_journal(before.segments.back().path).intact_bytes;
    }
    journal_.append(head_.json(), false);
    state_ = State::begun;
    if (!before.empty() && !before.segments.back().has_head) mark_for_older_versions(before.segments.back());
}

// For a line that must be on the device, syncs the directories, too, which have the names of the segment and of NAME.parts.
void OwnSegment::append_line(const std::string& line, bool sync) {
    if (sync && !names_are_durable_) {
        sync_directory(parts_);
        sync_directory(parent_of(parts_));
        sync_directory_if_readable(std::filesystem::absolute(parent_of(parts_)).parent_path());
        names_are_durable_ = true;
    }
    journal_.append_line(line, sync);
}

bool OwnSegment::is_last() const { return !directory_has(parts_, next_name_); }

void OwnSegment::check_is_last() const {
    if (is_last()) return;
    overtaken_ = true;
    const SegmentChain chain = find_segments(first_);
    const Segment& last = chain.segments.back();
    const bool is_known = last.head.number > head_.number;
    fail(Status::OVERTAKEN,
         "another run writes this stream now: ", is_known ? last.head.writer.text() : "it has not said which it is",
         "; what this run writes from here on does not join the stream; end this run, or end the other one and open the stream "
         "again (",
         last.path, ")");
}

}  // namespace tailrace
