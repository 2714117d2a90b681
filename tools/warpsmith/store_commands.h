// `warpsmith store ...`: is the results database sound, and what of a damaged one can be kept.
#ifndef WARPSMITH_TOOLS_STORE_COMMANDS_H_
#define WARPSMITH_TOOLS_STORE_COMMANDS_H_

#include <string>

#include "base/result.h"
#include "options.h"

namespace warpsmith::cli {

struct StoreOptions {
  CommonOptions common;
  std::string store;   // the database; empty: the user's
  std::string output;  // repair: the new store
};

Result<int> RunStoreCheck(const StoreOptions& options);   // 1 where something is damaged
Result<int> RunStoreRepair(const StoreOptions& options);  // 1 where something was lost

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_STORE_COMMANDS_H_
