#include "preload/call_files.hpp"

#include <string.h>
#include <sys/stat.h>

#include "trace/raw.hpp"

namespace tailrace::preload {
namespace placing {

void ChosenPath::choose(const staging::Opening& opening) {
    if (staging::is_on() && staging::find(path_, opening, text_)) {
        path_ = text_;
        return;
    }
    const PlacedPath placed(AT_FDCWD, path_);
    if (!placed.is_placed()) return;
    if (!placed.exists() && !(opening.creates() && !exists_at(AT_FDCWD, path_) && placed.make_folders())) return;
    memcpy(text_, placed.physical(), strlen(placed.physical()) + 1);
    path_ = text_;
}

}  // namespace placing

namespace staging {
namespace {

constexpr unsigned kNoReplace = 1, kExchange = 2;

Step refused(int code) {
    errno = code;
    return Step::refuse;
}

// Whether a folder may be renamed to this path: removes a folder of this name on scratch. False: that folder is not empty.
bool is_free_for_folder(const StagedPath& to) {
    if (!to.is_folder()) return true;
    const int64_t removed = remove_at(AT_FDCWD, to.scratch(), AT_REMOVEDIR);
    return removed == 0 || removed == -ENOENT;
}

// A name outside of the staged folder: on another file system, as it were.
Step refuse_outside(const TwoPaths& paths) { return refused(has_folder(paths.to_directory, paths.to) ? EXDEV : ENOENT); }

// Whether the file may keep being on scratch under its new name. Not if the new name is outside of the staged folder, or is placed
// by a rule of [place].
bool may_be_on_scratch(const TwoPaths& paths, const StagedPath& to) {
    return to.is_inside() && !placing::PlacedPath(paths.to_directory, paths.to).is_placed();
}

}  // namespace

Step step_of_rename(const TwoPaths& paths, const StagedPath& from, const StagedPath& to, unsigned flags) {
    const bool has_any = from.is_file() || from.is_folder() || to.is_file() || to.is_folder();
    if (!has_any) return Step::at_target;
    if ((flags & kExchange) != 0) return refused(EINVAL);  // like file systems that do not support RENAME_EXCHANGE
    const unsigned kind_to = placing::kind_at(paths.to_directory, paths.to);
    if ((flags & kNoReplace) != 0 && (to.is_file() || kind_to != 0)) return refused(EEXIST);
    if (from.is_file()) {
        if (!may_be_on_scratch(paths, to)) return refuse_outside(paths);
        if (kind_to == placing::kFolder) return refused(EISDIR);
        if (strcmp(from.scratch(), to.scratch()) == 0) return Step::on_scratch;
        const int64_t hidden = remove_at(paths.from_directory, paths.from, 0);
        return hidden == 0 || hidden == -ENOENT ? Step::on_scratch : refused(static_cast<int>(-hidden));
    }
    const bool moves_folder = placing::kind_at(paths.from_directory, paths.from) == placing::kFolder;
    if (!moves_folder) return to.is_file() ? Step::replace : Step::at_target;
    if (to.is_file()) return refused(ENOTDIR);
    if (from.is_inside() && to.is_inside() && from.is_within(to) && to.is_within(from)) return Step::at_target;  // its own name
    if (from.is_folder() && !to.is_inside()) return refuse_outside(paths);
    if (!is_free_for_folder(to)) return refused(ENOTEMPTY);
    return from.is_folder() ? Step::move_folder : Step::at_target;
}

Step step_of_link(const TwoPaths& paths, const StagedPath& from, const StagedPath& to) {
    if (to.is_file()) return refused(EEXIST);
    if (!from.is_file()) return Step::at_target;
    if (!may_be_on_scratch(paths, to)) return refuse_outside(paths);
    return placing::kind_at(paths.to_directory, paths.to) != 0 ? refused(EEXIST) : Step::on_scratch;
}

bool move_folder(const StagedPath& from, const StagedPath& to) {
    const auto rename = [&] {
        return trace::raw::call(SYS_renameat, AT_FDCWD, trace::raw::address(from.scratch()), AT_FDCWD,
                                trace::raw::address(to.scratch()));
    };
    int64_t result = rename();
    if (result == -ENOENT && to.make_folders()) result = rename();
    if (result == 0) return true;
    errno = static_cast<int>(-result);
    return false;
}

}  // namespace staging
}  // namespace tailrace::preload
