#include "stream/step_times.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "layout/value.hpp"

namespace tailrace {

size_t steps_before(const std::vector<double>& times, double time) {
    const auto other = std::ranges::find_if(times, [&](double t) { return t != times.front(); });
    const bool increase = other == times.end() || *other > times.front();
    const auto first = std::ranges::find_if(times, [&](double t) { return increase ? t >= time : t <= time; });
    return static_cast<size_t>(first - times.begin());
}

void StepTimes::add(double time) {
    if (count_ == 0) first_ = second_ = time;
    if (second_ == first_) second_ = time;
    last_ = time;
    ++count_;
}

void StepTimes::check(double time, const std::string& where) const {
    if (count_ == 0 || accepts_all_) return;
    const bool continues = second_ == first_ ? time != last_ : second_ > first_ ? time > last_ : time < last_;
    if (continues) return;
    const std::string now = real_text(time), last = real_text(last_);
    const std::string why =
        time == last_ ? text("the last step has the time ", last, ", too")
                      : text("the last step has the time ", last, ", and the times ", second_ > first_ ? "increase" : "decrease",
                             ", from ", real_text(first_), " to ", real_text(second_));
    fail(Status::BAD_ORDER, where, ": a step at time ", now, " does not follow: ", why,
         ". To write the steps from there on again, open with mode = 'resume' and resume_before = ", now,
         "; to begin anew, with mode = 'replace'; or write to another stream");
}

uint64_t EarlierSteps::next_step() const { return std::max(retained_from, kept > 0 ? numbers[kept - 1] + 1 : 0); }

void EarlierSteps::check_no_hole(const std::string& directory, const std::string& stream) const {
    const size_t committed = numbers.size() - staged;
    if (staged == 0 || kept <= committed) return;
    fail(Status::NOT_FOUND, "stream '", stream, "' in ", directory, ": step ", numbers[committed], " at time ",
         real_text(times[committed]),
         " is staged by an earlier run, and not at its target, so no step can follow it. `tailrace ls ", shell_word(directory),
         "` names its node and folder, and `tailrace drain resume FOLDER` there delivers it. Or resume at a time up to ",
         real_text(times[committed]), ", or take it out: `tailrace rewind ", shell_word(directory), " -s ", shell_word(stream),
         " --steps ", staged, "`");
}

StepTimes EarlierSteps::kept_times() const {
    StepTimes all;
    for (size_t i = 0; i < kept; ++i) all.add(times[i]);
    return all;
}

}  // namespace tailrace
