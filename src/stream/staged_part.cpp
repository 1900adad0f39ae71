#include "stream/staged_part.hpp"

#include "base/paths.hpp"

namespace tailrace {

void StagedPart::publish(const std::string& from, const std::string& to, const std::string& root, const std::string& pending,
                         bool sync) const {
    const std::string parts = root + "/" + parts_;
    if (parent_of(to) != parts) make_directories(parent_of(to), parts, sync);
    rename_path(from, to);
    if (sync) sync_directory(parent_of(to));
    // At the target other ranks may be writing into the directory: close() removes it.
    if (is_on_scratch_ && pending != from) remove_tree(pending);
}

void StagedPart::leave(const std::string& part, const std::string& group) {
    if (has_arrived()) return;
    if (!is_on_scratch_) {
        *arrived_ = true;
        return outbox_->count_direct();
    }
    outbox_->hand_over(part.substr(parts_.size() + 1), group.substr(parts_.size() + 1), arrived_);
}

}  // namespace tailrace
