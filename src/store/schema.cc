#include "store/schema.h"

#include <algorithm>
#include <string>
#include <vector>

#include "embedded/store_schema.h"

namespace warpsmith::store {
namespace {

// Scripts in order: entry i brings version i to version i + 1.
std::vector<EmbeddedFile> Scripts() {
  const auto embedded = embedded::StoreSchema();
  std::vector<EmbeddedFile> scripts(embedded.begin(), embedded.end());
  std::sort(scripts.begin(), scripts.end(),
            [](const EmbeddedFile& a, const EmbeddedFile& b) { return a.path < b.path; });
  return scripts;
}

Result<int64_t> ReadNumber(Connection& connection, const char* sql) {
  Statement statement = connection.Prepare(sql);
  TRY(statement.Next());
  return statement.Int(0);
}

Status CheckIsOurs(Connection& connection, int64_t version) {
  const int64_t application = TRY(ReadNumber(connection, "PRAGMA application_id"));
  if (application == kStoreApplicationId) return {};
  const int64_t tables = TRY(ReadNumber(connection, "SELECT count(*) FROM sqlite_schema"));
  if (version == 0 && application == 0 && tables == 0) return {};
  return Error{ErrorCode::kBadInput,
               connection.path().string() + " is an SQLite database, but not a warpsmith store",
               "name another file"};
}

Error TooNew(const Connection& connection, int64_t found) {
  return {ErrorCode::kVersion,
          "store " + connection.path().string() + " has schema version " + std::to_string(found) +
              ", this program reads up to " + std::to_string(LatestSchemaVersion()),
          "use the newer warpsmith that wrote it, or another store"};
}

}  // namespace

int LatestSchemaVersion() { return static_cast<int>(embedded::StoreSchema().size()); }

Status CheckSchema(Connection& connection) {
  const int64_t found = TRY(ReadNumber(connection, "PRAGMA user_version"));
  TRY(CheckIsOurs(connection, found));
  if (found > LatestSchemaVersion()) return TooNew(connection, found);
  return {};
}

Status Migrate(Connection& connection, int version) {
  TRY(CheckSchema(connection));
  int64_t found = TRY(ReadNumber(connection, "PRAGMA user_version"));
  if (found >= version) return {};
  Transaction transaction = TRY(Transaction::Begin(connection));
  // Another process may have migrated while we waited for the lock.
  found = TRY(ReadNumber(connection, "PRAGMA user_version"));
  const std::vector<EmbeddedFile> scripts = Scripts();
  for (; found < version; ++found) {
    TRY(connection.Execute(std::string(scripts[static_cast<size_t>(found)].contents)));
  }
  TRY(connection.Execute("PRAGMA user_version = " + std::to_string(found)));
  TRY(connection.Execute("PRAGMA application_id = " + std::to_string(kStoreApplicationId)));
  return transaction.Commit();
}

}  // namespace warpsmith::store
