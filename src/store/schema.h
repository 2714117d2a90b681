// The store's schema: schema/NNN_name.sql brings a store from version NNN-1 to NNN.
#ifndef WARPSMITH_STORE_SCHEMA_H_
#define WARPSMITH_STORE_SCHEMA_H_

#include "store/sqlite_connection.h"
#include "util/result.h"

namespace warpsmith::store {

// "WSMT", SQLite's application_id of our files.
inline constexpr int64_t kStoreApplicationId = 0x57534d54;

int LatestSchemaVersion();

// Refuses what Migrate refuses, and changes nothing: to be asked before the file is touched.
Status CheckSchema(Connection& connection);

// Brings an empty or older store to `version`, in one transaction; a current one is left alone.
// Refused: a newer version (kVersion), and a database that is not a store of ours (kBadInput).
Status Migrate(Connection& connection, int version = LatestSchemaVersion());

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_SCHEMA_H_
