#include "record/box_check.hpp"

#include "base/error.hpp"

namespace tailrace {

void check_stored_box(const Definitions& definitions, size_t v, const PartBox& stored) {
    if (v >= definitions.variables().size())
        fail(Status::CORRUPT, "a box is of variable number ", v, ", but there are only ", definitions.variables().size());
    const Variable& variable = definitions.variables()[v];
    const Box& box = stored.box;
    const size_t dims = variable.shape.size();
    if (box.offset.size() != dims || box.count.size() != dims)
        fail(Status::CORRUPT, "a box of variable '", variable.name, "' has ", box.offset.size(),
             " dimensions, and the variable has ", dims);
    for (size_t d = 0; d < dims; ++d) {
        const uint64_t length = d == 0 && definitions.is_ragged(variable) ? INT64_MAX : variable.shape[d];
        if (box.offset[d] > length || box.count[d] > length - box.offset[d])
            fail(Status::CORRUPT, "a box of variable '", variable.name, "', ", describe(box), ", leaves its dimension of length ",
                 length);
    }
    if (stored.part >= kMostParts) fail(Status::CORRUPT, "a box of variable '", variable.name, "' is in part ", stored.part);
}

}  // namespace tailrace
