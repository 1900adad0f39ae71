// Questions to the agent of this node, by its Unix socket: the agent finds a file that another node has on scratch, and has it
// delivered to its target (docs/decisions/0048-an-absent-name-is-asked-of-the-other-nodes.md). System calls and the stack alone, so
// that a child of vfork and a signal handler may ask.
#pragma once

#include <stdint.h>

#include <atomic>

namespace tailrace::preload::ask {

extern std::atomic<bool> has_agent;

inline bool is_on() { return has_agent.load(std::memory_order_relaxed); }

// The first byte of a question; the path below the base follows.
enum class Kind : char {
    others = '?',   // another node is to deliver the file
    own = '!',      // this node is to deliver the file
    below = '/',    // all files below the folder are to be taken out of bundles
    removed = 'x',  // the file is about to be removed or renamed: it is in no bundle any more
    names = 'l',    // the names of the files in the folder that other nodes or bundles have
    move = 'm',     // other nodes are to rename a folder on their scratch: its path, kTo, its new path
    back = 'M',     // the same text: those that have done so are to undo it
};

constexpr char kTo[] = "//";  // of Kind::move (TO of python/tailrace/stage/bundle_words.py)
constexpr uint64_t kTextRoom = 2 * 4096 + sizeof kTo;

// The answers: one byte each.
enum class Answer : char {
    wait = 'w',     // a node delivers the file: more answers follow
    done = 'd',     // all nodes have answered: the file is at its target, or there is no closed file of this name; or they have
                    // renamed the folder
    unknown = 'u',  // some node did not answer
};

// Called once. `scratch`: the folder of this run on this node, which belongs to this user and is closed to others.
void begin(const char* scratch);

// Asks, and waits for at most kSilent_ns after each answer. Returns Answer::done or Answer::unknown. `is_silent`: shared by the
// processes of the node, or null; while it is set, no process waits long. `names`: set to the descriptor of a file with the names
// of Kind::names, or to -1 if there is none; the caller closes it.
Answer ask(Kind kind, const char* below, uint64_t bytes, std::atomic<uint32_t>* is_silent, int64_t* names = nullptr);

constexpr uint64_t kSilent_ns = 30'000'000'000, kAfterSilence_ns = 50'000'000;

}  // namespace tailrace::preload::ask
