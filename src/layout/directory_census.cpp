#include "layout/directory_census.hpp"

namespace tailrace {

void DirectoryCensus::add(std::string_view path) {
    size_t depth = 0;
    for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
        const std::string_view name = path.substr(0, slash);
        path.remove_prefix(slash + 1);
        if (depth + 1 == levels_.size() || levels_[depth + 1].name != name) {
            levels_.resize(depth + 1);
            most_entries_ = std::max(most_entries_, ++levels_[depth].entries);
            levels_.push_back({std::string(name), 0});
            ++directories_;
        }
        ++depth;
    }
    levels_.resize(depth + 1);
    most_entries_ = std::max(most_entries_, ++levels_[depth].entries);
}

}  // namespace tailrace
