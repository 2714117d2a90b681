// Foreign text inside generated sources: names come from task and candidate files, which come from
// anywhere. Private to this folder.
#ifndef WARPSMITH_REPORT_REPRODUCE_QUOTING_H_
#define WARPSMITH_REPORT_REPRODUCE_QUOTING_H_

#include <string>
#include <string_view>

namespace warpsmith::reproduce {

// One line that ends no comment and moves no cursor: other bytes than printable ASCII become '?'.
std::string Plain(std::string_view text);

// A C++ string literal, quotes included.
std::string CppLiteral(std::string_view text);

// One word of a POSIX shell's command line.
std::string ShellWord(std::string_view text);

}  // namespace warpsmith::reproduce

#endif  // WARPSMITH_REPORT_REPRODUCE_QUOTING_H_
