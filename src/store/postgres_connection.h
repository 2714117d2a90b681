// PostgreSQL behind Connection, by libpq, which is opened at run time: the program starts where it
// is not installed.
//
// One writing transaction runs at a time, as in SQLite: it holds an advisory lock of the database.
// So nothing is written twice, and no transaction has to be tried again. A connection that was lost
// fails what is under way and is made anew for what comes next.
#ifndef WARPSMITH_STORE_POSTGRES_CONNECTION_H_
#define WARPSMITH_STORE_POSTGRES_CONNECTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/connection.h"

namespace warpsmith::store {

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

#endif  // WARPSMITH_STORE_POSTGRES_CONNECTION_H_
