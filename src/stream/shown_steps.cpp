#include "stream/shown_steps.hpp"

#include "gather/agree.hpp"

namespace tailrace {

ShownSteps::Step ShownSteps::write(const File& file, uint64_t steps) {
    // Plain readers may open the part before the first step is committed.
    if (steps == 1) {
        const auto empty = std::make_shared<const PartVersion>(space_.version(0));
        queue_.run([file, empty] {
            write_version(*file, *empty);
            put_in_force(*file, shown_by(*empty));
        });
    }
    const auto version = std::make_shared<const PartVersion>(space_.version(steps));
    queue_.run([file, version] { write_version(*file, *version); });
    return {shown_by(*version), version->is_private};
}

void ShownSteps::on_step_committed(const File& file, const Step& step) {
    unshown_ = step.by;
    if (step.is_private) return;
    // The step is committed, because the journal has it. If showing it fails now, the next step shows it, too.
    error_ = attempt([&] { put(file, WriteQueue::Needs::commits_and_work(0)); });
}

void ShownSteps::put(const File& file, WriteQueue::Needs needs) {
    const auto show = [file, by = *unshown_, shown = shown_] {
        put_in_force(*file, by);
        *shown = by.steps;
    };
    queue_.run(show, needs);
    unshown_.reset();
}

void ShownSteps::show_all(const File& file, uint64_t steps) {
    if (!unshown_ || !file) return;
    const auto version = std::make_shared<const PartVersion>(space_.version(steps, true));
    queue_.run([file, version] { write_version(*file, *version); });
    unshown_ = shown_by(*version);
    put(file, WriteQueue::Needs::all_earlier_work());
    queue_.wait();
}

void ShownSteps::show_last(const File& file, uint64_t steps, bool sync) {
    queue_.wait();
    const PartVersion version = space_.last_version(steps);
    write_last_version(*file, version);
    // The current superblock says that the file is longer, so sync the new superblock before the file is truncated. No further
    // version overwrites the metadata of a private version.
    if (!version.writes.empty()) unshown_ = shown_by(version);
    if (unshown_) {
        if (sync) file->sync();
        put_in_force(*file, *unshown_);
        if (sync) file->sync();
        *shown_ = steps;
        unshown_.reset();
        error_.reset();
    }
    file->set_size(version.file_bytes);
}

}  // namespace tailrace
