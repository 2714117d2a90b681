// The table of `hgemm bench` and its raw samples on the disk: whole after every shape, gone on with
// by the same command.
#ifndef WARPSMITH_TOOLS_LIBRARY_FILE_H_
#define WARPSMITH_TOOLS_LIBRARY_FILE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/append_file.h"
#include "base/file_lock.h"
#include "base/result.h"
#include "hgemm/library_times.h"

namespace warpsmith::cli {

class LibraryFile {
 public:
  // Begins a table, or goes on with one: kBadInput where the file there is of other terms, no such
  // table, or has not its own samples beside it. An empty path keeps the table in memory alone.
  // Holds a lock while it lives.
  static Result<LibraryFile> Open(const std::filesystem::path& path, const std::string& terms,
                                  const std::string& dtype);

  const hgemm::LibraryTable& table() const { return table_; }

  // A shape that the table lacks, with one time at least, all above 0; `samples` are lines of
  // kSampleColumns that begin with the shape. Samples first, then rows; both are on the disk when
  // it returns. `session` is kept once a call of the program.
  // `faster`: what was shown to be faster than the bar.
  Status Append(const std::string& session, const hgemm::LibraryTimes& shape,
                const std::string& samples, const std::vector<hgemm::BesideBar>& faster = {});
  // More times of a shape that stands in the table, without samples.
  Status Add(const hgemm::LibraryTimes& more);

 private:
  LibraryFile() = default;
  Status GoOn();
  Status WriteTable() const;

  std::filesystem::path path_;
  std::optional<FileLock> lock_;
  std::optional<AppendFile> samples_;
  hgemm::LibraryTable table_;
  bool begun_ = false;  // this call's session is in the table
};

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_LIBRARY_FILE_H_
