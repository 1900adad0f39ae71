#include "view/subindex_sources.hpp"

#include <algorithm>

#include "layout/join.hpp"
#include "record/block_name.hpp"
#include "view/dataset.hpp"
#include "view/step_boxes.hpp"

namespace tailrace {
namespace {

// The boxes of the parts that a subindex shows of a group, joined.
std::vector<Box> boxes_of_subindex(const History& history, const GroupEntry& group, const Variable& variable, size_t v,
                                   const Box& whole, const Subindex& subindex) {
    if (variable.replicated) return subindex.first_part == 0 && whole.elements() > 0 ? std::vector{whole} : std::vector<Box>{};
    std::vector<Box> boxes;
    for_each_box(history, group, v, whole, [&](const PartBox& box) {
        if (subindex.shows(box.part)) boxes.push_back(box.box);
    });
    return boxes.size() > 1 ? join_blocks(std::move(boxes)) : boxes;
}

// The sources of one variable in all subindexes, and the last ones of them, which further steps may lengthen.
class SubindexSources {
public:
    SubindexSources(const History& history, size_t variable, const Definitions& definitions)
        : history_(history), v_(variable), variable_(definitions.variables()[variable]) {}

    // Adds steps of a group. `steps.to` is the number in the dataset.
    void add(const Subindex& subindex, const StepSpan& steps) {
        if (!history_.has_variable(*steps.group, v_)) return;
        std::vector<Box> boxes = boxes_of_subindex(history_, *steps.group, variable_, v_, whole_box(variable_.shape), subindex);
        const uint64_t at = steps.group->start + steps.from - subindex.start;
        const bool continues = &subindex == last_subindex_ && at == next_at_ && steps.to == next_to_ && boxes == last_boxes_;
        if (continues)
            for (size_t k = sources_.size() - boxes.size(); k < sources_.size(); ++k)
                sources_[k].from.count[0] += steps.steps, sources_[k].to.count[0] += steps.steps;
        else
            for (const Box& box : boxes)
                sources_.push_back({subindex.path, "", with_time(box, at, steps.steps), with_time(box, steps.to, steps.steps)});
        last_subindex_ = &subindex, last_boxes_ = std::move(boxes);
        next_at_ = at + steps.steps, next_to_ = steps.to + steps.steps;
    }
    // Adds a step of a ragged variable. Its rows begin at `row` in the dataset.
    void add_rows(const Subindex& subindex, const StepEntry& step, uint64_t rows, uint64_t row) {
        const GroupEntry& group = history_.groups[step.group];
        if (!history_.has_variable(group, v_)) return;
        Box whole = whole_box(variable_.shape);
        whole.count[0] = rows;
        for (const Box& box : boxes_of_subindex(history_, group, variable_, v_, whole, subindex)) {
            Box to = box;
            to.offset[0] += row;
            sources_.push_back({subindex.path, "", with_time(box, step.step - subindex.start, 1), to});
        }
    }
    void add_static(const Subindex& subindex, const GroupEntry& group) {
        for (const Box& box : boxes_of_subindex(history_, group, variable_, v_, whole_box(variable_.shape), subindex))
            sources_.push_back({subindex.path, "", box, box});
    }
    std::vector<Source> take() { return std::move(sources_); }

private:
    const History& history_;
    const size_t v_;
    const Variable& variable_;
    std::vector<Source> sources_;
    const Subindex* last_subindex_ = nullptr;
    std::vector<Box> last_boxes_;
    uint64_t next_at_ = 0, next_to_ = 0;
};

class SubindexBuilder {
public:
    SubindexBuilder(const History& history, const std::string& stream, const Subindex& subindex)
        : history_(history), stream_(stream), subindex_(subindex), definitions_(history.runs.back().definitions),
          spans_(spans_of_steps(history, subindex.from, subindex.to)), static_group_(group_of_static()) {
        std::vector<uint64_t> longest(definitions_.ragged().size(), 0);
        for (size_t i = subindex.from; i < subindex.to; ++i)
            for (size_t k = 0; k < longest.size(); ++k) longest[k] = std::max(longest[k], history.steps[i].ragged.at(k));
        definitions_.set_ragged_lengths(longest);
    }

    Description describe() const {
        Description description;
        description.dimensions = definitions_.dimensions();
        const auto& variables = definitions_.variables();
        size_t before = variables.size();  // the variable whose sources the next one may share
        Sources shared;
        for (size_t v = 0; v < variables.size(); ++v) {
            const Variable& variable = variables[v];
            if (variable.is_static != subindex_.is_static || history_.coordinates.contains(v)) continue;
            if (subindex_.is_static && variable.replicated) continue;
            if (before == variables.size() || !have_same_boxes(history_, before, v))
                shared = subindex_.is_static ? of_static(v) : of_steps(v);
            before = v;
            if (shared.empty()) continue;
            description.arrays.push_back(
                {variable.name, variable.type, variable.dims, !variable.is_static, {}, fill_in_dataset(history_, v), shared});
        }
        if (subindex_.is_static) return description;
        description.time_name = definitions_.time_name();
        description.arrays.push_back({definitions_.time_name(), Type::F64, {}, true, {}, {}, {}});
        return description;
    }

private:
    const GroupEntry* group_of_static() const {
        return subindex_.is_static && !history_.steps.empty() ? history_.static_group(history_.steps.back().group) : nullptr;
    }

    // A source in a part; its path begins with "../", since the subindexes' directory is in NAME.parts, as all parts are.
    Source source_in(const GroupEntry& group, const PartBox& box, const Box& from, const Box& to) const {
        return {"../" + part_path(group, stream_, box.part).substr(parts_directory(stream_).size() + 1), block_suffix(box.block),
                from, to};
    }

    template <class Visit>
    void for_each_shown(const GroupEntry& group, size_t v, const Box& whole, Visit&& visit) const {
        if (!history_.has_variable(group, v)) return;
        if (definitions_.variables()[v].replicated) {
            if (subindex_.first_part == 0 && whole.elements() > 0) visit(PartBox{0, 0, whole});
            return;
        }
        for_each_box(history_, group, v, whole, [&](const PartBox& box) {
            if (subindex_.shows(box.part)) visit(box);
        });
    }

    std::vector<Source> of_static(size_t v) const {
        std::vector<Source> sources;
        if (static_group_ != nullptr)
            for_each_shown(*static_group_, v, whole_box(definitions_.variables()[v].shape), [&](const PartBox& box) {
                sources.push_back(source_in(*static_group_, box, whole_box(box.box.count), box.box));
            });
        return sources;
    }

    std::vector<Source> of_steps(size_t v) const {
        const Variable& variable = definitions_.variables()[v];
        const bool is_ragged = definitions_.is_ragged(variable);
        const size_t k = is_ragged ? definitions_.ragged_number(variable) : 0;
        std::vector<Source> sources;
        const auto add = [&](const GroupEntry& group, const Box& whole, uint64_t in_group, uint64_t steps) {
            for_each_shown(group, v, whole, [&](const PartBox& box) {
                sources.push_back(source_in(group, box, with_time(whole_box(box.box.count), in_group, steps),
                                            with_time(box.box, group.start + in_group - subindex_.start, steps)));
            });
        };
        if (!is_ragged) {
            for (const StepSpan& span : spans_) add(*span.group, whole_box(variable.shape), span.from, span.steps);
            return sources;
        }
        for (size_t i = subindex_.from; i < subindex_.to; ++i) {
            const StepEntry& step = history_.steps[i];
            const GroupEntry& group = history_.groups[step.group];
            Box whole = whole_box(variable.shape);
            whole.count[0] = step.ragged[k];
            add(group, whole, step.step - group.start, 1);
        }
        return sources;
    }

    const History& history_;
    const std::string& stream_;
    const Subindex& subindex_;
    Definitions definitions_;
    const std::vector<StepSpan> spans_;
    const GroupEntry* static_group_;
};

}  // namespace

std::vector<Source> sources_in_subindexes(const History& history, size_t variable, const Definitions& definitions, size_t first,
                                          size_t last, const std::vector<Subindex>& subindexes) {
    const Variable& of = definitions.variables()[variable];
    SubindexSources sources(history, variable, definitions);
    if (of.is_static) {
        const GroupEntry* group = history.static_group(history.steps[last - 1].group);
        for (const Subindex& subindex : subindexes)
            if (subindex.is_static && group != nullptr) sources.add_static(subindex, *group);
    } else if (!definitions.is_ragged(of)) {
        for (const Subindex& subindex : subindexes)
            for (StepSpan span : spans_of_steps(history, subindex.from, subindex.to)) {
                span.to += subindex.from - first;
                sources.add(subindex, span);
            }
    } else {
        const size_t k = definitions.ragged_number(of);
        std::vector<uint64_t> row(last + 1, 0);  // where the rows of each step begin
        for (size_t i = first; i < last; ++i)
            row[i + 1] =
                row[i] + (history.has_variable(history.groups[history.steps[i].group], variable) ? history.steps[i].ragged[k] : 0);
        for (const Subindex& subindex : subindexes)
            for (size_t i = subindex.from; i < subindex.to; ++i)
                sources.add_rows(subindex, history.steps[i], history.steps[i].ragged[k], row[i]);
    }
    return sources.take();
}

Description describe_subindex(const History& history, const std::string& stream, const Subindex& subindex) {
    return SubindexBuilder(history, stream, subindex).describe();
}

}  // namespace tailrace
