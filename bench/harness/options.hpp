// The arguments of a bench's program: pairs --key value.
#pragma once

#include "job.hpp"

#include <map>
#include <string>

namespace bench {

struct Options {
    std::map<std::string, std::string> values;

    Options(int argc, char **argv) {
        for (int i = 1; i + 1 < argc; i += 2) {
            const std::string key = argv[i];
            if (!key.starts_with("--")) fail("unexpected argument '" + key + "'; arguments are pairs --key value");
            values[key.substr(2)] = argv[i + 1];
        }
        if (argc % 2 == 0) fail(std::string("argument '") + argv[argc - 1] + "' has no value; arguments are pairs --key value");
    }
    std::string text(const std::string &key) const {
        const auto found = values.find(key);
        if (found == values.end()) fail("--" + key + " is missing; see the head of the program's main.cpp");
        return found->second;
    }
    int number(const std::string &key) const { return std::stoi(text(key)); }
    int number(const std::string &key, int otherwise) const { return values.contains(key) ? number(key) : otherwise; }
};

// The main function of a bench's program: initializes MPI, parses the arguments, calls `run`, and ends the job if a rank fails.
template <typename Run>
int run_program(int argc, char **argv, Run &&run) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    try {
        run(Options(argc, argv));
    } catch (const std::exception &error) {
        fail(error.what());
    }
    MPI_Finalize();
    return 0;
}

}  // namespace bench
