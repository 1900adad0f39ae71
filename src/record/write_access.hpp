// The right to write a stream: its lock, what is written of it so far, and the segment of the journal that this run appends to.
//
// A command that changes a stream does:
//
//   WriteAccess access(directory, stream, {.takes_over = ...});
//   History history = access.take_history();
//   ... access.append(line, sync) ...   // throws OVERTAKEN once another run has begun
//   access.end();
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "record/history.hpp"
#include "record/history_reader.hpp"
#include "record/segments.hpp"
#include "record/stream_lock.hpp"

namespace tailrace {

// Local, on one process.
class WriteAccess {
public:
    // What becomes of the lines that are there.
    enum class Earlier {
        counts,
        is_replaced,  // it may be damaged: it will not count
        is_salvaged,  // where the journal is damaged or contradicts itself, what stands before counts: see cut()
    };
    struct Wish {
        bool takes_over = false;
        Earlier earlier = Earlier::counts;
        uint64_t nodes = 1;
    };
    // Throws IN_USE; UNSUPPORTED where a newer version has written the stream. The directory of parts exists.
    WriteAccess(const std::string& directory, const std::string& stream, const Wish& wish);

    // What the segments that count add up to. May be called once.
    History take_history();
    const std::string& journal() const { return journal_; }
    const StreamLock& lock() const { return lock_; }
    // The number of this run's segment: that of its files that are not committed.
    uint64_t number() const { return number_; }
    // The earlier run did not end its journal, and nothing proves it dead. Then nothing is written into its files, and this run's
    // have its number in their names, like those of all later runs.
    bool is_contested() const { return contested_; }
    // The number in the names of this run's parts; 0: none.
    uint64_t part_number() const { return names_parts_ ? number_ : 0; }

    // With Earlier::is_salvaged: what no longer counts once segment() has begun. Nothing where the journal is whole.
    const std::optional<WholeLines::Cut>& cut() const { return cut_; }

    // This run's segment. The first call begins it, unless a contested opening did. Throws OVERTAKEN where another run was first.
    OwnSegment& segment();
    // The same for a run that replaces the stream: from here on nothing of earlier runs counts.
    OwnSegment& segment_of_new_stream();
    // Appends a line to the segment; throws OVERTAKEN as OwnSegment::append_line().
    void append(const Json& line, bool sync) { segment().append_line(journal_line(line), sync); }
    bool has_segment() const { return segment_ && segment_->has_begun(); }
    // The file that this run appends to; where it has not begun, the last one that counts.
    std::string present_path() const;
    // Whether no other run or command has begun a segment since.
    bool is_last() const;
    bool was_overtaken() const { return segment_ && segment_->was_overtaken(); }  // as far as was found out
    void check_is_last() const;                                                   // throws OVERTAKEN where one has
    // Throws OVERTAKEN where it was found out that one has. Looks at no file.
    void check_not_overtaken() const;
    // Nothing more follows in the segment. Throws OVERTAKEN.
    void end();
    void release() noexcept { lock_.release(); }

private:
    void read(Earlier earlier);
    void check_version() const;

    const std::string journal_;
    StreamLock lock_;
    SegmentChain chain_;
    SegmentLines lines_;
    std::optional<WholeLines::Cut> cut_;
    uint64_t number_ = 0;
    bool contested_ = false, names_parts_ = false;
    std::unique_ptr<OwnSegment> segment_;
};

}  // namespace tailrace
