// The flags that a candidate may give its compiler. Private to this folder.
#ifndef WARPSMITH_COMPILE_FLAG_RULES_H_
#define WARPSMITH_COMPILE_FLAG_RULES_H_

#include <optional>
#include <string>
#include <vector>

namespace warpsmith::compile {

// Why one of `flags` is refused, naming it; nothing when all are fine. Allowed are macros, language
// and optimization settings, diagnostics, -I inside the sources, some for ptxas and the host
// compiler, and -l for what every program may link and for `libraries` ("cublas"). Whatever else a
// compiler knows writes files, runs programs, reads elsewhere or changes the target.
std::optional<std::string> RefusedFlag(const std::vector<std::string>& flags,
                                       const std::vector<std::string>& libraries);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_FLAG_RULES_H_
