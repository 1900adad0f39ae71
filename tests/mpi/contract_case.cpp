// The case table of tests/contract_cases.toml through the C++ facade: contract_case SCRIPT DIRECTORY ANSWERS.
// tests/test_contract.py says what the lines of a script mean.
#include <tailrace/tailrace.hpp>

#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

namespace {

using tailrace::Block;
using tailrace::Shape;
using Words = std::vector<std::string>;

std::string directory;
std::optional<tailrace::Stream> stream;
std::optional<tailrace::Reader> reader;
// What is put stays until the step has ended.
std::deque<std::vector<double>> reals;
std::deque<std::vector<std::int32_t>> integers;
std::deque<std::string> texts;

Words split(const std::string &text, char at) {
    Words words;
    std::istringstream in(text);
    for (std::string word; std::getline(in, word, at);)
        if (!word.empty()) words.push_back(word);
    return words;
}

// "\\0" is a zero byte; NULL is no text.
std::string decoded(std::string word) {
    if (word == "NULL") return "";
    if (const auto at = word.find("\\0"); at != std::string::npos) word.replace(at, 2, 1, '\0');
    return word;
}

std::vector<std::uint64_t> numbers(const std::string &text) {
    std::vector<std::uint64_t> list;
    if (text != "-")
        for (const std::string &word : split(text, ',')) list.push_back(std::stoull(word));
    return list;
}

tailrace_var_info info_of(const std::string &name) {
    const tailrace_definitions *definitions = nullptr;
    int number = 0;
    tailrace_var_info info{};
    tailrace::check(reader ? tailrace_read_definitions(reader->handle(), &definitions)
                           : tailrace_get_definitions(stream->handle(), &definitions));
    tailrace::check(tailrace_inquire_var_id(definitions, name.c_str(), &number));
    tailrace::check(tailrace_inquire_var_info(definitions, number, &info));
    return info;
}

// Calls work(T{}) with the type of a variable.
template <class Work>
auto with_type(const std::string &name, Work &&work) {
    return info_of(name).type == TAILRACE_I32 ? work(std::int32_t{}) : work(double{});
}

template <class T>
std::deque<std::vector<T>> &kept() {
    if constexpr (std::is_same_v<T, double>)
        return reals;
    else
        return integers;
}

template <class T>
Block<T> block_of(T &value, bool strided, const std::string &at, const std::string &extents) {
    const auto count = numbers(extents);
    auto offset = numbers(at);
    if (offset.empty() && !count.empty()) offset = std::vector<std::uint64_t>(count.size(), 0), offset[0] = TAILRACE_RAGGED;
    const std::uint64_t elements = tailrace::element_count(Shape(count)), step = strided ? 2 : 1;
    std::vector<T> &data = kept<T>().emplace_back(elements * step);
    for (std::uint64_t k = 0; k < elements; ++k) data[k * step] = value++;
    if (!strided) return Block<T>(std::span<const T>(data), Shape(offset), Shape(count));
    std::vector<std::int64_t> stride(count.size());
    auto bytes = static_cast<std::int64_t>(step * sizeof(T));
    for (std::size_t d = count.size(); d-- > 0;) {
        stride[d] = bytes;
        bytes *= static_cast<std::int64_t>(count[d]);
    }
    return Block<T>(data.data(), Shape(offset), Shape(count), tailrace::Strides(stride));
}

// put VAR FIRST HOW [OFFSETS COUNTS]...
void put(const Words &w) {
    const auto typed = [&](auto zero) {
        using T = decltype(zero);
        T value = static_cast<T>(std::stoi(w[3]));
        std::vector<Block<T>> blocks;
        for (std::size_t i = 5; i + 1 < w.size(); i += 2) blocks.push_back(block_of(value, w[4] == "strided", w[i], w[i + 1]));
        stream->put(stream->variable<T>(w[2]), std::span<const Block<T>>(blocks));
    };
    try {
        with_type(w[2], typed);
    } catch (const tailrace::Error &error) {
        // A variable that is not there has no handle: the program reports that to the step.
        if (error.status() == TAILRACE_NOT_FOUND) stream->refuse_step(error.status(), error.what());
        throw;
    }
}

// put_indices VAR FIRST HOW DIM INDICES COUNTS; strides by the contract, which the facade does not have for lists.
void put_indices(const Words &w) {
    with_type(w[2], [&](auto zero) {
        using T = decltype(zero);
        const auto variable = stream->variable<T>(w[2]);
        const auto indices = numbers(w[6]), count = numbers(w[7]);
        const std::uint64_t step = w[4] == "strided" ? 2 : 1, elements = tailrace::element_count(Shape(count));
        std::vector<T> &data = kept<T>().emplace_back(elements * step);
        for (std::uint64_t k = 0; k < elements; ++k) data[k * step] = static_cast<T>(std::stoi(w[3])) + static_cast<T>(k);
        if (step == 1) return stream->put_indices(variable, w[5], indices, data);
        std::vector<std::int64_t> stride(count.size());
        auto bytes = static_cast<std::int64_t>(step * sizeof(T));
        for (std::size_t d = count.size(); d-- > 0; bytes *= static_cast<std::int64_t>(count[d])) stride[d] = bytes;
        tailrace::check(tailrace_put_indices(stream->handle(), w[2].c_str(), w[5].c_str(), indices.size(), indices.data(),
                                             data.data(), stride.data()));
    });
}

void put_strings(const Words &w) {
    const auto variable = stream->variable<char>(w[2]);
    const std::uint64_t width = variable.shape[1], count = w.size() - 4;
    std::string &text = texts.emplace_back(count * width, '\0');
    for (std::size_t i = 4; i < w.size(); ++i) text.replace((i - 4) * width, w[i].size(), w[i]);
    stream->put(variable, Block<char>(std::span<const char>(text), {std::stoull(w[3]), 0U}, {count, width}));
}

void put_whole(const Words &w) {
    with_type(w[2], [&](auto zero) {
        using T = decltype(zero);
        std::vector<T> values;
        for (std::size_t i = 3; i < w.size(); ++i) values.push_back(static_cast<T>(std::stod(w[i])));
        stream->put_replicated(stream->variable<T>(w[2]), values);
    });
}

template <class List>
std::string joined(const List &values) {
    std::ostringstream out;
    for (const auto value : values) out << ' ' << static_cast<std::int64_t>(value);
    return out.str();
}

std::string get(const Words &w, bool shared) {
    return with_type(w[2], [&](auto zero) {
        using T = decltype(zero);
        const Shape count = shared ? reader->shape(w[2]) : Shape(numbers(w[4]));
        std::vector<T> values(tailrace::element_count(count));
        if (shared)
            reader->get_shared<T>(w[2], values);
        else
            reader->get<T>(w[2], values, Shape(numbers(w[3])), count);
        return joined(values);
    });
}

std::string get_indices(const Words &w) {
    return with_type(w[2], [&](auto zero) {
        using T = decltype(zero);
        std::vector<T> values(tailrace::element_count(Shape(numbers(w[5]))));
        reader->get_indices<T>(w[2], w[3], numbers(w[4]), values);
        return joined(values);
    });
}

std::string get_strings(const Words &w) {
    const std::uint64_t width = reader->shape(w[2])[1], count = std::stoull(w[4]);
    std::string text(count * width, '\0'), words;
    reader->get<char>(w[2], text, {std::stoull(w[3]), 0U}, {count, width});
    for (std::uint64_t i = 0; i < count; ++i) words += " " + std::string(text.substr(i * width, width).c_str());
    return words;
}

std::string shape(const Words &w) {
    const tailrace_var_info info = info_of(w[2]);
    std::string words = info.type == TAILRACE_I32 ? " i4 " : info.type == TAILRACE_F64 ? " f8 " : " S1 ";
    words += std::to_string(info.flags);
    for (int d = 0; d < info.ndims; ++d)
        words += info.shape[d] == TAILRACE_RAGGED ? " ragged" : " " + std::to_string(info.shape[d]);
    return words;
}

std::string toml_of(std::string options) {
    for (char &c : options)
        if (c == ';') c = '\n';
    return options;
}

void open(const Words &w) { stream = std::make_optional<tailrace::Stream>(MPI_COMM_WORLD, directory, w[2], toml_of(w[3])); }

void resume(const Words &w) {
    stream = std::make_optional<tailrace::Stream>(MPI_COMM_WORLD, directory, w[2], toml_of(w[3]), std::stod(w[4]));
}

void define_var(const Words &w) {
    const Words dims = w[5] == "-" ? Words{} : split(w[5], ',');
    if (w[3] == "i4") stream->define_var<std::int32_t>(w[2], dims, std::stoi(w[4]));
    if (w[3] == "f8") stream->define_var<double>(w[2], dims, std::stoi(w[4]));
    if (w[3] == "S1") stream->define_var<char>(w[2], dims, std::stoi(w[4]));
}

std::string owner(const std::string &word) { return word == "." ? "" : word; }

const std::map<std::string, std::function<void(const Words &)>> calls = {
    {"open", open},
    {"resume", resume},
    {"close", [](const Words &) { stream->close(); }},
    {"dim", [](const Words &w) { stream->define_dim(w[2], w[3] == "ragged" ? TAILRACE_RAGGED : std::stoull(w[3])); }},
    {"var", define_var},
    {"text", [](const Words &w) { stream->put_attr(owner(w[2]), w[3], w[4]); }},
    {"texts", [](const Words &w) { stream->put_attr(owner(w[2]), w[3], split(w[4], ',')); }},
    {"number", [](const Words &w) { stream->put_attr(owner(w[2]), w[3], std::stod(w[4])); }},
    {"begin", [](const Words &w) { stream->begin_step(std::stod(w[2])); }},
    {"put", put},
    {"put_indices", put_indices},
    {"strings", put_strings},
    {"whole", put_whole},
    {"refuse",
     [](const Words &) {
         stream->refuse_step(TAILRACE_NOT_FOUND, "no data here");
         throw tailrace::Error(TAILRACE_NOT_FOUND, "no data here");
     }},
    {"end", [](const Words &) { stream->end_step(); }},
    {"flush", [](const Words &) { stream->flush(); }},
    {"read", [](const Words &w) { reader = std::make_optional<tailrace::Reader>(MPI_COMM_WORLD, directory, w[2]); }},
    {"select", [](const Words &w) { reader->select(std::stoi(w[2])); }},
    {"close_read",
     [](const Words &) {
         reader->close();
         reader = std::nullopt;
     }},
};

const std::map<std::string, std::function<std::string(const Words &)>> questions = {
    {"count", [](const Words &) { return " " + std::to_string(stream->step_count()); }},
    {"shape", shape},
    {"steps", [](const Words &) { return joined(reader->steps()); }},
    {"get", [](const Words &w) { return get(w, false); }},
    {"get_shared", [](const Words &w) { return get(w, true); }},
    {"get_indices", get_indices},
    {"get_strings", get_strings},
};

std::string answer(const Words &w) {
    try {
        if (const auto question = questions.find(w[1]); question != questions.end()) return "OK" + question->second(w);
        calls.at(w[1])(w);
        return "OK";
    } catch (const tailrace::Error &error) {
        return tailrace_status_name(error.status());
    }
}

}  // namespace

int main(int argc, char **argv) {
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
    directory = argv[2];
    std::ifstream script(argv[1]);
    std::ofstream answers(std::string(argv[3]) + "/" + std::to_string(rank));
    std::string line;
    for (int number = 0; std::getline(script, line); ++number) {
        Words words = split(line, ' ');
        for (std::string &word : words) word = decoded(word);
        if (words[0] == "all" || words[0] == std::to_string(rank)) answers << number << ' ' << answer(words) << std::endl;
    }
    reader = std::nullopt;
    stream = std::nullopt;
    MPI_Finalize();
    return 0;
}
