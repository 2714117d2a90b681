#include "store/database.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/file.h"
#include "store/connection.h"

namespace warpsmith::store {
namespace {

constexpr int kBusyTimeoutMs = 10'000;

std::vector<EmbeddedFile> InOrder(std::span<const EmbeddedFile> unordered) {
  std::vector<EmbeddedFile> scripts(unordered.begin(), unordered.end());
  std::sort(scripts.begin(), scripts.end(),
            [](const EmbeddedFile& a, const EmbeddedFile& b) { return a.path < b.path; });
  return scripts;
}

// "schema/004_row_digests.sql" brings to version 4.
int64_t VersionOfScript(const EmbeddedFile& script) {
  const size_t slash = script.path.rfind('/');
  return std::atoi(std::string(script.path.substr(slash + 1)).c_str());
}

Result<int64_t> ReadNumber(Connection& connection, const char* sql) {
  Statement statement = connection.Prepare(sql);
  TRY(statement.Next());
  return statement.Int(0);
}

Result<int64_t> VersionOfFile(Connection& connection, const Schema& schema) {
  const int64_t version = TRY(ReadNumber(connection, "PRAGMA user_version"));
  const int64_t application = TRY(ReadNumber(connection, "PRAGMA application_id"));
  if (application == schema.application_id) return version;
  const int64_t tables = TRY(ReadNumber(connection, "SELECT count(*) FROM sqlite_schema"));
  if (version == 0 && application == 0 && tables == 0) return 0;
  return Error{
      ErrorCode::kBadInput,
      connection.name() + " is an SQLite database, but not a warpsmith " + std::string(schema.what),
      "name another file"};
}

// 0: nothing of ours is there yet.
Result<int64_t> VersionOf(Connection& connection, const Schema& schema) {
  if (connection.is_file()) return VersionOfFile(connection, schema);
  const std::string sql =
      "SELECT COUNT(*) FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid "
      "WHERE relname = 'schema_version' AND nspname = '" +
      schema.Namespace() + "'";
  const int64_t is_there = TRY(ReadNumber(connection, sql.c_str()));
  return is_there == 0 ? int64_t{0} : ReadNumber(connection, "SELECT version FROM schema_version");
}

Status SetVersion(Connection& connection, const Schema& schema, int64_t version) {
  const std::string number = std::to_string(version);
  if (!connection.is_file()) {
    return connection.Execute("UPDATE schema_version SET version = " + number);
  }
  return connection.Execute("PRAGMA user_version = " + number +
                            "; PRAGMA application_id = " + std::to_string(schema.application_id));
}

// Who runs the server may have made the namespace for users that may not.
Status MakeNamespace(Connection& connection, const Schema& schema) {
  // From the table, not by to_regnamespace: its cache does not see yet what another process made
  // while this one waited for the lock.
  const std::string sql =
      "SELECT COUNT(*) FROM pg_namespace WHERE nspname = '" + schema.Namespace() + "'";
  if (TRY(ReadNumber(connection, sql.c_str())) == 1) return {};
  return connection.Execute("CREATE SCHEMA " + schema.Namespace());
}

Error TooNew(const Connection& connection, const Schema& schema, int64_t found) {
  return {ErrorCode::kVersion,
          std::string(schema.what) + " " + connection.name() + " has schema version " +
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

// Refuses what Migrate refuses, and changes nothing: to be asked before the file is touched.
Status CheckSchema(Connection& connection, const Schema& schema) {
  const int64_t found = TRY(VersionOf(connection, schema));
  if (found > schema.Latest()) return TooNew(connection, schema, found);
  return {};
}

Result<std::unique_ptr<Connection>> OpenAsIs(const std::filesystem::path& path,
                                             const Schema& schema, Durability durability) {
  std::unique_ptr<Connection> connection = TRY(OpenSqlite(path, kBusyTimeoutMs));
  TRY(CheckSchema(*connection, schema));
  TRY(Configure(*connection, durability));
  TRY(Migrate(*connection, schema, schema.Latest()));
  return connection;
}

// Without a write-ahead log, because a log goes by the name of its file: when this has succeeded,
// nothing of the schema is in another file.
Status MakeWhole(const std::filesystem::path& path, const Schema& schema) {
  const std::unique_ptr<Connection> connection = TRY(OpenSqlite(path, kBusyTimeoutMs));
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

Error NotThere(const Schema& schema, const std::string& where) {
  return {ErrorCode::kNoInput, "there is no " + std::string(schema.what) + " at " + where,
          std::string(schema.when_missing)};
}

Result<std::unique_ptr<Connection>> OpenOnServer(const std::string& address, const Schema& schema,
                                                 Durability durability, WhenMissing when_missing) {
  auto connection = TRY(OpenPostgres(
      address, {schema.Namespace(), schema.application_id, durability == Durability::kPowerLoss}));
  if (when_missing == WhenMissing::kRefuse && TRY(VersionOf(*connection, schema)) == 0) {
    return NotThere(schema, connection->name());
  }
  TRY(Migrate(*connection, schema, schema.Latest()));
  return connection;
}

}  // namespace

std::string Schema::Namespace() const {
  std::string name = "warpsmith_" + std::string(what);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

Status Migrate(Connection& connection, const Schema& schema, int version) {
  TRY(CheckSchema(connection, schema));
  if (TRY(VersionOf(connection, schema)) >= version) return {};
  Transaction transaction = TRY(Transaction::Begin(connection));
  // Another process may have migrated while we waited for the lock.
  const int64_t found = TRY(VersionOf(connection, schema));
  if (!connection.is_file() && found == 0) TRY(MakeNamespace(connection, schema));
  for (const EmbeddedFile& script :
       InOrder(connection.is_file() ? schema.scripts : schema.server_scripts)) {
    const int64_t to = VersionOfScript(script);
    if (to > found && to <= version) TRY(connection.Execute(std::string(script.contents)));
  }
  if (found < version) TRY(SetVersion(connection, schema, version));
  return transaction.Commit();
}

Result<std::unique_ptr<Connection>> OpenDatabase(const std::string& where, const Schema& schema,
                                                 Durability durability, WhenMissing when_missing) {
  if (IsServerAddress(where)) return OpenOnServer(where, schema, durability, when_missing);
  const std::filesystem::path path(where);
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored);
  if (when_missing == WhenMissing::kRefuse && !exists) return NotThere(schema, where);
  if (path.has_parent_path()) TRY(CreateDirectories(path.parent_path()));
  if (path == ":memory:") return OpenAsIs(path, schema, durability);
  if (!exists) TRY(MakeFile(path, schema));
  TRY(CheckIsNotCut(path, schema));
  return OpenAsIs(path, schema, durability);
}

std::string ShownDatabase(const std::string& where) {
  return IsServerAddress(where) ? WithoutPassword(where) : where;
}

}  // namespace warpsmith::store
