// Every combination of files, writers, steps and tree, and the reason if this version refuses it.
#include "base/error.hpp"
#include "layout/keys.hpp"

namespace tailrace {
namespace {

// 2 and 8 stand for any number.
constexpr const char* kFiles[] = {"one", "2", "per-node", "per-rank"};
constexpr const char* kWriters[] = {"one", "per-node", "all", "dedicated:2"};
constexpr const char* kSteps[] = {"1", "2", "all"};
constexpr const char* kTrees[] = {"flat", "8"};

std::string refusal_of(const std::string& options) {
    try {
        check_config(resolve({parse_options(options, "options")}));
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

}  // namespace

nlohmann::ordered_json combinations_json() {
    auto list = nlohmann::ordered_json::array();
    for (const std::string files : kFiles)
        for (const std::string writers : kWriters)
            for (const std::string steps : kSteps)
                for (const std::string tree : kTrees) {
                    const std::string options =
                        "files = '" + files + "'\nwriters = '" + writers + "'\nsteps = '" + steps + "'\ntree = '" + tree + "'";
                    list.push_back({{"files", files},
                                    {"writers", writers},
                                    {"steps", steps},
                                    {"tree", tree},
                                    {"refusal", refusal_of(options)}});
                }
    return list;
}

}  // namespace tailrace
