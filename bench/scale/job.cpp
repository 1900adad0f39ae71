#include "job.hpp"

#include <algorithm>

#include "layout/part_boxes.hpp"

namespace tailrace::bench {

std::vector<NamedLayout> all_layouts(uint64_t ranks) {
    std::vector<NamedLayout> layouts;
    for (const char* name : {"fpp", "hds", "split", "node", "shared", "collective", "single"}) {
        const std::string number = std::string(name) == "split" ? ":" + std::to_string(ranks / kRanksOnNode) : "";
        layouts.push_back({name, "layout = '" + (name + number) + "'"});
    }
    return layouts;
}

NamedLayout most_indexed_parts() {
    const std::string preset = "split:" + std::to_string(kMaxIndexParts);
    return {preset, "layout = '" + preset + "'"};
}

Job::Job(const std::string& toml, uint64_t ranks) : config(resolve({parse_options(toml, "layout")})) {
    // As near to a cube as the factors of the number allow.
    const Shape grid = choose_grid(ranks, {ranks, ranks, ranks});
    Shape shape;
    for (const uint64_t blocks : grid) shape.push_back(blocks * kBlockAlong);
    request.layout = config.layout;
    request.topology = {ranks, std::max<uint64_t>(1, ranks / kRanksOnNode)};
    request.stream = kStream;
    request.variables = {{"u", Type::F64, shape, grid}, {"v", Type::F64, shape, grid}, {"T", Type::F32, shape, grid}};
}

Definitions Job::definitions() const {
    Definitions definitions;
    const Shape& shape = request.variables.front().shape;
    const char* const dims[] = {"z", "y", "x"};
    for (size_t d = 0; d < shape.size(); ++d) definitions.define_dimension(dims[d], shape[d]);
    for (const PlanVariable& variable : request.variables)
        definitions.define_variable(variable.name, static_cast<int>(variable.type), 3, dims, 0);
    return definitions;
}

std::vector<std::vector<PartBox>> Job::part_boxes() const {
    const PartMap map = parts();
    std::vector<std::vector<PartBox>> all;
    if (has_one_part(request.layout) || map.parts() > kMaxIndexParts) return all;
    for (const PlanVariable& variable : request.variables) {
        const Decomposition decomposition(variable.shape, variable.grid);
        all.emplace_back();
        for (uint64_t part = 0; part < map.parts(); ++part) {
            uint64_t number = 0;
            for (Box& box : joined_blocks(decomposition, map.first_rank(part), map.last_rank(part)))
                all.back().push_back({part, number++, std::move(box)});
        }
    }
    return all;
}

History Job::history(std::vector<std::vector<PartBox>> boxes) const {
    const uint64_t files = parts().parts();
    uint64_t bytes = 0;
    for (const PlanVariable& variable : request.variables) bytes += volume(variable.shape) * type_bytes(variable.type);
    History history;
    history.runs.push_back({config, Json::object(), definitions(), request.topology.ranks, request.topology.nodes});
    history.plans[1] = std::move(boxes);
    history.groups.push_back(
        {0, request.layout, files, request.topology.ranks, 0, 1, false, 1, bytes, hex_digest(0x0123456789abcdef), false});
    history.steps.push_back({0, 0.0, 0, files, bytes});
    return history;
}

}  // namespace tailrace::bench
