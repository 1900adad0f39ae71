// The metadata image made by HDF5 itself over the placement driver: for files that the encoder (encoded_image.hpp) cannot encode.
#pragma once

#include "part/image_plan.hpp"

namespace tailrace {

Image hdf5_image(const ImagePlan& plan);

}  // namespace tailrace
