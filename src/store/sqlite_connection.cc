#include "store/sqlite_connection.h"

#include <sqlite3.h>

#include <cmath>
#include <cstring>
#include <limits>

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

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_),
      statement_(std::exchange(other.statement_, nullptr)),
      failure_(other.failure_),
      bound_(other.bound_) {}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Statement& Statement::Bind(int64_t value) {
  Note(sqlite3_bind_int64(statement_, ++bound_, value));
  return *this;
}

Statement& Statement::Bind(double value) {
  Note(sqlite3_bind_double(statement_, ++bound_, value));
  return *this;
}

Statement& Statement::Bind(std::string_view text) {
  // A null pointer would bind NULL; an empty view may hold one.
  const char* data = text.empty() ? "" : text.data();
  Note(sqlite3_bind_text64(statement_, ++bound_, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::BindBlob(std::string_view bytes) {
  const char* data = bytes.empty() ? "" : bytes.data();
  Note(sqlite3_bind_blob64(statement_, ++bound_, data, bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::BindNull() {
  Note(sqlite3_bind_null(statement_, ++bound_));
  return *this;
}

Statement& Statement::BindColumn(const Statement& row, int column) {
  Note(sqlite3_bind_value(statement_, ++bound_, sqlite3_column_value(row.statement_, column)));
  return *this;
}

Result<bool> Statement::Next() {
  if (failure_ != SQLITE_OK) return connection_->Failure(failure_, "use");
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return connection_->Failure(code, "use");
}

Status Statement::Run() {
  while (TRY(Next())) {
  }
  return {};
}

int Statement::Columns() const { return sqlite3_column_count(statement_); }

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_, column); }

double Statement::Real(int column) const {
  if (IsNull(column)) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_, column);
}

std::string Statement::Text(int column) const { return std::string(TextView(column)); }

std::string_view Statement::TextView(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return {static_cast<const char*>(bytes), static_cast<size_t>(size)};
}

Result<std::unique_ptr<Connection>> Connection::Open(const std::filesystem::path& path,
                                                     int busy_timeout_ms) {
  sqlite3* database = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &database,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Connection> connection(new Connection(path, database));
  if (code != SQLITE_OK) return connection->Failure(code, "open");
  sqlite3_extended_result_codes(database, 1);
  sqlite3_busy_timeout(database, busy_timeout_ms);
  const int added = sqlite3_create_function_v2(
      database, "digest_of", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr,
      DigestOf, nullptr, nullptr, nullptr);
  if (added != SQLITE_OK) return connection->Failure(added, "open");
  return connection;
}

Connection::~Connection() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close_v2(database_);
}

Statement Connection::Prepare(const char* sql) {
  const auto found = statements_.find(std::string_view(sql));
  if (found != statements_.end()) return {this, found->second, SQLITE_OK};
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code == SQLITE_OK) statements_.emplace(sql, statement);
  return {this, statement, code};
}

Status Connection::Execute(const std::string& sql) {
  const int code = sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return Failure(code, "use");
  return {};
}

int64_t Connection::LastInsertId() const { return sqlite3_last_insert_rowid(database_); }

int Connection::Changes() const { return sqlite3_changes(database_); }

Error Connection::Failure(int code, std::string_view what) const {
  const char* detail = database_ != nullptr ? sqlite3_errmsg(database_) : sqlite3_errstr(code);
  const ErrorCode error_code = CodeOf(code);
  return {error_code,
          "cannot " + std::string(what) + " store " + path_.string() + ": " + detail + " (SQLite " +
              std::to_string(code) + ")",
          std::string(FixFor(error_code))};
}

Result<Transaction> Transaction::Begin(Connection& connection) {
  TRY(connection.Prepare("BEGIN IMMEDIATE").Run());
  return Transaction(&connection);
}

Transaction::~Transaction() {
  // After some errors (disk full) SQLite has rolled back by itself; then this one fails harmlessly.
  if (connection_ != nullptr) (void)connection_->Prepare("ROLLBACK").Run();
}

Status Transaction::Commit() {
  TRY(connection_->Prepare("COMMIT").Run());
  connection_ = nullptr;
  return {};
}

}  // namespace warpsmith::store
