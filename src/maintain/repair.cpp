#include "maintain/repair.hpp"

#include <algorithm>
#include <ranges>
#include <set>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"
#include "gather/agree.hpp"
#include "layout/parts.hpp"
#include "part/part_reader.hpp"
#include "part/reading_process.hpp"
#include "part/seal.hpp"
#include "record/write_access.hpp"
#include "stream/dataset_steps.hpp"
#include "stream/group.hpp"
#include "stream/group_copy.hpp"
#include "stream/leaving_steps.hpp"
#include "view/catalog.hpp"
#include "view/group_check.hpp"
#include "view/index.hpp"
#include "view/part_versions.hpp"

namespace tailrace {
namespace {

class Repair {
public:
    Repair(const std::string& directory, const std::string& stream, bool takes_over)
        : directory_(directory), stream_(stream),
          access_(directory, stream, {.takes_over = takes_over, .earlier = WriteAccess::Earlier::is_salvaged}) {}

    Json run() {
        history_ = access_.take_history();
        (void)in_reading_process([&](const ChildProgress&) { return try_to_read(); });
        cut_journal();
        if (access_.is_contested()) {
            const StreamPaths paths{directory_, stream_, access_.number(), access_.part_number()};
            copy_dataset(history_, paths, true, access_);
            copy_outdated_group(history_, paths, true, access_);
        } else {
            remove_pending();
            for (const size_t g : history_.needed_groups())
                for (const std::string& path : bring_up_group(directory_, stream_, history_, g))
                    report("shown", path, Json::array(), "a run ended before readers were shown its last step");
        }
        // The last group first: a group with the static arrays of later ones is repaired after these.
        for (const size_t g : history_.needed_groups() | std::views::reverse) repair_group(g);
        for (const size_t g : history_.needed_groups()) {
            const uint64_t parts = parts_to_look_at(directory_, stream_, history_.groups[g]);
            for (uint64_t part = 0; part < parts; ++part) try_write_times(g, part);
        }
        remove_uncommitted();
        const bool is_dataset = !history_.groups.empty() && history_.groups.back().layout.part_is_dataset();
        access_.end();
        if (is_dataset)
            show_dataset(directory_, stream_, history_.groups.back(), access_.number());
        else
            write_index(directory_, stream_, history_, {}, true, access_.number());
        return {{"ok", problems_.empty()},
                {"stream", stream_},
                {"steps", history_.steps.size()},
                {"actions", actions_},
                {"problems", problems_}};
    }

private:
    std::string path_of(const std::string& relative) const { return directory_ + "/" + relative; }
    void report(const std::string& action, const std::string& path, const Json& steps, const std::string& why) {
        actions_.push_back({{"action", action}, {"path", path}, {"steps", steps}, {"why", why}});
    }

    // Reads all files in a child process first. This process then refuses the files on which HDF5 crashed the child.
    Json try_to_read() const {
        (void)attempt([&] { (void)is_index(path_of(dataset_path(stream_)), stream_); });
        for (const size_t g : history_.needed_groups()) {
            const GroupEntry& group = history_.groups[g];
            const std::string& time = history_.runs[group.run].definitions.time_name();
            const uint64_t parts = parts_to_look_at(directory_, stream_, group);
            for (uint64_t part = 0; part < parts; ++part)
                (void)attempt([&] {
                    const std::string path = path_of(part_path(group, stream_, part));
                    const PartReader reader(path);
                    (void)reader.find({time, Type::F64, {}, true}, 0);
                    (void)read_seal_map(path);
                });
        }
        return Json::object();
    }

    void cut_journal() {
        if (access_.cut()) return leave_out(*access_.cut());
        const std::string path = access_.present_path();
        const JournalContent content = read_journal(path);
        if (content.torn_bytes == 0) return;
        File file = File::open_write(path);
        file.set_size(content.intact_bytes);
        file.sync();
        file.close();
        report("cut", path, Json::array(), text("its last ", content.torn_bytes, " bytes were not a whole line"));
    }

    // Drops the lines of the journal from the cut on. Their bytes are kept: this command's segment says that they are not valid.
    void leave_out(const WholeLines::Cut& cut) {
        const std::string where = text("the journal from byte ", cut.at, " of ", cut.path, " on is ignored: ", cut.why);
        if (history_.empty() && !history_.is_static_only())
            fail(Status::CORRUPT, "stream '", stream_, "' in ", directory_, " has no whole step before the damage, so nothing was ",
                 "changed: byte ", cut.at, " of ", cut.path, ": ", cut.why, "; restore the journal from a copy");
        (void)access_.segment();
        report("left out", cut.path, cut.steps, where);
        for (const auto& [start, segment] : cut.groups) set_aside_left_out(start, segment);
        // If the damaged line was a step line, no line says which files that step has: tries the names of all segments.
        for (uint64_t segment = 0; segment <= access_.number(); ++segment) set_aside_left_out(history_.next_step(), segment);
        hide_left_out();
    }

    // Sets aside the files of a dropped group, because later steps need the names.
    void set_aside_left_out(uint64_t start, uint64_t segment) {
        if (history_.groups.empty()) return;
        GroupEntry group = history_.groups.back();
        if (start < history_.next_step() || group.layout.part_is_dataset()) return;
        group.start = start;
        group.segment = segment;
        set_aside(group);
    }

    // Makes a growing part show only the steps that are left.
    void hide_left_out() {
        if (history_.empty()) return;
        const size_t g = history_.groups.size() - 1;
        const GroupEntry& group = history_.groups[g];
        const std::string path = path_of(part_path(group, stream_, 0));
        if (group.layout.steps == 1 || group.steps == 0 || !path_exists(path)) return;
        try {
            const uint64_t there = PartReader(path).steps_of(history_.runs[group.run].definitions.time_name());
            if (group.layout.part_is_dataset() && there > shown_steps(history_, g))
                show_steps(path, history_, shown_steps(history_, g));
        } catch (const Error& error) {
            problems_.push_back({{"path", path}, {"step", group.start}, {"problem", error.what()}});
        }
    }

    void remove_pending() {
        for (const std::string& path : pending_paths(directory_, stream_, access_.number())) {
            remove_tree(path);
            report("removed", path, Json::array(),
                   path.ends_with("index") ? "an index that was not finished" : "a step that was never committed");
        }
    }

    // Removes the parts of a step that is not committed: a run that was killed between renaming them and the journal line leaves
    // them.
    void remove_uncommitted() {
        if (history_.groups.empty() || history_.groups.back().layout.part_is_dataset() || access_.cut()) return;
        const std::string path = path_of(group_path(history_.groups.back().layout, stream_, history_.next_step()));
        if (!path_exists(path)) return;
        remove_tree(path);
        report("removed", path, Json::array(), "a step that was never committed");
    }

    void repair_group(size_t g) {
        const GroupEntry group = history_.groups[g];
        const bool is_needed = others_need(history_, g);
        std::set<uint64_t> bad;
        std::string why;
        for (const PartProblem& problem : check_group(directory_, stream_, history_, g, true).problems) {
            if (!is_dropped_by_repair(history_, g, problem)) {
                problems_.push_back({{"path", problem.path}, {"step", group.start}, {"problem", problem.text}});
                continue;
            }
            if (why.empty()) why = problem.path + ": " + problem.text;
            for (const StepEntry& step : history_.steps)
                if (step.group == g && (!problem.step || *problem.step == step.step)) bad.insert(step.step);
        }
        if (bad.empty()) return;
        const uint64_t shown_before = shown_steps(history_, g);
        if (bad.size() < group.steps) clear_times(group, bad);
        for (const uint64_t step : bad) {
            access_.append(drop_line(step, step, why, is_needed), true);
            history_.drop(step, step, !is_needed);
        }
        report("dropped", path_of(group_path(group, stream_)), bad, why);
        if (history_.groups[g].steps == 0 && !is_needed) set_aside(group);
        if (shown_steps(history_, g) < shown_before) hide_last_steps(g);
    }

    void hide_last_steps(size_t g) {
        const GroupEntry& group = history_.groups[g];
        if (!group.layout.part_is_dataset() || group.steps == 0 || g + 1 < history_.groups.size()) return;
        const std::string path = path_of(part_path(group, stream_, 0));
        if (state_of_part(path, history_, g) == PartState::current) show_steps(path, history_, shown_steps(history_, g));
    }

    void clear_times(const GroupEntry& group, const std::set<uint64_t>& bad) {
        if (!group.layout.part_is_dataset()) return;
        std::vector<uint64_t> in_part;
        for (const uint64_t step : bad) in_part.push_back(step - group.start);
        tailrace::clear_times(path_of(part_path(group, stream_, 0)), history_.runs[group.run].definitions.time_name(), in_part);
    }

    // Writes the times that are missing in a part of several steps. A step gets its time there after it is committed; a run that
    // was killed in between has not written it.
    void try_write_times(size_t g, uint64_t part) {
        const GroupEntry& group = history_.groups[g];
        const std::string path = path_of(part_path(group, stream_, part));
        if (group.layout.steps == 1 || !path_exists(path)) return;
        try {
            write_times(g, group, path);
        } catch (const Error& error) {
            problems_.push_back({{"path", path}, {"step", group.start}, {"problem", error.what()}});
        }
    }

    void write_times(size_t g, const GroupEntry& group, const std::string& path) {
        const std::string& time = history_.runs[group.run].definitions.time_name();
        const PartReader reader(path);
        const File read = File::open_read(path);
        Json written = Json::array();
        for (const StepEntry& step : history_.steps) {
            if (step.group != g) continue;
            const uint64_t address = reader.find({time, Type::F64, {}, true}, step.step - group.start).address;
            double found;
            read.read_at(address, &found, sizeof found);
            if (found == step.time) continue;
            File file = File::open_write(path);
            file.write_at(address, &step.time, sizeof step.time);
            file.sync();
            file.close();
            written.push_back(step.step);
        }
        if (!written.empty()) report("wrote the time", path, written, "a run ended before it wrote it");
    }

    void set_aside(const GroupEntry& group) {
        const std::string from = path_of(group_path(group, stream_));
        if (!path_exists(from)) return;
        std::string to;
        for (int n = 0; n == 0 || path_exists(to); ++n)
            to = text(path_of(parts_directory(stream_)), "/torn-", group.start, n == 0 ? std::string() : text(".", n));
        rename_path(from, to);
        report("set aside", to, Json::array(), "the files of dropped steps; remove them when they are no longer needed");
    }

    const std::string directory_, stream_;
    WriteAccess access_;
    History history_;
    Json actions_ = Json::array(), problems_ = Json::array();
};

}  // namespace

Json repair_stream(const std::string& directory, const std::string& stream, bool takes_over) {
    require_stream(directory, stream);
    return Repair(directory, stream, takes_over).run();
}

}  // namespace tailrace
