// Which of the three protocols of end_step a stream uses.
#include <gtest/gtest.h>

#include "stream/end_step.hpp"

namespace tailrace {
namespace {

StreamConfig config_of(std::vector<std::pair<std::string, std::string>> values) {
    return resolve({Settings{"test", std::move(values)}});
}

Progress after_first_step() {
    Progress progress;
    progress.begin_step();
    progress.freeze_definitions();
    progress.take_step();
    return progress;
}

TEST(StepProtocol, a_file_for_each_rank_and_step_is_written_first) {
    const StreamConfig config = config_of({{"layout", "fpp"}});
    EXPECT_EQ(choose_protocol(config, Definitions(), after_first_step()), StepProtocol::write_first);
    EXPECT_EQ(choose_protocol(config, Definitions(), Progress()), StepProtocol::agreed) << "nothing is planned yet";
}

TEST(StepProtocol, what_other_ranks_could_disturb_is_agreed_on_before) {
    for (const auto& key : std::vector<std::pair<std::string, std::string>>{
             {"layout", "single"}, {"layout", "hds"}, {"layout", "shared"}, {"keep", "3"}, {"steps", "2"}}) {
        std::vector<std::pair<std::string, std::string>> values = {{"layout", "fpp"}};
        if (key.first == "layout")
            values = {key};
        else
            values.push_back(key);
        EXPECT_EQ(choose_protocol(config_of(values), Definitions(), after_first_step()), StepProtocol::agreed)
            << key.first << " = " << key.second;
    }
    Definitions ragged;
    ragged.define_dimension("particle", UINT64_MAX);
    EXPECT_EQ(choose_protocol(config_of({{"layout", "fpp"}}), ragged, after_first_step()), StepProtocol::agreed);
}

TEST(StepProtocol, overlap_has_its_own) {
    for (const char* layout : {"fpp", "single"})
        for (const Progress& progress : {Progress(), after_first_step()})
            EXPECT_EQ(choose_protocol(config_of({{"layout", layout}, {"overlap", "2"}}), Definitions(), progress),
                      StepProtocol::overlapped);
}

}  // namespace
}  // namespace tailrace
