// The metadata image as HDF5 itself makes it, over the placement driver: for what the encoder (encoded_image.hpp) leaves to it.
#pragma once

#include "part/image_plan.hpp"

namespace tailrace {

Image hdf5_image(const ImagePlan& plan);

}  // namespace tailrace
