// Whether PTX only reads a variable. Private to this folder.
#ifndef WARPSMITH_COMPILE_PTX_READS_H_
#define WARPSMITH_COMPILE_PTX_READS_H_

#include <set>
#include <string>
#include <string_view>

namespace warpsmith::compile {

using VariableNames = std::set<std::string, std::less<>>;

// PTX without its comments. Empty when it holds what could hide a name or an instruction from the
// functions here: preprocessor lines, block comments, quoted text other than pragmas' "nounroll".
std::string CodeOf(std::string_view ptx);

// No store, no atomic, no comparison and no call but vprintf's and an assertion's is given an
// address of these variables, or a register that was made from one, in any order of the
// instructions; nor is one kept in memory or in another variable. `code` is from CodeOf, and not
// empty.
bool OnlyReads(std::string_view code, const VariableNames& variables);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_PTX_READS_H_
