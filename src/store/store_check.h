// A store that may be damaged: what is wrong with it, and a new one of what is sound.
#ifndef WARPSMITH_STORE_STORE_CHECK_H_
#define WARPSMITH_STORE_STORE_CHECK_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite_connection.h"

namespace warpsmith::store {

// One line a damage, at most some hundreds; none where the file's pages, its schema, every row's
// digest, every id that is a hash, every reference and every run's steps are as they were written.
// kBadInput where the file cannot even be opened as a store.
Result<std::vector<std::string>> FindDamage(const std::filesystem::path& path);

// Rows of one table that a repair found in the old store, and those it kept.
struct KeptRows {
  std::string table;
  int64_t found = 0, kept = 0;
};

// Makes a store at `fresh`, which must not exist, of what is sound in the one at `damaged`, which
// is not changed. A verdict is kept with its candidate, sources and measurements or not at all; a
// run up to its first step that is not sound, so that it can be resumed from there. Rows that a
// damaged page hides are not even found.
Result<std::vector<KeptRows>> Repair(const std::filesystem::path& damaged,
                                     const std::filesystem::path& fresh);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_STORE_CHECK_H_
