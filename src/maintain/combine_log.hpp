// The log of a combine that is not finished, OUTPUT.combining.jsonl. Its first line says what is combined; each further line says
// how many steps are done. A stopped or killed combine continues from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/file.hpp"
#include "base/paths.hpp"
#include "maintain/combine_plan.hpp"
#include "part/image.hpp"

namespace tailrace {

struct CombineProgress {
    uint64_t steps = 0;  // number of copied steps; if it is not 0, the static arrays are copied, too
    uint64_t end = 0;    // end of the output, where the next chunk is written
    ChunkPlaces chunks;  // of the compressed arrays
};

class CombineLog {
public:
    // Locks the log. Throws BAD_ORDER where another process combines to the same output.
    explicit CombineLog(const std::string& output);

    // What earlier calls have copied of this dataset; nothing if the log is of another dataset or empty. `identity`: identifies the
    // dataset.
    std::optional<CombineProgress> read(const std::string& identity, const CombinePlan& plan);
    // To begin anew, call clear(), create the output, then call begin(), which writes the first line.
    void clear() { lock_.set_size(0); }
    void begin(const std::string& identity, const std::string& stream, uint64_t steps) const;
    // `synced`: the data of these steps is on the device.
    void append(const CombinePlan& plan, uint64_t steps, uint64_t end, const ChunkPlaces& chunks, bool synced);
    void remove() const { remove_file(path_); }

private:
    [[noreturn]] void refuse(const std::string& why) const;
    void apply(const Json& line, const CombinePlan& plan, CombineProgress& progress);
    std::string path_;
    File lock_;
    uint64_t logged_steps_ = 0;
};

}  // namespace tailrace
