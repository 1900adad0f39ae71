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
    uint64_t steps = 0;  // copied; from 1 on the static arrays, too
    uint64_t end = 0;    // of the output: the next chunk goes there
    ChunkPlaces chunks;  // of the compressed arrays
};

class CombineLog {
public:
    // Locks the log. Throws BAD_ORDER where another process combines to the same output.
    explicit CombineLog(const std::string& output);

    // What earlier calls have done of the same dataset; nothing: of another one, or of none. `identity`: a number of the dataset.
    std::optional<CombineProgress> read(const std::string& identity, const CombinePlan& plan);
    // A combine begins anew: clear the log, then create the output, then write the first line.
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
