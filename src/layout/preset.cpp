// The presets: named points among the layout's choices.
#include <array>

#include "layout/keys.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kHdsTreeEntries = 1000;

// A preset sets all of these choices, and so replaces what an earlier preset or key set.
std::function<void(uint64_t, Layout&)> choose(Files files, Writers writers, uint64_t tree_entries, Stage stage) {
    return [=](uint64_t number, Layout& layout) {
        layout.files = files;
        if (files.kind == Files::Kind::number) layout.files = files_of_number(number);
        layout.writers = writers;
        layout.tree_entries = tree_entries;
        layout.stage = stage;
    };
}

}  // namespace

Files files_of_number(uint64_t number) { return number == 1 ? Files{Files::Kind::one, 0} : Files{Files::Kind::number, number}; }

std::span<const Preset> all_presets() {
    using F = Files::Kind;
    using W = Writers::Kind;
    static const std::array<Preset, 8> presets{{
        {"single", "one file, written by one rank", choose({F::one}, {W::one}, 0, Stage::none)},
        {"fpp", "a file for each rank, all in one directory", choose({F::per_rank}, {W::one}, 0, Stage::none)},
        {"hds", "a file for each rank, in a tree of directories of bounded size",
         choose({F::per_rank}, {W::one}, kHdsTreeEntries, Stage::none)},
        {"split", "N files, each written by one rank for its neighbours", choose({F::number}, {W::one}, 0, Stage::none)},
        {"node", "a file for each node, written by one of its ranks", choose({F::per_node}, {W::one}, 0, Stage::none)},
        {"shared", "one file, written by all ranks", choose({F::one}, {W::all}, 0, Stage::none)},
        {"collective", "one file, written by one rank of each node (two-phase aggregation)",
         choose({F::one}, {W::per_node}, 0, Stage::none)},
        {"scratch", "a file for each rank, on a disk of its node first", choose({F::per_rank}, {W::one}, 0, Stage::scratch)},
    }};
    return presets;
}

}  // namespace tailrace
