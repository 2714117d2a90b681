// A store that may be damaged: what is wrong with it, and a new one of what is sound.
#ifndef WARPSMITH_STORE_STORE_CHECK_H_
#define WARPSMITH_STORE_STORE_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpsmith::store {

// One line a damage, at most some hundreds; none where the file's pages, its schema, every row's
// digest, every id that is a hash, every reference and every run's steps are as they were written.
// kBadInput where the file cannot even be opened as a store. Of a store on a server, its own tools
// check pages, references and schema; the rest is checked here.
Result<std::vector<std::string>> FindDamage(const std::string& where);

// Rows of one table that a repair found in the old store, and those it kept.
struct KeptRows {
  std::string table;
  int64_t found = 0, kept = 0;
};

// Makes a store at `fresh`, which must not exist, of what is sound in the one at `damaged`, which
// is not changed. A verdict is kept with its candidate, sources and measurements or not at all; a
// run up to its first step that is not sound, so that it can be resumed from there. Rows that a
// damaged page hides are not even found. kUsage: a store on a server, which has backups.
Result<std::vector<KeptRows>> Repair(const std::string& damaged, const std::string& fresh);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_STORE_CHECK_H_
