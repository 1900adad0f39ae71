// The right to write a stream: its lock, the history of its journal, and the segment of the journal that this run appends to.
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
    // What becomes of the lines that the journal has.
    enum class Earlier {
        counts,       // all are used
        is_replaced,  // none is used, so they may be damaged
        is_salvaged,  // if a line is damaged or contradicts others, only the lines before it are used: see cut()
    };
    struct Wish {
        bool takes_over = false;
        Earlier earlier = Earlier::counts;
        uint64_t nodes = 1;
    };
    // The directory NAME.parts must exist. Throws IN_USE; UNSUPPORTED if a newer version has written the stream.
    WriteAccess(const std::string& directory, const std::string& stream, const Wish& wish);

    // The history that the journal's lines make up. May be called once.
    History take_history();
    const std::string& journal() const { return journal_; }
    const StreamLock& lock() const { return lock_; }
    // The number of this run's segment. Names of its files have it until they are committed.
    uint64_t number() const { return number_; }
    // Whether the earlier run did not end its journal, and nothing proves it dead. Then this run writes nothing into that run's
    // files, and the names of its own files have its number, like those of all later runs.
    bool is_contested() const { return contested_; }
    // The number in the names of this run's parts; 0: none. They also have it after a run with stage = scratch: what that run has
    // left on scratch may arrive at any time, and must not replace a part of this run.
    uint64_t part_number() const { return names_parts_ ? number_ : 0; }

    // With Earlier::is_salvaged: the lines that are ignored once segment() has begun. Nothing if the journal is whole.
    const std::optional<WholeLines::Cut>& cut() const { return cut_; }

    // This run's segment. The first call begins it, unless the constructor has (contested). Throws OVERTAKEN if another run was
    // first.
    OwnSegment& segment();
    // This run's segment, for a run that replaces the stream: from now on, lines of earlier runs are ignored.
    OwnSegment& segment_of_new_stream();
    // Appends a line to the segment; throws OVERTAKEN as OwnSegment::append_line().
    void append(const Json& line, bool sync) { segment().append_line(journal_line(line), sync); }
    bool has_segment() const { return segment_ && segment_->has_begun(); }
    // The path of the segment that this run appends to; before that has begun, of the journal's last segment.
    std::string present_path() const;
    // Whether no other run or command has begun a segment since.
    bool is_last() const;
    bool was_overtaken() const { return segment_ && segment_->was_overtaken(); }  // whether an earlier call has found that one has
    void check_is_last() const;                                                   // throws OVERTAKEN if one has
    // Throws OVERTAKEN if an earlier call has found that one has. Looks at no file.
    void check_not_overtaken() const;
    // Writes the last line of the segment. Throws OVERTAKEN.
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
