#include "record/write_access.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/paths.hpp"
#include "layout/parts.hpp"

namespace tailrace {

WriteAccess::WriteAccess(const std::string& directory, const std::string& stream, const Wish& wish)
    : journal_(directory + "/" + journal_path(stream)), lock_(directory, stream, wish.takes_over, wish.nodes) {
    read(wish.earlier);
    check_version();
    const bool was_staged = std::ranges::any_of(lines_.lines, [](const Json& line) { return kind_of(line) == "scratch"; });
    if (wish.earlier == Earlier::is_replaced) lines_.lines = {};
    number_ = chain_.next_number;
    const Writer before = chain_.empty() ? Writer() : chain_.segments.back().head.writer;
    // If a number is missing, some run has created a segment and not written its first line; it may do so at any time.
    const bool all_have_begun = number_ == (chain_.empty() ? 0 : chain_.segments.back().head.number + 1);
    const bool has_ended = all_have_begun && (chain_.empty() || lines_.has_ended);
    contested_ = lock_.overrode() || !(has_ended || lock_.proves_end_of(before));
    names_parts_ = contested_ || was_staged || chain_.is_contested();
    if (!contested_) return;
    // Begins this run's segment: the earlier run then gets an error at its next step.
    chain_.empty() && wish.earlier == Earlier::is_replaced ? segment_of_new_stream() : segment();
    read(wish.earlier == Earlier::is_salvaged ? wish.earlier : Earlier::counts);
}

void WriteAccess::read(Earlier earlier) {
    try {
        if (earlier == Earlier::is_salvaged) {
            WholeLines whole = read_whole_lines(journal_);
            chain_ = std::move(whole.chain);
            lines_ = std::move(whole.lines);
            if (whole.cut) cut_ = std::move(whole.cut);
            return;
        }
        chain_ = find_segments(journal_);
        lines_ = read_segments(chain_);
    } catch (const Error& error) {
        if (earlier != Earlier::is_replaced || error.status() != Status::CORRUPT) throw;
        chain_ = {{}, segment_paths(journal_).size()};
        lines_ = {};
    }
}

void WriteAccess::check_version() const {
    int format = kJournalFormat;
    std::string version = "(a newer version)";
    const auto take = [&](int of, const std::string& by) {
        if (of > format) format = of, version = by.empty() ? version : by;
    };
    for (const Segment& segment : chain_.segments) take(segment.head.format, segment.head.writer.version);
    for (const Json& line : lines_.lines)
        if (kind_of(line) == "run") {
            const auto by = line.find("version");
            take(format_at(line, "format", 1), by != line.end() && by->is_string() ? by->get<std::string>() : "");
        }
    if (format > kJournalFormat)
        fail(Status::UNSUPPORTED, journal_, ": Tailrace ", version, " has written the stream, in format ", format,
             "; this version can read it, and writes format ", kJournalFormat, ": install Tailrace ", version,
             " or newer, or write to another stream");
}

OwnSegment& WriteAccess::segment() {
    if (!segment_)
        segment_ = std::make_unique<OwnSegment>(journal_, number_, lock_.writer(), names_parts_, OwnSegment::Follows::last);
    if (cut_ && !segment_->has_begun()) segment_->follow(chain_.segments.back());
    segment_->begin();
    if (!contested_ && segment_->head().follows && segment_->head().bytes != lines_.bytes)
        fail(Status::OVERTAKEN,
             "another run has written to the stream since this one opened it: ", segment_path(journal_, *segment_->head().follows),
             "; end one of them, then open the stream again");
    return *segment_;
}

OwnSegment& WriteAccess::segment_of_new_stream() {
    if (!segment_ || segment_->head().follows) {
        const uint64_t number = segment_ ? segment_->number() + 1 : number_;
        segment_ = std::make_unique<OwnSegment>(journal_, number, lock_.writer(), names_parts_, OwnSegment::Follows::none);
    }
    segment_->begin();
    return *segment_;
}

History WriteAccess::take_history() {
    History history = history_of(lines_, journal_);
    lines_.lines = {};
    return history;
}

bool WriteAccess::is_last() const {
    return has_segment() ? segment_->is_last() : !path_exists(segment_path(journal_, chain_.next_number));
}

void WriteAccess::check_is_last() const {
    if (has_segment()) return segment_->check_is_last();
    if (!is_last())
        fail(Status::OVERTAKEN, "another run has begun to write the stream: ", segment_path(journal_, chain_.next_number));
}

std::string WriteAccess::present_path() const {
    if (has_segment()) return segment_->path();
    return chain_.empty() ? journal_ : chain_.segments.back().path;
}

void WriteAccess::check_not_overtaken() const {
    if (segment_ && segment_->was_overtaken()) segment_->check_is_last();
}

void WriteAccess::end() {
    if (has_segment()) segment_->append_line(journal_line({{"kind", "end"}}), false);
}

}  // namespace tailrace
