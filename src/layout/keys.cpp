#include "layout/keys.hpp"

#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "layout/value.hpp"

namespace tailrace {
namespace {

using Set = std::function<void(const std::string&, StreamConfig&)>;
using Get = std::function<std::string(const StreamConfig&)>;

// A key whose value is one word of a list; `at` refers to the choice in the config.
template <class Choice, class At>
Key word_key(std::string name, std::string meaning, std::vector<std::pair<std::string, Choice>> words, At at) {
    std::string allowed;
    for (const auto& [word, choice] : words) allowed += (allowed.empty() ? "" : " | ") + word;
    const Set set = [=](const std::string& value, StreamConfig& config) {
        for (const auto& [word, choice] : words)
            if (word == value) {
                at(config) = choice;
                return;
            }
        bad_value(name, value, allowed);
    };
    const Get get = [=](const StreamConfig& config) {
        for (const auto& [word, choice] : words)
            if (choice == at(config)) return word;
        fail(Status::INTERNAL, name, " has a value without a word");
    };
    return {name, allowed, meaning, set, get};
}

// A key whose value is a size of `least` bytes or more, and a multiple of `multiple`.
template <class At>
Key size_key(std::string name, std::string allowed, std::string meaning, uint64_t least, uint64_t multiple, At at) {
    const Set set = [=](const std::string& value, StreamConfig& config) {
        const auto bytes = parse_size(value);
        if (!bytes || *bytes < least || *bytes % multiple != 0) bad_value(name, value, allowed);
        at(config) = *bytes;
    };
    return {name, allowed, meaning, set, [=](const StreamConfig& config) { return size_text(at(config)); }};
}

template <class At>
Key number_key(std::string name, std::string allowed, std::string meaning, At at) {
    const Set set = [=](const std::string& value, StreamConfig& config) {
        const auto number = parse_number(value);
        if (!number) bad_value(name, value, allowed);
        at(config) = *number;
    };
    return {name, allowed, meaning, set, [=](const StreamConfig& config) { return std::to_string(at(config)); }};
}

std::string preset_names() {
    std::vector<std::string> names;
    for (const Preset& preset : all_presets()) names.push_back(preset.name == "split" ? "split:N" : preset.name);
    return joined(names, " | ");
}

Key layout_key() {
    const std::string allowed = preset_names();
    const Set set = [allowed](const std::string& value, StreamConfig& config) {
        const auto named = parse_counted(value);
        if (!named) bad_value("layout", value, allowed);
        for (const Preset& preset : all_presets()) {
            if (preset.name != named->word) continue;
            const bool takes_number = preset.name == "split";
            if (takes_number != named->number.has_value() || (takes_number && *named->number == 0))
                bad_value("layout", value,
                          takes_number ? "split:N, with N files, such as split:8" : preset.name + ", without a number");
            preset.apply(named->number.value_or(0), config.layout);
            config.preset = value;
            return;
        }
        bad_value("layout", value, allowed);
    };
    return {"layout", allowed, "a preset: sets files, writers, tree and stage, and steps = 1; keys beside it override its choices",
            set, [](const StreamConfig& config) { return config.preset; }};
}

Key files_key() {
    const std::string allowed = "one | per-node | per-rank | N";
    const Set set = [allowed](const std::string& value, StreamConfig& config) {
        Files& files = config.layout.files;
        const auto number = parse_number(value);
        if (value == "one")
            files = {Files::Kind::one};
        else if (value == "per-node")
            files = {Files::Kind::per_node};
        else if (value == "per-rank")
            files = {Files::Kind::per_rank};
        else if (number && *number > 0)
            files = files_of_number(*number);
        else
            bad_value("files", value, allowed + " (N at least 1)");
    };
    const Get get = [](const StreamConfig& config) -> std::string {
        switch (config.layout.files.kind) {
            case Files::Kind::one: return "one";
            case Files::Kind::per_node: return "per-node";
            case Files::Kind::per_rank: return "per-rank";
            case Files::Kind::number: return std::to_string(config.layout.files.number);
        }
        fail(Status::INTERNAL, "files has a value without a word");
    };
    return {"files", allowed, "parts of each step", set, get};
}

Key writers_key() {
    const std::string allowed = "one | per-node | all | dedicated:N";
    const Set set = [allowed](const std::string& value, StreamConfig& config) {
        Writers& writers = config.layout.writers;
        const auto counted = parse_counted(value);
        if (value == "one")
            writers = {Writers::Kind::one};
        else if (value == "per-node")
            writers = {Writers::Kind::per_node};
        else if (value == "all")
            writers = {Writers::Kind::all};
        else if (counted && counted->word == "dedicated" && counted->number.value_or(0) > 0)
            writers = {Writers::Kind::dedicated, *counted->number};
        else
            bad_value("writers", value, allowed + " (N at least 1)");
    };
    const Get get = [](const StreamConfig& config) -> std::string {
        switch (config.layout.writers.kind) {
            case Writers::Kind::one: return "one";
            case Writers::Kind::per_node: return "per-node";
            case Writers::Kind::all: return "all";
            case Writers::Kind::dedicated: return "dedicated:" + std::to_string(config.layout.writers.number);
        }
        fail(Status::INTERNAL, "writers has a value without a word");
    };
    return {"writers", allowed, "ranks that write each part; one is the default where files is not one", set, get};
}

// A number for which one value has a word of its own instead: steps = 'all', tree = 'flat'.
template <class At>
Key number_or_word_key(std::string name, std::string allowed, std::string meaning, std::string word, uint64_t word_stands_for,
                       uint64_t least, At at) {
    const Set set = [=](const std::string& value, StreamConfig& config) {
        const auto number = value == word ? std::optional(word_stands_for) : parse_number(value);
        if (!number || (value != word && *number < least)) bad_value(name, value, allowed);
        at(config) = *number;
    };
    const Get get = [=](const StreamConfig& config) { return at(config) == word_stands_for ? word : std::to_string(at(config)); };
    return {name, allowed, meaning, set, get};
}

// A codec with its levels. Its name alone means level 1.
struct CodecWord {
    const char* word;
    Compression::Kind kind;
    uint64_t most;
};
constexpr CodecWord kCodecs[] = {{"deflate", Compression::Kind::deflate, 9}, {"zstd", Compression::Kind::zstd, 19}};

Key compression_key() {
    std::string allowed = "none";
    for (const CodecWord& codec : kCodecs) allowed += text(" | ", codec.word, "[:N] (N from 1, the default, to ", codec.most, ")");
    const Set set = [allowed](const std::string& value, StreamConfig& config) {
        Compression& compression = config.layout.storage.compression;
        if (value == "none") return void(compression = {});
        const auto counted = parse_counted(value);
        for (const CodecWord& codec : kCodecs) {
            const uint64_t level = counted ? counted->number.value_or(1) : 0;
            if (counted && counted->word == codec.word && level >= 1 && level <= codec.most)
                return void(compression = {codec.kind, level});
        }
        bad_value("compression", value, allowed);
    };
    const Get get = [](const StreamConfig& config) -> std::string {
        const Compression& compression = config.layout.storage.compression;
        for (const CodecWord& codec : kCodecs)
            if (codec.kind == compression.kind) return text(codec.word, ":", compression.level);
        return "none";
    };
    return {"compression", allowed, "compresses large arrays; every NetCDF-4 and HDF5 reader has deflate, not all have zstd", set,
            get};
}

Key time_key() {
    const std::string allowed = "a name of letters, digits and _ that begins with a letter";
    const Set set = [allowed](const std::string& value, StreamConfig& config) {
        const auto part_of_name = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
        if (value.empty() || !std::isalpha(static_cast<unsigned char>(value[0])) ||
            !std::all_of(value.begin(), value.end(), part_of_name))
            bad_value("time", value, allowed);
        config.time_name = value;
    };
    return {"time", allowed, "name of the time dimension and its coordinate", set,
            [](const StreamConfig& config) { return config.time_name; }};
}

// The key resume_before. A time sets mode = resume, too.
Key resume_key() {
    const std::string allowed = "first | TIME, a number";
    const Set set = [allowed](const std::string& value, StreamConfig& config) {
        if (value == "first") return config.resume_before.reset();
        const auto time = parse_real(value);
        if (!time) bad_value("resume_before", value, allowed);
        config.resume_before = time;
        config.mode = "resume";
    };
    const Get get = [](const StreamConfig& config) { return config.resume_before ? real_text(*config.resume_before) : "first"; };
    return {
        "resume_before", allowed,
        "with mode = resume, which a time implies: steps at or after this time leave; first: from the time of the first new step",
        set, get};
}

template <class At>
Key path_key(std::string name, std::string allowed, std::string meaning, At at) {
    const Set set = [=](const std::string& value, StreamConfig& config) {
        if (value.empty()) bad_value(name, value, allowed);
        at(config) = value;
    };
    return {name, allowed, meaning, set, [=](const StreamConfig& config) { return at(config); }};
}

// A function that returns a field of the config by reference, for reading and for setting: `auto&&` is a StreamConfig, const or
// not.
#define FIELD(member) [](auto&& config) -> auto& { return config.member; }

std::vector<Key> layout_keys() {
    std::vector<Key> keys{layout_key(), files_key(), writers_key()};
    keys.push_back(
        number_or_word_key("steps", "1 | N | all (N at least 1)",
                           "output steps in each file; all: one file grows along time; 1 is the default with a preset or with keep",
                           "all", Layout::kAllSteps, 1, FIELD(layout.steps)));
    keys.push_back(number_or_word_key("tree", "flat | N (N at least 8)", "most entries in a directory", "flat", 0, 8,
                                      FIELD(layout.tree_entries)));
    keys.push_back(word_key<Stage>(
        "stage",
        "where parts are written first; scratch: on a disk of the node, and carried to the directory while the run continues",
        {{"none", Stage::none}, {"scratch", Stage::scratch}}, FIELD(layout.stage)));
    keys.push_back(number_key("overlap", "N", "steps that may be in flight while the simulation computes; 0: none",
                              FIELD(layout.overlap_steps)));
    return keys;
}

std::vector<Key> storage_keys() {
    std::vector<Key> keys;
    keys.push_back(
        number_key("stripe_count", "N",
                   "Lustre: storage servers a file is spread over (a prime above 2 is lowered by 1); 0: the directory's default",
                   FIELD(layout.storage.stripe_count)));
    keys.push_back(size_key("stripe_size", "a size that is a multiple of 64 KiB, such as 1 MiB; or 0",
                            "Lustre: bytes on one server before the next; 0: the directory's default", 0, 65536,
                            FIELD(layout.storage.stripe_bytes)));
    keys.push_back(size_key(
        "alignment", "a size that is a multiple of 8, such as 4 KiB or 1 MiB",
        "large arrays and chunks begin at a multiple of it in the file; by default at least the file system's block or stripe", 8,
        8, FIELD(layout.storage.alignment_bytes)));
    keys.push_back(size_key("align_threshold", "a size, such as 64 KiB",
                            "arrays (of one step) and chunks of at least this size are aligned", 0, 1,
                            FIELD(layout.storage.align_threshold_bytes)));
    keys.push_back(compression_key());
    keys.push_back(word_key<bool>("shuffle",
                                  "with compression: stores the first bytes of all elements, then the second bytes, and so on",
                                  {{"on", true}, {"off", false}}, FIELD(layout.storage.shuffle)));
    keys.push_back(size_key("chunk", "a size from 32 KiB to 2 GiB, such as 4 MiB; or 0",
                            "with compression: most bytes that are compressed together; 0: 1 MiB", 0, 1,
                            FIELD(layout.storage.chunk_bytes)));
    keys.push_back(
        number_key("bit_round", "N",
                   "with compression: bits of each float's mantissa that are kept, rounded as netCDF's BitRound does; 0: "
                   "all, nothing is lost",
                   FIELD(layout.storage.bit_round)));
    keys.push_back(word_key<Durability>(
        "durability", "when fsync is called: never, when a file is closed, or at the end of each step",
        {{"none", Durability::none}, {"close", Durability::close}, {"step", Durability::step}}, FIELD(layout.storage.durability)));
    keys.push_back(word_key<bool>("checksum", "writes checksums of all bytes, for `tailrace verify --deep`",
                                  {{"on", true}, {"off", false}}, FIELD(layout.storage.checksum)));
    return keys;
}

std::vector<Key> stream_keys() {
    std::vector<Key> keys;
    keys.push_back(word_key<std::string>("mode",
                                         "what happens to an existing stream of this name; resume: its steps from the time of the "
                                         "first new one on leave, then as append",
                                         {{"append", "append"}, {"replace", "replace"}, {"resume", "resume"}}, FIELD(mode)));
    keys.push_back(word_key<bool>("take_over",
                                  "on: writes a stream that another run seems to write; that run gets an error at its next step",
                                  {{"on", true}, {"off", false}}, FIELD(takes_over)));
    keys.push_back(resume_key());
    keys.push_back(time_key());
    keys.push_back(number_or_word_key("keep", "all | N (N at least 1)",
                                      "committed steps to keep; after each commit, files whose steps are all older are removed",
                                      "all", 0, 1, FIELD(keep_steps)));
    keys.push_back(size_key("overlap_memory", "a size of at least 1 MiB, such as 1 GiB",
                            "memory of each writing rank for data of steps in flight", 1u << 20, 1, FIELD(overlap_bytes)));
    keys.push_back(word_key<OverlapPolicy>(
        "overlap_policy",
        "what happens to a step without room in overlap_memory: end_step waits, the step is dropped, or its data goes to a file",
        {{"block", OverlapPolicy::block}, {"drop", OverlapPolicy::drop}, {"spill", OverlapPolicy::spill}}, FIELD(overlap_policy)));
    keys.push_back(path_key("spill_directory", "a directory of a fast local disk", "where overlap_policy = spill writes its file",
                            FIELD(spill_directory)));
    keys.push_back(path_key("scratch", "auto | a folder on a disk of the node, such as /dev/shm; $NAME is a variable",
                            "with stage = scratch: where parts are written first; auto: the first of $SLURM_TMPDIR, $TMPDIR and "
                            "$LOCALWORKDIR; [stage] of tailrace.toml gives it for all streams",
                            FIELD(scratch)));
    keys.push_back(size_key("min_free", "a size, such as 1 GiB; or 0",
                            "with stage = scratch: a part that would leave less free space on scratch is written at the target; "
                            "[stage] of tailrace.toml gives it for all streams",
                            0, 1, FIELD(min_free_bytes)));
    keys.push_back(size_key("exchange_bytes", "a size of at least 64 KiB, such as 32 MiB",
                            "memory of a writer for other ranks' data", 65536, 1, FIELD(exchange_bytes)));
    keys.push_back(
        number_key("ranks_per_node", "N", "groups ranks by this many, as if into nodes; 0: MPI's nodes", FIELD(ranks_per_node)));
    return keys;
}

#undef FIELD

}  // namespace

std::span<const Key> all_keys() {
    static const std::vector<Key> keys = [] {
        std::vector<Key> all;
        for (auto group : {layout_keys, storage_keys, stream_keys}) std::ranges::move(group(), std::back_inserter(all));
        return all;
    }();
    return keys;
}

std::vector<std::string> key_names() {
    std::vector<std::string> names;
    for (const Key& key : all_keys()) names.push_back(key.name);
    return names;
}

const Key* find_key(const std::string& name) {
    for (const Key& key : all_keys())
        if (key.name == name) return &key;
    return nullptr;
}

void set_key(const std::string& origin, const std::string& name, const std::string& value, StreamConfig& config) {
    const Key* key = find_key(name);
    if (!key) {
        const auto names = key_names();
        fail(Status::BAD_CONFIG, origin, ": unknown key '", name, "'; did you mean '", nearest(name, names),
             "'? The keys are: ", joined(names, ", "));
    }
    try {
        key->set(value, config);
    } catch (const Error& error) {
        throw Error(error.status(), origin + ": " + error.what());
    }
}

}  // namespace tailrace
