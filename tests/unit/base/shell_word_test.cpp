// Words of commands in messages: a shell reads from their text what they are.
#include "base/shell_word.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>

namespace tailrace {
namespace {

std::string as_bash_reads(const std::string& text) {
    // RATIONALE: the text is handed over in a variable, because popen starts sh, which may not know $'...'.
    ::setenv("WORD", ("printf %s " + text).c_str(), 1);
    const std::unique_ptr<FILE, decltype([](FILE* pipe) { ::pclose(pipe); })> pipe(::popen("exec bash -c \"$WORD\"", "r"));
    char read[4096];
    return {read, std::fread(read, 1, sizeof read, pipe.get())};
}

}  // namespace

TEST(ShellWord, IsReadByAShellAsItWas) {
    for (const std::string& word : {std::string("plain-0.1/x"), std::string("two words"), std::string("it's"), std::string("a\nb"),
                                    std::string("\n'\\\x1b[2J\t\x7f"
                                                "012"),
                                    std::string("$(touch made) `x` \"q\" \\"), std::string("\xc3\xbc \xff"), std::string("~"),
                                    std::string("*"), std::string("\n\xff")}) {
        EXPECT_EQ(as_bash_reads(shell_word(word)), word) << shell_word(word);
        for (const char c : shell_word(word)) EXPECT_FALSE(c == 0x7f || (c >= 0 && c < ' ')) << shell_word(word);
    }
    EXPECT_EQ(as_bash_reads("x" + shell_word("")), "x");
}

TEST(ShellWord, ASimpleNameStaysAsItIs) { EXPECT_EQ(shell_word("/scratch/tailrace-x3_1.a"), "/scratch/tailrace-x3_1.a"); }

}  // namespace tailrace
