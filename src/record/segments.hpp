// The journal of a stream is a chain of segments: journal.jsonl (number 0), journal.000001.jsonl, and so on. Each run appends to
// its own segment, so runs that do not know of each other never write into one file. docs/format.md is the specification.
//
// The first line of a segment says which segment it follows, and how many bytes of that one are valid: bytes that the earlier run
// appends later are ignored. The last segment with such a line, and those that it follows, are the journal. (Streams of versions
// before 0.2 have only segment 0, without that line.)
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

constexpr int kJournalFormat = 3;        // the newest format that this version of Tailrace knows
constexpr int kFormatWithoutStages = 2;  // the format of journals whose runs have stage = none

// The first line of a segment.
struct SegmentHead {
    uint64_t number = 0;
    std::optional<uint64_t> follows;
    uint64_t bytes = 0;         // valid bytes of the segment that it follows
    bool is_contested = false;  // an earlier run may still write: parts of this run and of later ones have a number in their names
    Writer writer;
    int format = kFormatWithoutStages;
    int least_reader = 1;  // the oldest format whose readers can read this stream correctly

    Json json() const;
    // Reads a line; nothing if it is of another kind. Throws CORRUPT if the value of a key has the wrong type.
    static std::optional<SegmentHead> of_json(const Json& line);
};

std::string kind_of(const Json& line);  // the kind of a journal line; "": the line has none
// The number of a format in line[key]; `absent` if the key is missing. Throws CORRUPT if it is not a number.
int format_at(const Json& line, const char* key, int absent);

struct Segment {
    std::string path;
    SegmentHead head;
    bool has_head = true;             // false: a version before 0.2 wrote it
    uint64_t end_bytes = UINT64_MAX;  // bytes from this position on are ignored
};

// The segments that are the journal, oldest first.
struct SegmentChain {
    std::vector<Segment> segments;
    uint64_t next_number = 0;  // the lowest number that no segment's file has

    bool empty() const { return segments.empty(); }
    bool is_contested() const { return !empty() && segments.back().head.is_contested; }
};

std::string segment_path(const std::string& journal, uint64_t number);  // `journal`: the path of segment 0
// Finds the chain by the first lines of the first `most` segments. Throws CORRUPT if a segment that another one follows is missing
// or damaged; UNSUPPORTED if only a newer version can read the stream.
SegmentChain find_segments(const std::string& journal, uint64_t most = UINT64_MAX);
std::vector<std::string> segment_paths(const std::string& journal);  // of all segments that exist

struct SegmentLines {
    std::vector<Json> lines;  // the lines of all segments, in order
    uint64_t torn_bytes = 0;  // bytes of torn lines at the end of the last segment
    uint64_t bytes = 0;       // intact bytes of the last segment
    bool has_ended = false;   // the last run wrote its `end` line
};
SegmentLines read_segments(const SegmentChain& chain);

// The segment that a run appends to. Another run may begin a segment at any time: then this run is overtaken.
class OwnSegment {
public:
    enum class Follows { last, none };  // `none`: earlier segments are ignored from now on
    OwnSegment(const std::string& journal, uint64_t number, const Writer& writer, bool is_contested, Follows follows);
    // Creates the segment, then finds the last segment before it, and how many bytes of that one are valid. Throws OVERTAKEN if
    // another process was first. After another error begin() may be called again.
    void begin();
    // Call it before begin(): the segment follows `before`, of which at most `end_bytes` bytes are valid; later segments are
    // ignored.
    void follow(const Segment& before) { cut_before_ = before; }
    bool has_begun() const { return state_ == State::begun; }

    uint64_t number() const { return head_.number; }
    const SegmentHead& head() const { return head_; }
    const std::string& path() const { return path_; }
    // Appends a line, then checks whether another run has begun a segment. Several threads may append.
    void append_line(const std::string& line, bool sync);
    // Throws OVERTAKEN, naming the other run, if another run has begun a segment.
    void check_is_last() const;
    bool is_last() const;
    // Whether an earlier call has found that another run has begun a segment.
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
