// The SQLite C API as values: a connection that keeps its prepared statements, and transactions
// that roll back unless committed. Not thread-safe.
//
// Errors say which file and what SQLite answered: a file that is no database or is damaged, its
// schema included, is kBadInput, a full disk kIo, a lock that did not come free kBusy.
//
// SQL here has one function more: digest_of(...), SHA-256 over its arguments and their types, in
// hexadecimal. Views and triggers of the store's schema use it.
#ifndef WARPSMITH_STORE_SQLITE_CONNECTION_H_
#define WARPSMITH_STORE_SQLITE_CONNECTION_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace warpsmith::store {

// A prepared statement, lent by its connection and reset when it goes out of scope. Values are
// bound in the order of the question marks; a failed bind or prepare is reported by Next() or
// Run().
class Statement {
 public:
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& Bind(int64_t value);
  Statement& Bind(double value);  // NaN becomes NULL
  Statement& Bind(std::string_view text);
  Statement& BindBlob(std::string_view bytes);
  Statement& BindNull();
  Statement& BindColumn(const Statement& row, int column);  // the other's current value, exactly

  Result<bool> Next();  // true: a row is there
  Status Run();         // to the end, rows ignored

  int Columns() const;
  bool IsNull(int column) const;
  int64_t Int(int column) const;
  double Real(int column) const;                // NULL becomes NaN
  std::string Text(int column) const;           // blobs too
  std::string_view TextView(int column) const;  // until the next Next()

 private:
  friend class Connection;
  Statement(class Connection* connection, sqlite3_stmt* statement, int failure)
      : connection_(connection), statement_(statement), failure_(failure) {}
  void Note(int code) { failure_ = failure_ == 0 ? code : failure_; }

  Connection* connection_;
  sqlite3_stmt* statement_;
  int failure_ = 0;
  int bound_ = 0;
};

class Connection {
 public:
  static Result<std::unique_ptr<Connection>> Open(const std::filesystem::path& path,
                                                  int busy_timeout_ms);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // `sql` is prepared once. No two of the same text may be in use at a time.
  Statement Prepare(const char* sql);
  // A script of several statements; no results.
  Status Execute(const std::string& sql);

  int64_t LastInsertId() const;
  int Changes() const;
  Error Failure(int code, std::string_view what) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  Connection(std::filesystem::path path, sqlite3* database)
      : path_(std::move(path)), database_(database) {}

  std::filesystem::path path_;
  sqlite3* database_;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
};

// Holds the write lock from Begin to Commit (or destruction, which rolls back).
class Transaction {
 public:
  static Result<Transaction> Begin(Connection& connection);
  Transaction(Transaction&& other) noexcept
      : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  Status Commit();

 private:
  explicit Transaction(Connection* connection) : connection_(connection) {}
  Connection* connection_;
};

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_SQLITE_CONNECTION_H_
