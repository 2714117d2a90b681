// How long one call of a command may go on, by its short name.
#ifndef WARPSMITH_TOOLS_CALL_TIME_H_
#define WARPSMITH_TOOLS_CALL_TIME_H_

#include "search/call_time.h"

namespace warpsmith::cli {

using search::CallTime;

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_CALL_TIME_H_
