// What a person sees of a text that was written to a terminal.
#ifndef WARPSMITH_TESTS_ATTACKS_SCREEN_H_
#define WARPSMITH_TESTS_ATTACKS_SCREEN_H_

#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::attacks {

// The lines in the end, from the first that was written to. Known: line ends, carriage returns, and
// of the escapes "ESC [ n A" (up), "K" and "2 K" (erase from the cursor, the whole line); others,
// such as colours, are left out. A character of several bytes counts as so many columns.
std::vector<std::string> Screen(std::string_view text);

}  // namespace warpsmith::attacks

#endif  // WARPSMITH_TESTS_ATTACKS_SCREEN_H_
