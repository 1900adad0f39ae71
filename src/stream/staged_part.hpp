// The part of this rank in a group of a stream with stage = scratch: its way from the pending name to the target. It begins on
// scratch, or, where that has no room, at the target.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "stream/outbox.hpp"

namespace tailrace {

class StagedPart {
public:
    // `root` contains NAME.parts: that of the outbox, or the stream's directory. `parts`: NAME.parts.
    StagedPart(Outbox* outbox, const std::string& root, std::string parts)
        : outbox_(outbox), is_on_scratch_(outbox != nullptr && outbox->root() == root), parts_(std::move(parts)) {}

    bool is_staged() const { return outbox_ != nullptr; }
    bool is_on_scratch() const { return is_on_scratch_; }
    // Gives the part its name. The rank does so before the ranks agree: until the step is staged, no process looks for it.
    // `pending`: the path of the pending group.
    void publish(const std::string& from, const std::string& to, const std::string& root, const std::string& pending,
                 bool sync) const;
    // Gives the complete part to the drain. The paths are below the directory that contains NAME.parts.
    void leave(const std::string& part, const std::string& group);
    bool has_arrived() const { return arrived_->load(); }

private:
    Outbox* const outbox_;  // null: stage = none
    const bool is_on_scratch_;
    const std::string parts_;
    const Outbox::Arrived arrived_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace tailrace
