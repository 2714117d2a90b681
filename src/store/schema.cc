#include "store/schema.h"

#include "embedded/store_schema.h"
#include "embedded/store_server_schema.h"

namespace warpsmith::store {

Schema StoreSchema() {
  return {"store", kStoreApplicationId, embedded::StoreSchema(), embedded::StoreServerSchema(),
          "name an existing store, or start a run, which makes one"};
}

int LatestSchemaVersion() { return StoreSchema().Latest(); }

Status Migrate(Connection& connection, int version) {
  return Migrate(connection, StoreSchema(), version);
}

}  // namespace warpsmith::store
