// The SQLite C API behind Connection.
//
// SQL here has one function more: digest_of(...), SHA-256 over its arguments and their types, in
// hexadecimal. Views and triggers of the store's schema use it.
#ifndef WARPSMITH_STORE_SQLITE_CONNECTION_H_
#define WARPSMITH_STORE_SQLITE_CONNECTION_H_

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "store/connection.h"

namespace warpsmith::store {

// Made where there is none. Other processes' locks are waited for as long as `busy_timeout_ms`.
Result<std::unique_ptr<Connection>> OpenSqlite(const std::filesystem::path& path,
                                               int busy_timeout_ms);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_SQLITE_CONNECTION_H_
