// One way to write the steps of a workload.
#pragma once

#include "harness/entry.hpp"
#include "workload.hpp"

#include <string>
#include <vector>

namespace bench {

inline constexpr uint64_t chunk_bytes = 1 << 20;

struct Run {
    const Workload *work;
    std::string directory;  // exists and is empty
    bool durable;           // data and names are on the device when end() returns
    int deflate;            // level of shuffled chunks of chunk_bytes; 0: contiguous arrays. Some methods cannot compress
};

class Method {
public:
    virtual ~Method() = default;
    // All collective over the workload's communicator. The clock runs in begin, write and end; read is untimed.
    virtual void begin(const Run &run) { run_ = run; }
    virtual void write(int step) = 0;  // open, write and close the files of one step
    virtual void end() { sync(); }
    // Reads the block that rank `of_rank` wrote from the files into `block`. Returns the file's name for messages.
    virtual std::string read(int step, int variable, int of_rank, void *block) = 0;
    virtual void end_reading() {}

protected:
    const Workload &work() const { return *run_.work; }
    // The shape of a chunk: whole planes of a block, of about chunk_bytes bytes.
    std::array<uint64_t, 3> chunk() const;
    std::string step_path(int step, const char *suffix) const { return bench::step_path(run_.directory, step, suffix); }
    std::string rank_path(int step, int rank, const char *suffix) const;  // a rank's file of a step
    // For methods that do not sync their files themselves: called when this rank has written and closed a file, which end() then
    // syncs. Small files begin to be written to the device at once, as Tailrace's parts do.
    void written(const std::string &path);
    // Whether a file is on a file system in memory, where reserving space only touches each page once more.
    static bool is_memory(int fd);
    Run run_;

private:
    void sync();
    std::vector<std::string> unsynced_;
};

using Entry = EntryOf<Method>;  // `files`: "rank", a file per rank and step; "one", one file per step; "grows", one file for all
using Entries = std::vector<Entry>;

// One function for each file of methods; to add a method, write its file and add its function here and to all_entries().
void add_raw(Entries &entries);
void add_packed(Entries &entries);
void add_hdf5(Entries &entries);
void add_pnetcdf(Entries &entries);
void add_netcdf4(Entries &entries);
void add_tailrace(Entries &entries);
void add_append(Entries &entries);
Entries all_entries();

}  // namespace bench
