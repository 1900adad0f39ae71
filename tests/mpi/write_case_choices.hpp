// The command line of write_case and read_case.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

#include "end_job.hpp"
#include "write_case_blocks.hpp"

namespace write_case {

inline int rank_of_world;

inline void check(int status) {
    if (status == TAILRACE_OK) return;
    std::fprintf(stderr, "rank %d: %s: %s\n", rank_of_world, tailrace_status_name(status), tailrace_error_message());
    end_job(1);
}

struct Case {
    std::map<std::string, std::string> choices = {
        {"set", "climate"}, {"decomposition", "rows"}, {"memory", "dense"}, {"steps", "1"},
        {"size", "3,10,8"}, {"order", "plain"},        {"dedicated", "0"},  {"end", "all"}};
    std::map<std::string, uint64_t> lengths;
    std::vector<Variable> variables;
    uint64_t rank = 0, ranks = 1;

    Shape shape_of(const Variable& variable) const {
        Shape shape;
        for (const std::string& dim : variable.dims) shape.push_back(lengths.at(dim));
        return shape;
    }
};

inline bool read_choices(int argc, char** argv, int first, Case& c) {
    for (int i = first; i < argc; ++i) {
        const std::string word = argv[i];
        const size_t equals = word.find('=');
        const auto choice = c.choices.find(word.substr(0, equals));
        if (equals == std::string::npos || choice == c.choices.end()) return false;
        choice->second = word.substr(equals + 1);
    }
    std::istringstream size(c.choices["size"]);
    for (const char* dim : {"lev", "lat", "lon"}) {
        std::string length;
        std::getline(size, length, ',');
        c.lengths[dim] = std::strtoull(length.c_str(), nullptr, 10);
    }
    c.variables = variables_of(c.choices["set"]);
    return !c.variables.empty();
}

}  // namespace write_case
