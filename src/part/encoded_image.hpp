// The metadata image, encoded by src/format. RATIONALE: microseconds where HDF5 takes milliseconds (decisions/0018).
#pragma once

#include <optional>

#include "part/image_plan.hpp"

namespace tailrace {

// Nothing where HDF5 would make heaps and trees: an object has too many attributes for its header or one of 64 KiB, or there are
// too many arrays for the links of one header.
std::optional<Image> encoded_image(const ImagePlan& plan);

}  // namespace tailrace
