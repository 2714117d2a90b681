// A store's facts as text that depends on nothing but the facts: no row ids, times of day,
// durations, workers or attempts. Two stores that hold the same have the same dump.
#ifndef WARPSMITH_STORE_CANONICAL_DUMP_H_
#define WARPSMITH_STORE_CANONICAL_DUMP_H_

#include <string>

#include "base/result.h"
#include "store/database_store.h"

namespace warpsmith::store {

// One line a row: the table's name, then its columns, tab-separated; ordered by content.
Result<std::string> CanonicalDump(DatabaseStore& store);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_CANONICAL_DUMP_H_
