#include "maintain/adopt.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "layout/parts.hpp"
#include "part/attribute_reader.hpp"
#include "part/codec.hpp"
#include "part/conventions.hpp"
#include "part/part_reader.hpp"
#include "record/element_text.hpp"
#include "record/write_access.hpp"
#include "stream/dataset_steps.hpp"
#include "view/catalog.hpp"
#include "view/group_check.hpp"
#include "view/part_versions.hpp"

namespace tailrace {
namespace {

class Adoption {
public:
    Adoption(const std::string& directory, const std::string& stream, bool takes_over)
        : directory_(directory), stream_(stream), access_(directory, stream, {.takes_over = takes_over}),
          history_(access_.take_history()) {}

    Json run() {
        if (history_.empty() || !history_.groups.back().layout.part_is_dataset())
            fail(Status::UNSUPPORTED, "stream '", stream_, "' in ", directory_, " has no file that is the dataset itself ",
                 "(files = one, steps = all), so nothing can be adopted");
        if (access_.is_contested())
            fail(Status::IN_USE, "stream '", stream_, "' in ", directory_,
                 ": the run that wrote it may still live; try again later");
        const size_t group = history_.groups.size() - 1;
        if (state_of_part(path(), history_, group) == PartState::changed) {
            check_arrays();
            check_values(group);
            take_attributes();
            if (!changed_.empty()) access_.append(run_line(history_.runs.back()), true);
            show_steps(path(), history_, shown_steps(history_, group));
        }
        access_.end();
        return {{"stream", stream_}, {"steps", history_.steps.size()}, {"path", path()}, {"changed", changed_}};
    }

private:
    const GroupEntry& group() const { return history_.groups.back(); }
    std::string path() const { return directory_ + "/" + part_path(group(), stream_, 0); }
    [[noreturn]] void refuse(const std::string& why) const {
        fail(Status::UNSUPPORTED, path(), ": ", why,
             ", which cannot be adopted; write its steps to a new stream with `tailrace convert ", shell_word(directory_),
             " NEW_DIRECTORY -s ", shell_word(stream_), "`, or restore the file from a copy");
    }

    bool is_stored(const Variable& variable) const { return group().has_static || !variable.is_static || variable.replicated; }

    // Refuses a file that has not exactly the arrays of the stream.
    void check_arrays() const {
        const Definitions& definitions = history_.runs.back().definitions;
        std::vector<std::string> known = {definitions.time_name()};
        for (const Dimension& dimension : definitions.dimensions()) known.push_back(dimension.name);
        for (const Variable& variable : definitions.variables()) known.push_back(definitions.array_name(variable));
        for (const std::string& name : array_names(path()))
            if (std::ranges::find(known, name) == known.end()) refuse(text("variable or dimension '", name, "' was added"));
        const uint64_t steps = history_.steps.back().step + 1 - group().start;
        const PartReader reader(path());
        for (const Variable& variable : definitions.variables())
            if (is_stored(variable))
                (void)reader.find({definitions.array_name(variable), variable.type, variable.shape, !variable.is_static},
                                  steps - 1);
        if (const uint64_t there = reader.steps_of(definitions.time_name()); there != steps)
            refuse(text("it has ", there, " steps, and the stream has ", steps));
        if (!stores_where_laid_out(path(), history_, steps)) refuse("it was written anew");
    }

    // Refuses a file whose steps do not match their checksums, if the stream has checksums.
    void check_values(size_t number) const {
        for (const PartProblem& problem : check_group(directory_, stream_, history_, number, true).problems)
            if (problem.of != PartProblem::Of::metadata) refuse("values were changed: " + problem.text);
    }

    void take_attributes() {
        Definitions definitions = history_.runs.back().definitions;
        take(definitions, "", definitions.attributes());
        take(definitions, definitions.time_name(), definitions.time_attributes());
        const std::vector<Variable> variables = definitions.variables();
        for (const Variable& variable : variables)
            if (is_stored(variable)) take(definitions, variable.name, variable.attributes);
        RunEntry run = history_.runs.back();
        run.definitions = std::move(definitions);
        history_.runs.push_back(std::move(run));
    }

    // Takes over the attributes of a variable, or of the file if `variable` is empty.
    void take(Definitions& definitions, const std::string& variable, const std::vector<Attribute>& before) {
        const bool is_variable = !variable.empty() && variable != definitions.time_name();
        std::vector<Attribute> now = read_attributes(
            path(), is_variable ? definitions.array_name(definitions.variables()[definitions.index_of(variable)]) : variable);
        if (!find_attribute(before, kBitRoundAttribute))
            std::erase_if(now, [](const Attribute& a) { return a.name == kBitRoundAttribute; });
        const auto note = [&](const std::string& name) {
            const Attribute *was = find_attribute(before, name), *is = find_attribute(now, name);
            if (are_same(was, is)) return;
            if (name == kFillAttribute) refuse(text("_FillValue of '", variable, "' was changed"));
            changed_.push_back(
                {{"variable", variable}, {"attribute", name}, {"before", attribute_text(was)}, {"now", attribute_text(is)}});
        };
        for (const Attribute& attribute : before) note(attribute.name);
        for (const Attribute& attribute : now)
            if (find_attribute(before, attribute.name) == nullptr) note(attribute.name);
        definitions.replace_attributes(variable, std::move(now));
    }

    const std::string directory_, stream_;
    WriteAccess access_;
    History history_;
    Json changed_ = Json::array();
};

}  // namespace

Json adopt_stream(const std::string& directory, const std::string& stream, bool takes_over) {
    require_stream(directory, stream);
    return Adoption(directory, stream, takes_over).run();
}

}  // namespace tailrace
