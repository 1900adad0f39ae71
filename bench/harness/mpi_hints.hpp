// MPI-IO hints as a value, so that an entry can both set and print them. Unknown hints are ignored by the MPI library.
#pragma once

#include <mpi.h>

#include <map>
#include <string>

namespace bench {

using Hints = std::map<std::string, std::string>;

class Info {
public:
    explicit Info(const Hints &hints) {
        MPI_Info_create(&info_);
        for (const auto &[key, value] : hints) MPI_Info_set(info_, key.c_str(), value.c_str());
    }
    Info(const Info &) = delete;
    Info &operator=(const Info &) = delete;
    ~Info() { MPI_Info_free(&info_); }
    MPI_Info get() const { return info_; }

private:
    MPI_Info info_ = MPI_INFO_NULL;
};

inline std::string hints_text(const Hints &hints) {
    std::string text;
    for (const auto &[key, value] : hints) text += ", " + key + "=" + value;
    return text;
}

}  // namespace bench
