// The metadata image, encoded here (src/format): microseconds where HDF5 takes milliseconds. RATIONALE: decisions/0018.
#pragma once

#include <optional>

#include "part/image_plan.hpp"

namespace tailrace {

// Nothing where an object has more attributes than fit its header, or one of 64 KiB, or there are more arrays than one header's
// links serve well: HDF5 then makes heaps and trees of them.
std::optional<Image> encoded_image(const ImagePlan& plan);

}  // namespace tailrace
