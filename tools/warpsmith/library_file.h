// The table of `hgemm bench` and its raw samples on the disk: whole after every shape, gone on with
// by the same command.
#ifndef WARPSMITH_TOOLS_LIBRARY_FILE_H_
#define WARPSMITH_TOOLS_LIBRARY_FILE_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hgemm/library_times.h"
#include "util/file.h"
#include "util/file_lock.h"
#include "util/result.h"

namespace warpsmith::cli {

class LibraryFile {
 public:
  // Begins a table, or goes on with one: kBadInput where the file there is of other terms, no such
  // table, or has no samples beside it. An empty path keeps the table in memory alone. Holds a lock
  // while it lives.
  static Result<LibraryFile> Open(const std::filesystem::path& path, const std::string& terms,
                                  const std::string& dtype);

  const hgemm::LibraryTable& table() const { return table_; }

  // A shape that the table lacks; `samples` are lines of kSampleColumns. Both files are on the disk
  // when it returns.
  Status Append(const hgemm::LibraryTimes& shape, const std::string& samples);
  // More times of shapes that stand in the table, without samples.
  Status Add(const std::vector<hgemm::LibraryTimes>& more);

 private:
  LibraryFile() = default;
  Status GoOn();
  Status WriteTable() const;

  std::filesystem::path path_;
  std::optional<FileLock> lock_;
  hgemm::LibraryTable table_;
  std::string samples_;  // compressed: a frame of the columns' names, then one a shape
};

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_LIBRARY_FILE_H_
