#pragma once

// The build under the sanitizers: time and memory are not the program's own there, and large counts show nothing more.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
