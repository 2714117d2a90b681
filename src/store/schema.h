// The store's schema: schema/NNN_name.sql brings a store from version NNN-1 to NNN.
#ifndef WARPSMITH_STORE_SCHEMA_H_
#define WARPSMITH_STORE_SCHEMA_H_

#include "base/result.h"
#include "store/connection.h"
#include "store/database.h"

namespace warpsmith::store {

// "WSMT", SQLite's application_id of our files.
inline constexpr int64_t kStoreApplicationId = 0x57534d54;

Schema StoreSchema();
int LatestSchemaVersion();

// database.h's, of a store.
Status Migrate(Connection& connection, int version = LatestSchemaVersion());

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_SCHEMA_H_
