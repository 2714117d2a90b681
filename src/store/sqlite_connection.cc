// The SQLite C API behind Connection.
//
// SQL here has one function more: digest_of(...), SHA-256 over its arguments and their types, in
// hexadecimal. Views and triggers of the store's schema use it.
#include "store/connection.h"

#include <sqlite3.h>

#include <cstring>

#include "base/sha256.h"

namespace warpsmith::store {
namespace {

ErrorCode CodeOf(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::kBusy;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:       // our statements name tables and columns that every schema of ours has
    case SQLITE_CONSTRAINT:  // and add only what its indexes say is not there
      return ErrorCode::kBadInput;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return ErrorCode::kIo;
    default:
      return ErrorCode::kInternal;
  }
}

std::string_view FixFor(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBusy:
      return "another process is writing to it; try again";
    case ErrorCode::kBadInput:
      return "it is damaged or not warpsmith's; 'warpsmith store check' says more, or name another "
             "file";
    case ErrorCode::kIo:
      return "look at free space and permissions; what was stored before is unharmed";
    default:
      return "please report this";
  }
}

// A value's type, length and bytes, so that no two lists of values read the same.
void AppendValue(sqlite3_value* value, std::string& bytes) {
  const int type = sqlite3_value_type(value);
  std::string text;
  if (type == SQLITE_INTEGER) {
    text = std::to_string(sqlite3_value_int64(value));
  } else if (type == SQLITE_FLOAT) {
    const double number = sqlite3_value_double(value) + 0.0;  // SQLite keeps no sign of a zero
    text.resize(sizeof(number));
    std::memcpy(text.data(), &number, sizeof(number));
  } else if (type != SQLITE_NULL) {
    const void* data = sqlite3_value_blob(value);
    text.assign(static_cast<const char*>(data), static_cast<size_t>(sqlite3_value_bytes(value)));
  }
  bytes += std::to_string(type) + ' ' + std::to_string(text.size()) + ' ' + text;
}

void DigestOf(sqlite3_context* context, int count, sqlite3_value** values) {
  std::string bytes;
  for (int i = 0; i < count; ++i) AppendValue(values[i], bytes);
  const std::string digest = Sha256Hex(bytes);
  sqlite3_result_text64(context, digest.data(), digest.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// What failed, for the error that Next() gives.
Error FailureOf(sqlite3* database, const std::string& name, int code, std::string_view what) {
  const char* detail = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  const ErrorCode error_code = CodeOf(code);
  return {error_code,
          "cannot " + std::string(what) + " store " + name + ": " + detail + " (SQLite " +
              std::to_string(code) + ")",
          std::string(FixFor(error_code))};
}

class SqliteStatement : public PreparedStatement {
 public:
  SqliteStatement(sqlite3* database, const std::string& name, const char* sql)
      : database_(database), name_(name), sql_(sql) {}
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;
  ~SqliteStatement() override { sqlite3_finalize(statement_); }

  void Bind(int place, const Value& value) override {
    if (!IsReady()) return;
    failure_ = std::visit([&](const auto& bound) { return BindAs(place, bound); }, value);
  }
  Result<bool> Next() override {
    const int code = IsReady() ? sqlite3_step(statement_) : failure_;
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return FailureOf(database_, name_, code, "use");
  }
  int Columns() const override { return sqlite3_column_count(statement_); }
  Value Column(int column) const override {
    const int type = sqlite3_column_type(statement_, column);
    if (type == SQLITE_NULL) return std::monostate();
    if (type == SQLITE_INTEGER) return int64_t{sqlite3_column_int64(statement_, column)};
    if (type == SQLITE_FLOAT) return sqlite3_column_double(statement_, column);
    const void* data = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    const std::string_view bytes(static_cast<const char*>(data), static_cast<size_t>(size));
    if (type == SQLITE_BLOB) return Blob{bytes};
    return bytes;
  }
  void Reset() override {
    sqlite3_reset(statement_);
    if (statement_ != nullptr) sqlite3_clear_bindings(statement_);
    failure_ = SQLITE_OK;
  }

 private:
  // Prepared at its first use; what failed then (a lock) is tried again at the next.
  bool IsReady() {
    if (statement_ == nullptr && failure_ == SQLITE_OK) {
      failure_ = sqlite3_prepare_v3(database_, sql_.c_str(), -1, SQLITE_PREPARE_PERSISTENT,
                                    &statement_, nullptr);
    }
    return failure_ == SQLITE_OK;
  }
  int BindAs(int place, std::monostate) { return sqlite3_bind_null(statement_, place); }
  int BindAs(int place, int64_t value) { return sqlite3_bind_int64(statement_, place, value); }
  int BindAs(int place, double value) { return sqlite3_bind_double(statement_, place, value); }
  int BindAs(int place, std::string_view text) {
    // A null pointer would bind NULL; an empty view may hold one.
    return sqlite3_bind_text64(statement_, place, text.empty() ? "" : text.data(), text.size(),
                               SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  int BindAs(int place, const Blob& blob) {
    return sqlite3_bind_blob64(statement_, place, blob.bytes.empty() ? "" : blob.bytes.data(),
                               blob.bytes.size(), SQLITE_TRANSIENT);
  }

  sqlite3* database_;
  const std::string& name_;
  const std::string sql_;
  sqlite3_stmt* statement_ = nullptr;
  int failure_ = SQLITE_OK;
};

class SqliteConnection : public Connection {
 public:
  SqliteConnection(const std::string& name, sqlite3* database)
      : Connection(name), database_(database) {}
  ~SqliteConnection() override {
    ForgetStatements();
    sqlite3_close_v2(database_);
  }

  Status Execute(const std::string& script) override {
    const int code = sqlite3_exec(database_, script.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return FailureOf(database_, name(), code, "use");
    return {};
  }
  Status Begin(bool writes) override { return Prepare(writes ? "BEGIN IMMEDIATE" : "BEGIN").Run(); }
  Status Commit() override { return Prepare("COMMIT").Run(); }
  // After some errors (disk full) SQLite has rolled back by itself; then this fails harmlessly.
  void RollBack() override { (void)Prepare("ROLLBACK").Run(); }
  bool is_file() const override { return true; }

 private:
  std::unique_ptr<PreparedStatement> MakeStatement(const char* sql) override {
    return std::make_unique<SqliteStatement>(database_, name(), sql);
  }

  sqlite3* database_;
};

}  // namespace

Result<std::unique_ptr<Connection>> OpenSqlite(const std::filesystem::path& path,
                                               int busy_timeout_ms) {
  sqlite3* database = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &database,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  auto connection = std::make_unique<SqliteConnection>(path.string(), database);
  if (code != SQLITE_OK) return FailureOf(database, path.string(), code, "open");
  sqlite3_extended_result_codes(database, 1);
  sqlite3_busy_timeout(database, busy_timeout_ms);
  const int added = sqlite3_create_function_v2(
      database, "digest_of", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr,
      DigestOf, nullptr, nullptr, nullptr);
  if (added != SQLITE_OK) return FailureOf(database, path.string(), added, "open");
  return std::unique_ptr<Connection>(std::move(connection));
}

}  // namespace warpsmith::store
