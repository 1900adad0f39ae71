#include "stream/part_content.hpp"

#include <algorithm>
#include <string>

#include "layout/parts.hpp"
#include "part/image.hpp"
#include "part/seal.hpp"
#include "record/block_name.hpp"

namespace tailrace {
namespace {

// Adds one array after another, and the dimensions of the part that they need.
class Builder {
public:
    Builder(const Definitions& definitions, const StreamConfig& config)
        : definitions_(definitions), storage_(config.layout.storage) {
        content_.description.time_name = definitions.time_name();
        content_.description.time_unlimited = config.layout.steps != 1;
        content_.description.attributes = definitions.attributes();
    }

    // The part's dimension for the range [offset, offset + count) of a dimension d. The first range of d has d's name, further ones
    // NAME_1, NAME_2 and so on; names that are already used are skipped.
    int dimension(int d, uint64_t offset, uint64_t count) {
        int slices = 0;
        for (const Slice& slice : slices_) {
            if (slice.of == d && slice.offset == offset && slice.count == count) return slice.index;
            if (slice.of == d) ++slices;
        }
        const std::string& whole = definitions_.dimensions()[static_cast<size_t>(d)].name;
        std::string name = whole;
        for (int number = slices; slices > 0 && (name == whole || is_taken(name)); ++number)
            name = whole + "_" + std::to_string(number);
        content_.description.dimensions.push_back({name, count});
        slices_.push_back({d, offset, count, static_cast<int>(slices_.size())});
        return slices_.back().index;
    }

    bool is_taken(const std::string& name) const {
        const auto named = [&](const auto& entry) { return entry.name == name; };
        return name == definitions_.time_name() || std::ranges::any_of(definitions_.dimensions(), named) ||
               std::ranges::any_of(definitions_.variables(), named) || std::ranges::any_of(content_.description.dimensions, named);
    }

    // `planned`: the planned box of the array; null if it has none.
    void add(const Variable& variable, std::string name, const std::vector<int>& dims, std::vector<Attribute> more, PartArray array,
             const BoxPlan* planned = nullptr) {
        Array stored;
        stored.name = std::move(name);
        stored.type = variable.type;
        stored.dims = dims;
        stored.varies = !variable.is_static;
        stored.attributes = variable.attributes;
        stored.attributes.insert(stored.attributes.end(), more.begin(), more.end());
        stored.fill = variable.fill;
        if (planned != nullptr && planned->grid) {
            stored.packing = {*planned->grid, filters_of(storage_, variable.type)};
            if (const Rounding rounding = rounding_of(storage_, variable.type, variable.fill); rounding.rounds())
                stored.attributes.push_back(rounding_attribute(rounding));
            content_.packed.push_back(content_.arrays.size());
        }
        content_.description.arrays.push_back(std::move(stored));
        content_.arrays.push_back(std::move(array));
    }

    void add_whole(size_t v, PartArray array, const BoxPlan* planned = nullptr) {
        const Variable& variable = definitions_.variables()[v];
        std::vector<int> dims;
        for (const int d : variable.dims) dims.push_back(dimension(d, 0, definitions_.dimensions()[static_cast<size_t>(d)].length));
        add(variable, definitions_.array_name(variable), dims, {}, std::move(array), planned);
    }

    void add_box(const BoxPlan& planned, size_t index) {
        const Variable& variable = definitions_.variables()[planned.variable];
        const Box& box = planned.box;
        std::vector<int> dims;
        for (size_t d = 0; d < variable.dims.size(); ++d) dims.push_back(dimension(variable.dims[d], box.offset[d], box.count[d]));
        const std::vector<int64_t> offset(box.offset.begin(), box.offset.end()),
            shape(variable.shape.begin(), variable.shape.end());
        add(variable, block_name(definitions_.array_name(variable), planned.number), dims,
            {number_attribute(kOffsetAttribute, Type::I64, offset.size(), offset.data()),
             number_attribute(kShapeAttribute, Type::I64, shape.size(), shape.data())},
            {PartArray::From::box, planned.variable, index, {}}, &planned);
    }

    // The part stores those slices of a coordinate whose dimensions its arrays use.
    void add_coordinate(size_t v) {
        const Variable& variable = definitions_.variables()[v];
        const std::vector<Slice> slices = slices_;
        for (const Slice& slice : slices)
            if (slice.of == variable.dims[0])
                add(variable, content_.description.dimensions[static_cast<size_t>(slice.index)].name, {slice.index}, {},
                    {PartArray::From::replicated, v, 0, {{slice.offset}, {slice.count}}});
    }

    void add_time() {
        Variable time;
        time.type = Type::F64;
        time.attributes = definitions_.time_attributes();
        add(time, definitions_.time_name(), {}, {}, {PartArray::From::time, 0, 0, {}});
    }

    PartContent finish(const StreamConfig& config, size_t boxes, uint64_t slot_bytes, uint64_t writers) {
        content_.array_of_box.resize(boxes);
        for (size_t a = 0; a < content_.arrays.size(); ++a)
            if (content_.arrays[a].from == PartArray::From::box) content_.array_of_box[content_.arrays[a].box] = a;
        uint64_t statics = 0, varying = 0;
        for (const Array& array : content_.description.arrays)
            content_.slot.push_back(!array.is_placed() ? 0 : array.varies ? varying++ : statics++);
        content_.seal_writers = writers;
        content_.seal_slot_bytes = slot_bytes;
        content_.placement = Placement(part_bytes(content_.description, writers * content_.seal_slot_bytes), config.layout.storage);
        return std::move(content_);
    }

private:
    struct Slice {
        int of;
        uint64_t offset, count;
        int index;
    };
    const Definitions& definitions_;
    const Storage& storage_;
    PartContent content_;
    std::vector<Slice> slices_;
};

}  // namespace

PartContent describe_part(const Definitions& definitions, const StreamConfig& config, const std::vector<BoxPlan>& boxes,
                          uint64_t slot_bytes, bool with_static, uint64_t writers) {
    Builder builder(definitions, config);
    const auto& variables = definitions.variables();
    const bool one_part = has_one_part(config.layout);
    for (size_t i = 0; i < boxes.size(); ++i) {
        const BoxPlan& planned = boxes[i];
        if (variables[planned.variable].is_static && !with_static) continue;
        if (one_part)
            builder.add_whole(planned.variable, {PartArray::From::box, planned.variable, i, {}}, &planned);
        else
            builder.add_box(planned, i);
    }
    for (size_t v = 0; v < variables.size(); ++v)
        if (variables[v].replicated) {
            if (definitions.is_coordinate(variables[v]) && !one_part)
                builder.add_coordinate(v);
            else
                builder.add_whole(v, {PartArray::From::replicated, v, 0, {}});
        }
    builder.add_time();
    return builder.finish(config, boxes.size(), slot_bytes, writers);
}

}  // namespace tailrace
