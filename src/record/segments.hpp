// The journal of a stream is a chain of segments: journal.jsonl (number 0), journal.000001.jsonl, and so on. Each run appends to
// one of its own, so runs that do not know of each other never write into one file. docs/format.md is the contract.
//
// The first line of a segment says which one it follows, and how many bytes of that count: what the earlier run appends later does
// not. The last segment with such a line, and those that it follows, are the journal. (Streams of versions before 0.2 have only
// segment 0, without that line.)
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/journal.hpp"
#include "record/writer.hpp"

namespace tailrace {

constexpr int kJournalFormat = 2;  // of what this version writes

// The first line of a segment.
struct SegmentHead {
    uint64_t number = 0;
    std::optional<uint64_t> follows;
    uint64_t bytes = 0;         // of the segment that it follows
    bool is_contested = false;  // an earlier run may still write: parts of this run and of later ones have a number in their names
    Writer writer;
    int format = kJournalFormat;
    int least_reader = 1;  // a reader of an older format would read it wrong

    Json json() const;
    // Nothing for another kind of line. Throws CORRUPT where a key has another kind of value.
    static std::optional<SegmentHead> of_json(const Json& line);
};

std::string kind_of(const Json& line);  // "": it has none
// The number of a format; a large one stands for any that is not known. Throws CORRUPT for what is no number.
int format_at(const Json& line, const char* key, int absent);

struct Segment {
    std::string path;
    SegmentHead head;
    bool has_head = true;             // false: of an older version
    uint64_t end_bytes = UINT64_MAX;  // what lies behind does not count
};

// The segments that count, oldest first.
struct SegmentChain {
    std::vector<Segment> segments;
    uint64_t next_number = 0;  // the first that no file has

    bool empty() const { return segments.empty(); }
    bool is_contested() const { return !empty() && segments.back().head.is_contested; }
};

std::string segment_path(const std::string& journal, uint64_t number);  // `journal`: the path of segment 0
// Reads the first lines, of the first `most` segments. Throws CORRUPT where one is missing or damaged that another follows;
// UNSUPPORTED where only a newer version can read the stream.
SegmentChain find_segments(const std::string& journal, uint64_t most = UINT64_MAX);
std::vector<std::string> segment_paths(const std::string& journal);  // of all segments that exist

struct SegmentLines {
    std::vector<Json> lines;  // that count, in order
    uint64_t torn_bytes = 0;  // at the end of the last segment
    uint64_t bytes = 0;       // intact, of the last segment
    bool has_ended = false;   // the last run ended in order
};
SegmentLines read_segments(const SegmentChain& chain);

// The segment that a run appends to. Another run may begin one at any time: then this one is overtaken.
class OwnSegment {
public:
    enum class Follows { last, none };  // `none`: what is in earlier segments no longer counts
    OwnSegment(const std::string& journal, uint64_t number, const Writer& writer, bool is_contested, Follows follows);
    // Creates it, then reads which segment is the last one before it, and how many bytes of that count. Throws OVERTAKEN where
    // another process was first. After another error it may be called again.
    void begin();
    // Before begin(): it follows this segment, of which no more bytes count than `end_bytes`, and none of later ones.
    void follow(const Segment& before) { cut_before_ = before; }
    bool has_begun() const { return state_ == State::begun; }

    uint64_t number() const { return head_.number; }
    const SegmentHead& head() const { return head_; }
    const std::string& path() const { return path_; }
    // Appends a line, then looks for another run. Several threads may append.
    void append_line(const std::string& line, bool sync);
    // Throws OVERTAKEN, naming the other run, where one has begun.
    void check_is_last() const;
    bool is_last() const;
    // Whether it was found out that another run has begun.
    bool was_overtaken() const { return overtaken_.load(); }

private:
    enum class State { absent, created, begun };

    const std::string first_, path_, parts_, next_name_;  // `next_name_`: of the segment that another run would begin
    const Follows follows_;
    std::optional<Segment> cut_before_;
    State state_ = State::absent;
    SegmentHead head_;
    Journal journal_;
    mutable std::atomic<bool> overtaken_ = false;
    std::atomic<bool> names_are_durable_ = false;
};

}  // namespace tailrace
