// What is done with the winners of a replay: they are built for real.
#ifndef WARPSMITH_TOOLS_WINNERS_H_
#define WARPSMITH_TOOLS_WINNERS_H_

#include <vector>

#include "machine.h"
#include "search.h"

namespace warpsmith::cli {

// Compiles every winner with the compiler that is here, and prints its resources beside those of
// the recorded artifact. Without a compiler it says so and what to do; that is no Error.
Status CompileWinners(Machine& machine, const std::vector<SearchEnd>& ends);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_WINNERS_H_
