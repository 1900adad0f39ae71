#include "stream/part_boxes.hpp"

#include "gather/box_words.hpp"
#include "gather/words.hpp"

namespace tailrace {

// For each box these words: how many consecutive variables have it; the first of them; the part; the box's number in its variable;
// the number of dimensions; the box.
std::vector<uint64_t> part_box_words(const std::vector<BoxPlan>& boxes, uint64_t part) {
    std::vector<uint64_t> words;
    size_t count_at = 0;
    for (size_t i = 0; i < boxes.size(); ++i) {
        const BoxPlan& planned = boxes[i];
        const bool repeats = i > 0 && planned.variable == boxes[i - 1].variable + 1 && planned.number == boxes[i - 1].number &&
                             planned.box == boxes[i - 1].box;
        if (repeats) {
            ++words[count_at];
            continue;
        }
        count_at = words.size();
        words.insert(words.end(), {1, planned.variable, part, planned.number, planned.box.count.size()});
        put_box(words, planned.box);
    }
    return words;
}

PartBoxes collect_part_boxes(const Communicator& ranks, const std::vector<uint64_t>& mine, uint64_t most, size_t variables) {
    PartBoxes boxes(variables);
    const std::vector<uint64_t> all = collect_words(ranks, mine, most);
    for (size_t at = 0; at < all.size();) {
        if (all[at] == 0) {  // behind the words of a rank
            ++at;
            continue;
        }
        const uint64_t count = all[at], first = all[at + 1], part = all[at + 2], number = all[at + 3], dims = all[at + 4];
        at += 5;
        const Box box = take_box(all, at, dims);
        for (uint64_t v = first; v < first + count; ++v) boxes[v].push_back({part, number, box});
    }
    return boxes;
}

}  // namespace tailrace
