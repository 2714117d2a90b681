// The machine that commands judge on, by its short name.
#ifndef WARPSMITH_TOOLS_MACHINE_H_
#define WARPSMITH_TOOLS_MACHINE_H_

#include "search/machine/machine.h"

namespace warpsmith::cli {

using search::LazyMachine;
using search::Machine;
using search::OpenExistingStore;
using search::OpenStore;
using search::ShippedRecordings;
using search::StorePath;

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_MACHINE_H_
