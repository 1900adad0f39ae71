// Names of files within commands that a message names, so that the user can copy them (in Python: tailrace.plain_text.quoted).
#pragma once

#include <string>
#include <string_view>

namespace tailrace {

// The text that a shell reads as one word with these bytes. Control characters become escapes in $'...', which bash, zsh and ksh
// know.
std::string shell_word(std::string_view word);

}  // namespace tailrace
