#include "view/group_check.hpp"

#include <algorithm>

#include "base/checksum.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"
#include "base/shell_word.hpp"
#include "layout/parts.hpp"
#include "part/seal.hpp"
#include "view/part_versions.hpp"

namespace tailrace {
namespace {

class GroupCheck {
public:
    GroupCheck(const std::string& directory, const std::string& stream, const History& history, size_t group)
        : directory_(directory), stream_(stream), group_(history.groups[group]), shown_steps_(shown_steps(history, group)) {
        for (const StepEntry& step : history.steps)
            if (step.group == group) steps_.push_back(step.step);
    }

    GroupReport check(bool deep) {
        const uint64_t parts = parts_to_look_at(directory_, stream_, group_);
        for (uint64_t part = 0; part < parts; ++part) {
            const std::string path = directory_ + "/" + part_path(group_, stream_, part);
            attempt(path, std::nullopt, PartProblem::Of::steps, [&] {
                if (!path_exists(path)) fail(Status::NOT_FOUND, "the part is missing");
                const File file = File::open_read(path);
                report_.bytes += file.size_bytes();
                check_part(file, path, deep);
            });
        }
        if (parts < group_.parts)
            report_.problems.push_back({directory_ + "/" + group_path(group_, stream_), std::nullopt, PartProblem::Of::steps,
                                        text("parts ", parts, " to ", group_.parts - 1, " are missing, too")});
        // Each part may be whole but belong to another run, so their bytes are compared with those that the journal has committed.
        const std::string path = directory_ + "/" + group_path(group_, stream_);
        if (group_.layout.steps != 1 || !report_.problems.empty() || group_.steps == 0) return std::move(report_);
        if (report_.bytes != group_.files_bytes)
            report_.problems.push_back(
                {path, std::nullopt, PartProblem::Of::steps,
                 text("its files have ", report_.bytes, " bytes, but ", group_.files_bytes, " were committed")});
        else if (deep && has_digest_ && hex_digest(digest_) != group_.digest)
            report_.problems.push_back({path, std::nullopt, PartProblem::Of::steps,
                                        "its parts are whole, but they are not the parts that were committed"});
        return std::move(report_);
    }

private:
    template <class Work>
    void attempt(const std::string& path, std::optional<uint64_t> step, PartProblem::Of of, Work&& work) {
        try {
            work();
        } catch (const Error& error) {
            report_.problems.push_back({path, step, of, error.what()});
        }
    }

    void check_metadata(const std::string& path, PartState state) {
        if (state == PartState::outdated)
            report_.problems.push_back(
                {path, std::nullopt, PartProblem::Of::lengths,
                 text("readers do not see its last steps, since a run was killed before it showed them; ", "`tailrace index ",
                      shell_word(directory_), " -s ", shell_word(stream_), "` shows them")});
        else if (state != PartState::current)
            report_.problems.push_back(
                {path, std::nullopt, PartProblem::Of::metadata,
                 text("another program has changed it since Tailrace wrote it; its arrays can still be read, ",
                      "but a run refuses to append to it; `tailrace adopt ", shell_word(directory_), " -s ", shell_word(stream_),
                      "` keeps changed attributes, and `tailrace convert ", shell_word(directory_), " NEW_DIRECTORY -s ",
                      shell_word(stream_), "` writes its steps to a new stream")});
    }

    void check_part(const File& file, const std::string& path, bool deep) {
        PartState state = PartState::current;
        if (group_.lengths == Lengths::committed)
            attempt(path, std::nullopt, PartProblem::Of::metadata, [&] {
                state = state_of_part(file, shown_steps_);
                check_metadata(path, state);
            });
        const auto map = read_seal_map(path);
        if (!map || !deep) return;
        for (uint64_t writer = 0; writer < map->writers; ++writer) {
            if (map->static_seal != 0)
                attempt(path, std::nullopt, PartProblem::Of::static_arrays, [&] {
                    check_seal(file, read_seal(file, map->static_address(writer), map->slot_bytes), kSealOfStatic, writer);
                });
            for (const uint64_t step : steps_) {
                const uint64_t in_group = step - group_.start;
                attempt(path, step, PartProblem::Of::steps, [&] {
                    if (map->steps() <= in_group && state == PartState::outdated) return;  // its metadata is not in force yet
                    if (map->steps() <= in_group)
                        fail(Status::CORRUPT, "it has room for ", map->steps(), " steps, but ", in_group + 1, " are committed");
                    check_seal(file, read_seal(file, map->address(in_group, writer), map->slot_bytes), in_group, writer);
                });
            }
        }
    }

    void check_seal(const File& file, const Seal& seal, uint64_t step, uint64_t writer) {
        const std::string which = step == kSealOfStatic ? "static arrays" : text("step ", group_.start + step);
        if (seal.step != step || seal.writer != writer)
            fail(Status::CORRUPT, "the checksums of ", which, ", writer ", writer, ", belong to another step or writer");
        if (const auto bad = verify_records(file, seal.records))
            fail(Status::CORRUPT, which, ": bytes ", bad->address, " to ", bad->address + bad->bytes,
                 " do not match their checksum");
        const std::vector<std::byte> bytes = make_seal(seal.step, seal.writer, seal.records);
        digest_ += Checksum::of(bytes.data(), bytes.size());
        has_digest_ = true;
    }

    const std::string& directory_;
    const std::string& stream_;
    const GroupEntry& group_;
    const uint64_t shown_steps_;
    std::vector<uint64_t> steps_;
    GroupReport report_;
    uint64_t digest_ = 0;
    bool has_digest_ = false;
};

}  // namespace

GroupReport check_group(const std::string& directory, const std::string& stream, const History& history, size_t group, bool deep) {
    return GroupCheck(directory, stream, history, group).check(deep);
}

bool others_need(const History& history, size_t group) {
    return std::ranges::any_of(history.steps, [&](const StepEntry& step) {
        return step.group != group && history.static_group(step.group) == &history.groups[group];
    });
}

bool is_dropped_by_repair(const History& history, size_t group, const PartProblem& problem) {
    if (problem.of != PartProblem::Of::steps || history.groups[group].steps == 0) return false;
    return problem.step.has_value() || !others_need(history, group);
}

}  // namespace tailrace
