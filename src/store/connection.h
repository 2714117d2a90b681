// A database as the store and the knowledge base use it, whichever it is: a connection that keeps
// its prepared statements, and transactions that roll back unless committed. Not thread-safe.
//
// One SQL text serves every database: places are written ? or ?1, and what only one of them
// understands stands in its schema (schema/*.sql, schema/postgres/*.sql) or its own file
// (sqlite_connection.cc, postgres_connection.cc).
//
// Errors name the database and say what it answered: what is damaged or not ours is kBadInput, a
// full disk or a lost connection kIo, a lock that did not come free kBusy.
#ifndef WARPSMITH_STORE_CONNECTION_H_
#define WARPSMITH_STORE_CONNECTION_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"

namespace warpsmith::store {

struct Blob {
  std::string_view bytes;
};
// What a place of a statement takes and a column gives; the first is NULL.
using Value = std::variant<std::monostate, int64_t, double, std::string_view, Blob>;

// A statement as its database keeps it. Values are those of this and the next place; what a column
// gives is there until the next Next().
class PreparedStatement {
 public:
  virtual ~PreparedStatement() = default;
  virtual void Bind(int place, const Value& value) = 0;  // places count from 1
  virtual Result<bool> Next() = 0;                       // tells what Bind failed at, too
  virtual int Columns() const = 0;
  virtual Value Column(int column) const = 0;  // from 0, of the row that Next() told of
  virtual void Reset() = 0;                    // ready to be bound anew
};

// A prepared statement, lent by its connection and reset when it goes out of scope. Values are
// bound in the order of the question marks; a failed bind or prepare is reported by Next() or
// Run().
class Statement {
 public:
  explicit Statement(PreparedStatement& prepared) : prepared_(&prepared) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement(Statement&& other) noexcept
      : prepared_(std::exchange(other.prepared_, nullptr)), bound_(other.bound_) {}
  Statement& operator=(Statement&&) = delete;
  ~Statement() {
    if (prepared_ != nullptr) prepared_->Reset();
  }

  Statement& Bind(int64_t value) { return BindValue(value); }
  Statement& Bind(double value);  // NaN becomes NULL
  Statement& Bind(std::string_view text) { return BindValue(text); }
  Statement& BindBlob(std::string_view bytes) { return BindValue(Blob{bytes}); }
  Statement& BindNull() { return BindValue(std::monostate()); }
  // The other's current value, exactly.
  Statement& BindColumn(const Statement& row, int column) {
    return BindValue(row.prepared_->Column(column));
  }

  Result<bool> Next() { return prepared_->Next(); }  // true: a row is there
  Status Run();                                      // to the end, rows ignored
  Result<int64_t> RunForId();                        // … but for the first row's first column

  int Columns() const { return prepared_->Columns(); }
  bool IsNull(int column) const {
    return std::holds_alternative<std::monostate>(prepared_->Column(column));
  }
  int64_t Int(int column) const;
  double Real(int column) const;                // NULL becomes NaN
  std::string Text(int column) const;           // blobs and numbers too
  std::string_view TextView(int column) const;  // until the next Next(); numbers give none

 private:
  Statement& BindValue(const Value& value) {
    prepared_->Bind(++bound_, value);
    return *this;
  }

  PreparedStatement* prepared_;
  int bound_ = 0;
};

class Connection {
 public:
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  // `sql` is prepared once. No two of the same text may be in use at a time.
  Statement Prepare(const char* sql);
  // A script of several statements; no results.
  virtual Status Execute(const std::string& script) = 0;

  // Use Transaction. `writes` waits until no other process is in a writing transaction.
  virtual Status Begin(bool writes) = 0;
  virtual Status Commit() = 0;
  virtual void RollBack() = 0;  // as if nothing had been written since Begin

  // False: a server has it, which looks after its pages and references itself.
  virtual bool is_file() const = 0;
  // For people: a file's path, or a server's address without its password.
  const std::string& name() const { return name_; }

 protected:
  explicit Connection(std::string name) : name_(std::move(name)) {}
  virtual std::unique_ptr<PreparedStatement> MakeStatement(const char* sql) = 0;
  // To be called before what the statements need is gone.
  void ForgetStatements() { statements_.clear(); }

 private:
  std::string name_;
  std::map<std::string, std::unique_ptr<PreparedStatement>, std::less<>> statements_;
};

// Ends with Commit, or destruction, which rolls back.
class Transaction {
 public:
  // Nobody else writes meanwhile.
  static Result<Transaction> Begin(Connection& connection);
  // Everything is read of one state of the database; others may write.
  static Result<Transaction> BeginReading(Connection& connection);
  Transaction(Transaction&& other) noexcept
      : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction() {
    if (connection_ != nullptr) connection_->RollBack();
  }

  Status Commit();

 private:
  explicit Transaction(Connection* connection) : connection_(connection) {}
  Connection* connection_;
};

// Made where there is none. Other processes' locks are waited for as long as `busy_timeout_ms`.
Result<std::unique_ptr<Connection>> OpenSqlite(const std::filesystem::path& path,
                                               int busy_timeout_ms);

// "postgresql://…" or "postgres://…".
bool IsServerAddress(std::string_view where);

// The address as it may be shown and kept: neither a password nor what could be a part of one.
std::string WithoutPassword(std::string_view address);

struct PostgresOptions {
  std::string schema;          // the namespace in which the tables are
  int64_t write_lock = 0;      // number of the advisory lock
  bool waits_for_disk = true;  // a commit returns when it survives a power cut of the server
};

// The password comes from the address, $PGPASSWORD or ~/.pgpass. kUnavailable: no libpq, no server,
// or one that does not let us in; kUsage: an address that cannot be read.
Result<std::unique_ptr<Connection>> OpenPostgres(const std::string& address,
                                                 const PostgresOptions& options);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_CONNECTION_H_
