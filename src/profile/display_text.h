// Kernel names and a profiler's words as they may be shown: util/display_text.h, under the names
// that profiles know.
#ifndef WARPSMITH_PROFILE_DISPLAY_TEXT_H_
#define WARPSMITH_PROFILE_DISPLAY_TEXT_H_

#include "util/display_text.h"

namespace warpsmith::profile {

using warpsmith::ForTerminal;
using warpsmith::QuotedForModel;

}  // namespace warpsmith::profile

#endif  // WARPSMITH_PROFILE_DISPLAY_TEXT_H_
