// One way of bringing the steps of a workload to storage.
#pragma once

#include "harness/entry.hpp"
#include "workload.hpp"

namespace bench {

inline constexpr uint64_t chunk_bytes = 1 << 20;

struct Run {
    const Workload *work;
    std::string directory;  // exists and is empty
    bool durable;           // data and names are on the device when write() and end() have returned
    int deflate;            // level of shuffled chunks of chunk_bytes; 0: contiguous arrays. Not every method can
};

class Method {
public:
    virtual ~Method() = default;
    // All collective over the workload's communicator. The clock runs in begin, write and end; read is untimed.
    virtual void begin(const Run &run) { run_ = run; }
    virtual void write(int step) = 0;  // open, write and close the files of one step; durable if so asked
    virtual void end() {}
    // A block as rank `of_rank` wrote it, read from the files. Returns the name of the file for messages.
    virtual std::string read(int step, int variable, int of_rank, void *block) = 0;
    virtual void end_reading() {}

protected:
    const Workload &work() const { return *run_.work; }
    // Whole planes of a block, of chunk_bytes.
    std::array<uint64_t, 3> chunk() const;
    std::string step_path(int step, const char *suffix) const { return bench::step_path(run_.directory, step, suffix); }
    std::string rank_path(int step, int rank, const char *suffix) const;  // a rank's file of a step
    Run run_;
};

using Entry = EntryOf<Method>;  // its files: "rank", a file per rank and step; "one", one file a step
using Entries = std::vector<Entry>;

// One function for each file of methods; to add a method, write its file and add its function here and to all_entries().
void add_raw(Entries &entries);
void add_packed(Entries &entries);
void add_hdf5(Entries &entries);
void add_pnetcdf(Entries &entries);
void add_netcdf4(Entries &entries);
void add_tailrace(Entries &entries);
Entries all_entries();

// Waits until the bytes of a file, or the names in a directory, are on the device.
void sync_path(const std::string &path);
// After the files of a step have been closed: their writers sync them, then rank 0 the directory.
void sync_step(const Run &run, const std::string &path, bool writer);

}  // namespace bench
