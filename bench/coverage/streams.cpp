// Files by the streams of C++. Every byte that is written is read back; status 1: it was wrong.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

int main() {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += std::to_string(i) + (i % 10 == 9 ? '\n' : ' ');
    std::ofstream("words") << text;
    std::fstream both("both", std::ios::in | std::ios::out | std::ios::trunc | std::ios::binary);
    both.write(text.data(), static_cast<std::streamsize>(text.size()));
    both.seekg(0);
    std::string back(text.size(), ' ');
    both.read(back.data(), static_cast<std::streamsize>(back.size()));
    std::ostringstream words;
    words << std::ifstream("words").rdbuf();
    std::filesystem::copy_file("words", "copied");
    std::ifstream copied("copied");
    const std::string again{std::istreambuf_iterator<char>(copied), std::istreambuf_iterator<char>()};
    const bool same = back == text && words.str() == text && again == text;
    std::cout << "as it was written: " << same << std::endl;
    return same ? 0 : 1;
}
