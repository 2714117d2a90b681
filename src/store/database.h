// A database of ours, as a file or on a server: made, recognised, brought up to date, opened for
// several processes at once. The store and the knowledge base are such databases.
#ifndef WARPSMITH_STORE_DATABASE_H_
#define WARPSMITH_STORE_DATABASE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/embedded_file.h"
#include "base/result.h"
#include "store/connection.h"

namespace warpsmith::store {

// What a commit survives. A killed process never loses a committed step, at either level.
enum class Durability {
  kPowerLoss,     // every commit is on the disk before FinishStep returns (one fsync a step)
  kProcessDeath,  // a power cut may take the last steps (never a part of one): for replays, which
                  // can be had again, at thousands of steps a second
};

enum class WhenMissing { kCreate, kRefuse };

// One kind of database. Scripts by name: NNN_name.sql brings version NNN-1 to NNN; on a server, the
// first one makes everything up to its version.
struct Schema {
  std::string_view what;       // "store"
  int64_t application_id = 0;  // SQLite's, of files of this kind; a server's lock
  std::span<const EmbeddedFile> scripts, server_scripts;
  std::string_view when_missing;  // what to do about one that is not there
  int Latest() const { return static_cast<int>(scripts.size()); }
  // On a server the tables have a namespace of their own, so that both may be in one database.
  std::string Namespace() const;  // "warpsmith_store"
};

// Brings an empty or older database to `version`, in one transaction; a current one is left alone.
// Refused: a newer version (kVersion), and a database that is not of this kind (kBadInput).
Status Migrate(Connection& connection, const Schema& schema, int version);

// Opened for reading and writing, at the newest version: a file, in WAL mode, or where the text is
// a server's address (connection.h), there. Refused: what Migrate refuses, a file that is
// no database (kBadInput), a missing one if so asked (kNoInput), what OpenPostgres refuses.
Result<std::unique_ptr<Connection>> OpenDatabase(const std::string& where, const Schema& schema,
                                                 Durability durability, WhenMissing when_missing);

// For people and reports: the path, or the address without its password.
std::string ShownDatabase(const std::string& where);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_DATABASE_H_
