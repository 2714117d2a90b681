// A database of ours as a file: made, recognised, brought up to date, opened for several processes
// at once. The store and the knowledge base are such files.
#ifndef WARPSMITH_STORE_DATABASE_FILE_H_
#define WARPSMITH_STORE_DATABASE_FILE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/embedded_file.h"
#include "base/result.h"
#include "store/sqlite_connection.h"

namespace warpsmith::store {

// What a commit survives. A killed process never loses a committed step, at either level.
enum class Durability {
  kPowerLoss,     // every commit is on the disk before FinishStep returns (one fsync a step)
  kProcessDeath,  // a power cut may take the last steps (never a part of one): for replays, which
                  // can be had again, at thousands of steps a second
};

enum class WhenMissing { kCreate, kRefuse };

// One kind of database. `scripts` by name: NNN_name.sql brings version NNN-1 to NNN.
struct Schema {
  std::string_view what;       // "store"
  int64_t application_id = 0;  // SQLite's, of files of this kind
  std::span<const EmbeddedFile> scripts;
  std::string_view when_missing;  // what to do about a file that is not there
  int Latest() const { return static_cast<int>(scripts.size()); }
};

// Refuses what Migrate refuses, and changes nothing: to be asked before the file is touched.
Status CheckSchema(Connection& connection, const Schema& schema);

// Brings an empty or older database to `version`, in one transaction; a current one is left alone.
// Refused: a newer version (kVersion), and a database that is not of this kind (kBadInput).
Status Migrate(Connection& connection, const Schema& schema, int version);

// Opened for reading and writing, in WAL mode, at the newest version. Refused: what Migrate
// refuses, a file that is no database (kBadInput), a missing one if so asked (kNoInput).
Result<std::unique_ptr<Connection>> OpenDatabaseFile(const std::filesystem::path& path,
                                                     const Schema& schema, Durability durability,
                                                     WhenMissing when_missing);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_DATABASE_FILE_H_
