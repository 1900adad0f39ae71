// The lock of the names on scratch (place/scratch_counts.hpp), as a drain holds it that delivers files while the program runs.
#pragma once

#include <memory>
#include <string>

#include "place/scratch_counts.hpp"

namespace tailrace {

// The lock of a scratch folder, in the memory that the processes of the run share. Null if no run has made the folder. Throws.
using SharedNames = std::shared_ptr<place::NamesLock>;
SharedNames names_lock_of(const std::string& state_path);

// While it exists, and for kHeld_s at most, no process of the run makes, removes or renames a file on scratch, or opens one for
// writing.
class HeldNames {
public:
    static constexpr double kHeld_s = 0.2;

    // Waits until all calls that change names have ended. Throws IN_USE if one of them lasts longer than a second.
    explicit HeldNames(SharedNames lock);
    HeldNames(const HeldNames&) = delete;
    ~HeldNames();

private:
    bool hold() const;

    const SharedNames lock_;
};

}  // namespace tailrace
