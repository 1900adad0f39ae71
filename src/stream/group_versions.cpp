// The versions of a part of several steps: each step brings the metadata that shows it, and a superblock that points to it
// (docs/decisions/0030-a-part-shows-what-is-committed.md).
#include "stream/group.hpp"

namespace tailrace {

// Of a part of several steps: what shows the step is in the file before the ranks agree that it is written. Its superblock follows when
// the step is committed.
void Group::write_version(const std::shared_ptr<Written>& written) {
    // Plain readers may open the part before the first step is committed.
    if (!has_steps()) {
        const auto empty = std::make_shared<const PartVersion>(space_.version(0));
        queue_.run([file = file_, empty] {
            tailrace::write_version(*file, *empty);
            put_in_force(*file, shown_by(*empty));
        });
    }
    const auto version = std::make_shared<const PartVersion>(space_.version(steps_ + 1));
    written->shown_by = shown_by(*version);
    written->is_private = version->is_private;
    queue_.run([file = file_, version] { tailrace::write_version(*file, *version); });
}

void Group::on_step_committed(uint64_t number, const Written& written) {
    committed_ = number + 1;
    if (!space_.has_several_steps() || !role_.is_first_writer()) return;
    unshown_ = written.shown_by;
    if (written.is_private) return;
    // The journal has the step, so it exists, whatever fails now. The next step shows it, too.
    show_error_ = attempt([&] { show(WriteQueue::Needs::commits_and_work(0)); });
}

void Group::show(WriteQueue::Needs needs) {
    const auto put = [file = file_, by = *unshown_, shown = shown_] {
        put_in_force(*file, by);
        *shown = by.steps;
    };
    queue_.run(put, needs);
    unshown_.reset();
}

uint64_t Group::unshown_steps() const {
    const bool shows_steps = space_.has_several_steps() && role_.is_first_writer();
    return shows_steps ? committed_ - *shown_ : 0;
}

void Group::show_all() {
    if (!unshown_ || !file_) return;
    const auto version = std::make_shared<const PartVersion>(space_.version(steps_, true));
    queue_.run([file = file_, version] { tailrace::write_version(*file, *version); });
    unshown_ = shown_by(*version);
    show(WriteQueue::Needs::all_earlier_work());
    queue_.wait();
}

}  // namespace tailrace
