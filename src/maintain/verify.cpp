#include "maintain/verify.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/paths.hpp"
#include "base/shell_word.hpp"
#include "layout/parts.hpp"
#include "part/reading_process.hpp"
#include "record/history.hpp"
#include "record/stream_lock.hpp"
#include "view/arrived_steps.hpp"
#include "view/catalog.hpp"
#include "view/group_check.hpp"
#include "view/index.hpp"

namespace tailrace {
namespace {

// The command that repairs a problem; none: Tailrace has no such command.
enum class Remedy { none, repair, index };

const char* name_of(Remedy remedy) {
    switch (remedy) {
        case Remedy::repair: return "repair";
        case Remedy::index: return "index";
        case Remedy::none: break;
    }
    return "";
}

class Verification {
public:
    Verification(const std::string& directory, const std::string& stream, bool deep)
        : directory_(directory), stream_(stream), deep_(deep) {}

    // Checks the stream. While a run writes, what it has not finished is no problem; if the run changes files meanwhile, checks
    // again.
    Json run() {
        constexpr int kMostLooks = 3;
        for (int look = 0; look < kMostLooks; ++look) {
            problems_ = Json::array();
            notes_ = Json::array();
            files_ = bytes_ = steps_ = 0;
            is_written_now_ = living_writer(directory_, stream_).has_value();
            look_at_all();
            if (problems_.empty() || !is_written_now_) break;
        }
        const bool is_damaged = std::ranges::any_of(
            problems_, [](const Json& problem) { return problem.value("remedy", "") != name_of(Remedy::index); });
        const char* state = is_damaged ? "damaged" : is_written_now_ ? "being written" : "whole";
        return {{"ok", problems_.empty()}, {"state", state},  {"stream", stream_},     {"deep", deep_},  {"steps", steps_},
                {"files", files_},         {"bytes", bytes_}, {"problems", problems_}, {"notes", notes_}};
    }

private:
    void add(const std::string& path, const Json& step, const std::string& what, Remedy remedy) {
        problems_.push_back({{"path", path}, {"step", step}, {"problem", what}, {"remedy", name_of(remedy)}});
    }
    std::string path_of(const std::string& relative) const { return directory_ + "/" + relative; }

    void look_at_all() {
        const std::string journal = path_of(journal_path(stream_));
        try {
            path_exists(journal) ? verify_history(read_history(journal)) : verify_without_journal();
        } catch (const Error& error) {
            add(journal, nullptr, error.what(), Remedy::none);
        }
    }

    void verify_history(const History& history) {
        steps_ = history.steps.size();
        if (const std::string note = note_of_open_files(history, stream_); !note.empty()) notes_.push_back(note);
        if (const std::string staged = text_of_staged(directory_, stream_, history, deep_); !staged.empty() && !is_written_now_)
            notes_.push_back(staged);
        for (const size_t g : history.needed_groups()) verify_group(history, g);
        if (is_written_now_) return;  // the run is about to end the line, and writes the index from time to time
        if (history.torn_bytes > 0)
            add(path_of(journal_path(stream_)), nullptr,
                text("its last ", history.torn_bytes,
                     " bytes are a half-written line; the next run removes them, and so does `tailrace repair ",
                     shell_word(directory_), " -s ", shell_word(stream_), "`"),
                Remedy::repair);
        verify_index(history);
    }

    void verify_group(const History& history, size_t g) {
        const GroupReport report = check_group(directory_, stream_, history, g, deep_);
        bytes_ += report.bytes;
        files_ += history.groups[g].parts;
        for (const PartProblem& problem : report.problems) {
            const bool is_behind = problem.of == PartProblem::Of::lengths;
            if (is_behind && is_written_now_) continue;  // the run is about to show the step
            add(problem.path, problem.step.value_or(history.groups[g].start), problem.text,
                is_behind                                   ? Remedy::index
                : is_dropped_by_repair(history, g, problem) ? Remedy::repair
                                                            : Remedy::none);
        }
    }

    void verify_index(const History& history) {
        if (!has_index(history)) return verify_dataset(history);
        constexpr int kMostNamed = 100;  // most missing files that are listed, since one command writes all
        int missing = 0;
        for (const std::string& file : index_files(history, stream_)) {
            const std::string path = path_of(file);
            if (path_exists(path) || ++missing > kMostNamed) continue;
            add(path, nullptr,
                text("the index is missing; write it with `tailrace index ", shell_word(directory_), " -s ", shell_word(stream_),
                     "`; the next run does so, too"),
                Remedy::index);
        }
    }

    // Checks that NAME.nc is a link to the part that is the dataset, if that part has a number in its name.
    void verify_dataset(const History& history) {
        if (history.empty() || history.groups.back().segment == 0) return;
        const GroupEntry& last = history.groups.back();
        const std::string dataset = path_of(dataset_path(stream_));
        if (!is_same_file(dataset, path_of(group_path(last, stream_))))
            add(dataset, nullptr,
                text("it does not show the steps of the stream; mend it with `tailrace index ", shell_word(directory_), " -s ",
                     shell_word(stream_), "`"),
                Remedy::index);
    }

    // A stream that never had a step has no journal and no files: it is whole. If it has files, the journal was lost.
    void verify_without_journal() {
        if (is_written_now_) return;  // a run names its first parts before it begins the journal
        const std::string parts = parts_directory(stream_);
        // The names of parts, and of directories with parts, begin with the number of a step.
        const bool has_parts = std::ranges::any_of(list_directory(path_of(parts)), [](const std::string& name) {
            return !name.empty() && name.front() >= '0' && name.front() <= '9';
        });
        for (const std::string& path : {has_parts ? parts : "", dataset_path(stream_)})
            if (!path.empty() && path_exists(path_of(path)))
                add(path_of(journal_path(stream_)), nullptr,
                    text("the journal is missing; only it says which steps of ", path, " were committed; restore it from a backup"),
                    Remedy::none);
    }

    const std::string &directory_, &stream_;
    const bool deep_;
    Json problems_ = Json::array(), notes_ = Json::array();
    uint64_t files_ = 0, bytes_ = 0, steps_ = 0;
    bool is_written_now_ = false;
};

}  // namespace

Json verify_stream(const std::string& directory, const std::string& stream, bool deep) {
    require_directory(directory);
    if (!path_exists(directory + "/" + parts_directory(stream))) require_stream(directory, stream);
    return in_reading_process([&](const ChildProgress&) { return Verification(directory, stream, deep).run(); });
}

}  // namespace tailrace
