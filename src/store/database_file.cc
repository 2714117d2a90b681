#include "store/database_file.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "base/file.h"

namespace warpsmith::store {
namespace {

constexpr int kBusyTimeoutMs = 10'000;

// Scripts in order: entry i brings version i to version i + 1.
std::vector<EmbeddedFile> InOrder(const Schema& schema) {
  std::vector<EmbeddedFile> scripts(schema.scripts.begin(), schema.scripts.end());
  std::sort(scripts.begin(), scripts.end(),
            [](const EmbeddedFile& a, const EmbeddedFile& b) { return a.path < b.path; });
  return scripts;
}

Result<int64_t> ReadNumber(Connection& connection, const char* sql) {
  Statement statement = connection.Prepare(sql);
  TRY(statement.Next());
  return statement.Int(0);
}

Status CheckIsOurs(Connection& connection, const Schema& schema, int64_t version) {
  const int64_t application = TRY(ReadNumber(connection, "PRAGMA application_id"));
  if (application == schema.application_id) return {};
  const int64_t tables = TRY(ReadNumber(connection, "SELECT count(*) FROM sqlite_schema"));
  if (version == 0 && application == 0 && tables == 0) return {};
  return Error{ErrorCode::kBadInput,
               connection.path().string() + " is an SQLite database, but not a warpsmith " +
                   std::string(schema.what),
               "name another file"};
}

Error TooNew(const Connection& connection, const Schema& schema, int64_t found) {
  return {ErrorCode::kVersion,
          std::string(schema.what) + " " + connection.path().string() + " has schema version " +
              std::to_string(found) + ", this program reads up to " +
              std::to_string(schema.Latest()),
          "use the newer warpsmith that wrote it, or another " + std::string(schema.what)};
}

// SQLite does not wait for a lock on its way into WAL mode, so we do.
Status EnterWal(Connection& connection) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  for (int waited_ms = 0;; waited_ms += static_cast<int>(kPause.count())) {
    const Status entered = connection.Execute("PRAGMA journal_mode = WAL");
    if (entered.ok() || entered.error().code != ErrorCode::kBusy || waited_ms >= kBusyTimeoutMs) {
      return entered;
    }
    std::this_thread::sleep_for(kPause);
  }
}

Status Configure(Connection& connection, Durability durability) {
  TRY(connection.Execute("PRAGMA foreign_keys = ON"));
  TRY(EnterWal(connection));
  return connection.Execute(durability == Durability::kPowerLoss ? "PRAGMA synchronous = FULL"
                                                                 : "PRAGMA synchronous = NORMAL");
}

Result<std::unique_ptr<Connection>> OpenAsIs(const std::filesystem::path& path,
                                             const Schema& schema, Durability durability) {
  std::unique_ptr<Connection> connection = TRY(Connection::Open(path, kBusyTimeoutMs));
  TRY(CheckSchema(*connection, schema));
  TRY(Configure(*connection, durability));
  TRY(Migrate(*connection, schema, schema.Latest()));
  return connection;
}

// Without a write-ahead log, because a log goes by the name of its file: when this has succeeded,
// nothing of the schema is in another file.
Status MakeWhole(const std::filesystem::path& path, const Schema& schema) {
  const std::unique_ptr<Connection> connection = TRY(Connection::Open(path, kBusyTimeoutMs));
  return Migrate(*connection, schema, schema.Latest());
}

// Makes the file under another name and gives it its own when it is whole, so that a file of
// nothing is never the beginning of one: it is the rest of one that was lost.
Status MakeFile(const std::filesystem::path& path, const Schema& schema) {
  std::filesystem::path beginning = path;
  beginning += ".new-" + std::to_string(getpid());
  std::error_code failure, ignored;
  std::filesystem::remove(beginning, ignored);
  if (Status made = MakeWhole(beginning, schema); !made.ok()) {
    std::filesystem::remove(beginning, ignored);
    std::filesystem::remove(beginning.string() + "-journal", ignored);
    return made;
  }
  std::filesystem::create_hard_link(beginning, path, failure);
  // Some file systems have no links; who is first there is the one whose rename comes last.
  const bool taken = std::filesystem::exists(path, ignored);
  if (failure && !taken) std::filesystem::rename(beginning, path, failure);
  std::filesystem::remove(beginning, ignored);
  if (!failure || taken) return {};
  return Error{ErrorCode::kIo, "making " + path.string() + ": " + failure.message(),
               "look at free space and permissions"};
}

// SQLite takes a file of 0 or 1 byte for a new database.
Status CheckIsNotCut(const std::filesystem::path& path, const Schema& schema) {
  constexpr uintmax_t kLeastBytes = 512;  // a page
  std::error_code failure;
  const uintmax_t bytes = std::filesystem::file_size(path, failure);
  if (failure || bytes >= kLeastBytes) return {};
  const std::string what(schema.what);
  return Error{ErrorCode::kBadInput,
               path.string() + " has " + std::to_string(bytes) + " bytes: it is no " + what +
                   ", and what one held would be lost",
               "restore it from a copy; to begin a new " + what + ", remove it"};
}

}  // namespace

Status CheckSchema(Connection& connection, const Schema& schema) {
  const int64_t found = TRY(ReadNumber(connection, "PRAGMA user_version"));
  TRY(CheckIsOurs(connection, schema, found));
  if (found > schema.Latest()) return TooNew(connection, schema, found);
  return {};
}

Status Migrate(Connection& connection, const Schema& schema, int version) {
  TRY(CheckSchema(connection, schema));
  int64_t found = TRY(ReadNumber(connection, "PRAGMA user_version"));
  if (found >= version) return {};
  Transaction transaction = TRY(Transaction::Begin(connection));
  // Another process may have migrated while we waited for the lock.
  found = TRY(ReadNumber(connection, "PRAGMA user_version"));
  const std::vector<EmbeddedFile> scripts = InOrder(schema);
  for (; found < version; ++found) {
    TRY(connection.Execute(std::string(scripts[static_cast<size_t>(found)].contents)));
  }
  TRY(connection.Execute("PRAGMA user_version = " + std::to_string(found)));
  TRY(connection.Execute("PRAGMA application_id = " + std::to_string(schema.application_id)));
  return transaction.Commit();
}

Result<std::unique_ptr<Connection>> OpenDatabaseFile(const std::filesystem::path& path,
                                                     const Schema& schema, Durability durability,
                                                     WhenMissing when_missing) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored);
  if (when_missing == WhenMissing::kRefuse && !exists) {
    return Error{ErrorCode::kNoInput,
                 "there is no " + std::string(schema.what) + " at " + path.string(),
                 std::string(schema.when_missing)};
  }
  if (path.has_parent_path()) TRY(CreateDirectories(path.parent_path()));
  if (path == ":memory:") return OpenAsIs(path, schema, durability);
  if (!exists) TRY(MakeFile(path, schema));
  TRY(CheckIsNotCut(path, schema));
  return OpenAsIs(path, schema, durability);
}

}  // namespace warpsmith::store
