// How far a growing part gets its size ahead of its steps. HDF5 takes the size of a file when it opens it, and reads the superblock
// later; it refuses the file if the superblock says that it is longer. A reader may stand still in between.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tailrace {

// What a part will need at the next step, and in a second at most: steps that are laid out, and bytes that lie outside of them.
struct Growth {
    uint64_t steps = 1;
    uint64_t bytes = 4u << 20;
};

class GrowthAhead {
public:
    // The part has steps of an earlier run. So the first step here does not count what the part has by then as growth.
    void continue_part() { knows_last_ = false; }

    // To be called once for each step. `steps` and `bytes`: that the part has now.
    Growth after_step(double now_s, uint64_t steps, uint64_t bytes) {
        if (!knows_last_) last_ = window_ = before_first({steps, bytes});
        knows_last_ = true;
        const Growth step = since(last_, {steps, bytes}), window = since(window_, {steps, bytes});
        last_ = {steps, bytes};
        if (now_s - window_began_s_ >= kWindowS) {
            before_ = now_s - window_began_s_ < 2 * kWindowS ? window : Growth{0, 0};
            window_ = last_;
            window_began_s_ = now_s;
        }
        const Growth least;
        return {std::max({least.steps, window.steps, before_.steps}),
                std::max({least.bytes, step.bytes, window.bytes, before_.bytes})};
    }

private:
    static constexpr double kWindowS = 1;
    static Growth before_first(const Growth& now) { return {now.steps - std::min<uint64_t>(now.steps, 1), now.bytes}; }
    static Growth since(const Growth& from, const Growth& to) {
        return {to.steps - std::min(from.steps, to.steps), to.bytes - std::min(from.bytes, to.bytes)};
    }

    bool knows_last_ = true;
    double window_began_s_ = 0;
    Growth last_{0, 0}, window_{0, 0}, before_{0, 0};
};

}  // namespace tailrace
