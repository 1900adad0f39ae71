#include "maintain/verify.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/paths.hpp"
#include "layout/parts.hpp"
#include "maintain/group_check.hpp"
#include "record/history.hpp"
#include "view/catalog.hpp"
#include "view/index.hpp"

namespace tailrace {
namespace {

struct Findings {
    Json problems = Json::array();
    uint64_t files = 0, bytes = 0, steps = 0;

    void add(const std::string& path, const Json& step, const std::string& what) {
        problems.push_back({{"path", path}, {"step", step}, {"problem", what}});
    }
};

void verify_history(const std::string& directory, const std::string& stream, const History& history, bool deep,
                    Findings& findings) {
    findings.steps = history.steps.size();
    for (const size_t g : history.needed_groups()) {
        const GroupReport report = check_group(directory, stream, history, g, deep);
        findings.bytes += report.bytes;
        findings.files += history.groups[g].parts;
        for (const PartProblem& problem : report.problems)
            findings.add(problem.path, problem.step.value_or(history.groups[g].start), problem.text);
    }
    if (history.torn_bytes > 0)
        findings.add(directory + "/" + journal_path(stream), nullptr,
                     text("its last ", history.torn_bytes,
                          " bytes are a torn line; the next run cuts them off, and so does `tailrace repair ", directory, " -s ",
                          stream, "`"));
    if (history.empty()) return;
    if (const GroupEntry& last = history.groups.back(); last.layout.part_is_dataset()) {
        const std::string dataset = directory + "/" + dataset_path(stream);
        if (last.segment > 0 && !is_same_file(dataset, directory + "/" + group_path(last.layout, stream, last.start, last.segment)))
            findings.add(
                dataset, nullptr,
                text("it does not show the steps of the stream; mend it with `tailrace index ", directory, " -s ", stream, "`"));
        return;
    }
    for (const IndexFile& file : index_files(history, stream))
        if (!path_exists(directory + "/" + file.path))
            findings.add(directory + "/" + file.path, history.steps[file.from].step,
                         text("the index is missing; write it with `tailrace index ", directory, " -s ", stream,
                              "`; the next run does so, too"));
}

// A stream that never had a step has no journal and no files: it is whole. If it has files, the journal was lost.
void verify_without_journal(const std::string& directory, const std::string& stream, Findings& findings) {
    const std::string parts = parts_directory(stream);
    const auto names = list_directory(directory + "/" + parts);
    const bool has_parts = !std::ranges::all_of(names, [](const std::string& name) { return name.starts_with(kPendingPrefix); });
    for (const std::string& path : {has_parts ? parts : "", dataset_path(stream)})
        if (!path.empty() && path_exists(directory + "/" + path))
            findings.add(
                directory + "/" + journal_path(stream), nullptr,
                text("the journal is missing; only it says which steps of ", path, " were committed; restore it from a backup"));
}

}  // namespace

Json verify_stream(const std::string& directory, const std::string& stream, bool deep) {
    require_directory(directory);
    if (!path_exists(directory + "/" + parts_directory(stream))) require_stream(directory, stream);
    const std::string journal = directory + "/" + journal_path(stream);
    Findings findings;
    try {
        if (path_exists(journal))
            verify_history(directory, stream, read_history(journal), deep, findings);
        else
            verify_without_journal(directory, stream, findings);
    } catch (const Error& error) {
        findings.add(journal, nullptr, error.what());
    }
    return {{"ok", findings.problems.empty()}, {"stream", stream},        {"deep", deep},
            {"steps", findings.steps},         {"files", findings.files}, {"bytes", findings.bytes},
            {"problems", findings.problems}};
}

}  // namespace tailrace
