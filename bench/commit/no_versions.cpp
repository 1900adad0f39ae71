// In the place of src/stream/group_versions.cpp: a step brings no metadata. The part shows its steps only once it is closed.
#include "stream/group.hpp"

namespace tailrace {

void Group::write_version(const std::shared_ptr<Written>&) {}

void Group::on_step_committed(uint64_t number, const Written&) { committed_ = number + 1; }

uint64_t Group::unshown_steps() const { return 0; }

void Group::show(WriteQueue::Needs) {}

void Group::show_all() {}

}  // namespace tailrace
