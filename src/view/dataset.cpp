#include "view/dataset.hpp"

#include <algorithm>
#include <map>

#include "base/copy.hpp"
#include "layout/netcdf_fill.hpp"
#include "layout/parts.hpp"
#include "record/block_name.hpp"
#include "view/step_boxes.hpp"
#include "view/subindex_sources.hpp"

namespace tailrace {
namespace {

class DatasetBuilder {
public:
    DatasetBuilder(const History& history, const std::string& stream, size_t first, size_t last,
                   const std::vector<Subindex>& subindexes)
        : history_(history), stream_(stream), first_(first), last_(last), definitions_(history.runs.back().definitions),
          storage_(history.runs.back().config.layout.storage), last_group_(last > first ? history.steps[last - 1].group : 0),
          spans_(spans_of_steps(history, first, last)), subindexes_(subindexes) {
        std::vector<uint64_t> lengths(definitions_.ragged().size(), 0);
        for (size_t i = first; i < last; ++i)
            for (size_t k = 0; k < lengths.size(); ++k) lengths[k] += history.steps[i].ragged.at(k);
        definitions_.set_ragged_lengths(lengths);
    }

    Description describe() const {
        Description description;
        description.dimensions = definitions_.dimensions();
        if (last_ > first_) description.time_name = definitions_.time_name();
        description.attributes = definitions_.attributes();
        size_t before = 0;  // the variable whose sources the next one may share
        for (size_t v = 0; v < definitions_.variables().size(); ++v) {
            const Variable& variable = definitions_.variables()[v];
            const bool varies = !variable.is_static && !definitions_.is_ragged(variable);
            Array array{
                definitions_.array_name(variable), variable.type, variable.dims, varies, variable.attributes, variable.fill, {}};
            if (!history_.coordinates.contains(v)) {
                array.sources = v > 0 && have_same_boxes(history_, before, v) ? description.arrays[before].sources : sources_of(v);
                before = v;
                if (array.sources.empty()) array.sources = no_elements(variable, varies);
                array.fill = fill_in_dataset(history_, v);
            }
            if (const Rounding rounding = rounding_of(storage_, variable.type, variable.fill);
                rounding.rounds() && is_packed(variable))
                array.attributes.push_back(rounding_attribute(rounding));
            description.arrays.push_back(std::move(array));
        }
        if (last_ == first_) return description;  // without steps there is no time
        for (const int d : definitions_.ragged()) {
            const Dimension& dimension = definitions_.dimension(d);
            description.arrays.push_back({row_size_name(dimension),
                                          Type::I64,
                                          {},
                                          true,
                                          {text_attribute("long_name", "number of " + dimension.name + " elements of each step"),
                                           text_attribute("sample_dimension", dimension.name)},
                                          {},
                                          {}});
        }
        description.arrays.push_back({definitions_.time_name(), Type::F64, {}, true, definitions_.time_attributes(), {}, {}});
        return description;
    }

private:
    // Whether the last run compresses the variable.
    bool is_packed(const Variable& variable) const {
        return !variable.is_static && !variable.replicated && is_compressed(storage_, variable.shape, type_bytes(variable.type));
    }

    // The source of a variable that no rank has put, or whose parts are gone: a virtual dataset without elements, of which readers
    // get fill values and which takes no space. HDF5 has no virtual scalars; those are written.
    static std::vector<Source> no_elements(const Variable& variable, bool varies) {
        if (variable.shape.empty() || variable.bytes() == 0) return {};
        const Shape none(variable.shape.size(), 0);
        const Box nothing{none, none}, in_time = with_time(nothing, 0, 0);
        return {{"", "", varies ? in_time : nothing, varies ? in_time : nothing}};
    }

    std::vector<Source> sources_of(size_t v) const {
        const Variable& variable = definitions_.variables()[v];
        if (shows_subindexes(variable)) return sources_in_subindexes(history_, v, definitions_, first_, last_, subindexes_);
        std::vector<Source> sources;
        if (definitions_.is_ragged(variable)) return ragged_sources(v);
        if (variable.is_static) {
            // Replicated variables are in every group.
            const GroupEntry* group = variable.replicated ? &history_.groups[last_group_] : history_.static_group(last_group_);
            if (group != nullptr) add_group(sources, v, *group, std::nullopt);
            return sources;
        }
        for (const StepSpan& span : spans_) {
            add_group(sources, v, *span.group, span);
            if (&span == &spans_.front()) sources.reserve(sources.size() * spans_.size());  // most groups have as many
        }
        return sources;
    }

    // Whether the sources of the variable are subindexes. If there are any, they have all variables that vary, and static variables
    // of many parts.
    bool shows_subindexes(const Variable& variable) const {
        if (!variable.is_static) return !subindexes_.empty();
        return !variable.replicated && std::ranges::any_of(subindexes_, &Subindex::is_static);
    }

    void add_group(std::vector<Source>& sources, size_t v, const GroupEntry& group, const std::optional<StepSpan>& span) const {
        if (!history_.has_variable(group, v)) return;
        const Variable& variable = definitions_.variables()[v];
        const Box whole = whole_box(variable.shape);
        const auto add = [&](uint64_t part, uint64_t block, const Box& from, const Box& to) {
            sources.push_back(source_in(group, part, block, span ? with_time(from, span->from, span->steps) : from,
                                        span ? with_time(to, span->to, span->steps) : to));
        };
        if (variable.replicated) return add(0, 0, whole, whole);
        for_each_box(history_, group, v, whole,
                     [&](const PartBox& box) { add(box.part, box.block, whole_box(box.box.count), box.box); });
    }

    Source source_in(const GroupEntry& group, uint64_t part, uint64_t block, const Box& from, const Box& to) const {
        auto file = files_.find({&group, part});
        if (file == files_.end()) file = files_.emplace(std::pair(&group, part), part_path(group, stream_, part)).first;
        return {file->second, block_suffix(block), from, to};
    }

    // The sources of a ragged variable: the dataset has the elements of all steps one after another along the first dimension,
    // without time.
    std::vector<Source> ragged_sources(size_t v) const {
        const Variable& variable = definitions_.variables()[v];
        const size_t k = definitions_.ragged_number(variable);
        std::vector<Source> sources;
        uint64_t before = 0;
        for (size_t i = first_; i < last_; ++i) {
            const StepEntry& step = history_.steps[i];
            const GroupEntry& group = history_.groups[step.group];
            if (!history_.has_variable(group, v)) continue;
            Box whole = whole_box(variable.shape);
            whole.count[0] = step.ragged[k];
            for_each_box(history_, group, v, whole, [&](const PartBox& box) {
                Box to = box.box;
                to.offset[0] += before;
                sources.push_back(
                    source_in(group, box.part, box.block, with_time(whole_box(to.count), step.step - group.start, 1), to));
            });
            before += step.ragged[k];
        }
        return sources;
    }

    const History& history_;
    const std::string& stream_;
    const size_t first_, last_;
    Definitions definitions_;
    const Storage& storage_;
    const uint64_t last_group_;
    const std::vector<StepSpan> spans_;
    const std::vector<Subindex>& subindexes_;
    mutable std::map<std::pair<const GroupEntry*, uint64_t>, SharedText> files_;  // of each part
};

// Writes the fill value to all elements of one array.
void write_fill(File& out, uint64_t address, uint64_t bytes, const std::vector<std::byte>& fill) {
    constexpr uint64_t piece_bytes = 1u << 20;
    std::vector<std::byte> piece(std::min(bytes, piece_bytes));
    repeat(fill, piece);
    for (uint64_t done = 0; done < bytes; done += piece.size())
        out.write_at(address + done, piece.data(), std::min<uint64_t>(piece.size(), bytes - done));
}

// Writes small values at ascending addresses. Values without a gap between them are written by one call.
class SmallValues {
public:
    explicit SmallValues(File& out) : out_(out) {}
    void add(uint64_t address, const void* value, uint64_t bytes) {
        if (address != address_ + held_.size() || held_.size() > kMaxBytes) write();
        if (held_.empty()) address_ = address;
        const auto* from = static_cast<const std::byte*>(value);
        held_.insert(held_.end(), from, from + bytes);
    }
    void write() {
        if (!held_.empty()) out_.write_at(address_, held_.data(), held_.size());
        held_.clear();
    }

private:
    static constexpr size_t kMaxBytes = 1u << 20;
    File& out_;
    uint64_t address_ = 0;
    std::vector<std::byte> held_;
};

}  // namespace

std::vector<std::byte> fill_in_dataset(const History& history, size_t variable) {
    const Variable& of = history.runs.back().definitions.variables()[variable];
    // A variable that later runs added needs a fill value: readers get it for the steps before.
    return of.fill.empty() && history.first_run_with(variable) > 0 ? netcdf_fill(of.type) : of.fill;
}

Description describe_steps(const History& history, const std::string& stream, size_t first, size_t last,
                           const std::vector<Subindex>& subindexes) {
    return DatasetBuilder(history, stream, first, last, subindexes).describe();
}

void write_arrays_without_sources(File& out, const Description& description, const std::vector<uint64_t>& places,
                                  const Placement& placement, const StepBlock& block, const History& history, size_t first) {
    const size_t variables = history.runs.back().definitions.variables().size();
    const auto step_at = [&](uint64_t k) { return block.address + k * placement.step_pitch(); };
    for (size_t i = 0; i < variables; ++i) {
        const Array& array = description.arrays[i];
        if (array.is_virtual()) continue;
        const uint64_t bytes = bytes_of(description, array);
        const auto values = history.coordinates.find(i);
        if (values != history.coordinates.end())
            out.write_at(places[i], values->second.data(), values->second.size());
        else if (!array.fill.empty() && !array.varies)
            write_fill(out, places[i], bytes, array.fill);
        else if (!array.fill.empty())
            for (uint64_t k = 0; k < block.steps; ++k) write_fill(out, step_at(k) + places[i], bytes, array.fill);
    }
    SmallValues values(out);
    for (uint64_t k = 0; k < block.steps; ++k) {
        const StepEntry& step = history.steps[first + k];
        for (size_t r = 0; r < step.ragged.size(); ++r) values.add(step_at(k) + places[variables + r], &step.ragged[r], 8);
        values.add(step_at(k) + places.back(), &step.time, 8);
    }
    values.write();
}

}  // namespace tailrace
