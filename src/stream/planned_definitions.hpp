// What a planned stream would define: the variables of the request, and the coordinates and attributes that it may give.
#pragma once

#include <nlohmann/json.hpp>

#include "layout/plan.hpp"
#include "record/definitions.hpp"

namespace tailrace {

// `submitted`: the request as JSON, whose variables are those of `request`. The variables come first, in their order; then the
// coordinates, static and replicated. A plan has only lengths of dimensions: one with a coordinate of its length has the
// coordinate's name, and other names are made up. Dimensions of the same length count as one dimension that variables share. Throws
// BAD_ARGUMENT, or the errors that defining the stream would throw.
Definitions planned_definitions(const PlanRequest& request, const nlohmann::json& submitted);

}  // namespace tailrace
