// A comparison on disk: the table, and beside it every raw sample. Both grow shape by shape, so
// that nothing is lost when the program is killed or the disk is full. docs/files.md.
#ifndef WARPSMITH_TOOLS_COMPARISON_FILE_H_
#define WARPSMITH_TOOLS_COMPARISON_FILE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/append_file.h"
#include "base/file_lock.h"
#include "base/result.h"
#include "comparison_shape.h"
#include "hgemm/comparison_table.h"

namespace warpsmith::cli {

class ComparisonFile {
 public:
  // Begins a comparison, or goes on with one: kBadInput where the file there is of other terms.
  // A torn end is cut off both files. An empty path keeps the table in memory alone. Holds a lock
  // while it lives.
  static Result<ComparisonFile> Open(const std::filesystem::path& path,
                                     const hgemm::ComparisonTerms& terms);

  const hgemm::ComparisonTable& table() const { return table_; }

  // Samples first, then rows: rows without samples cannot be. Both are on the disk when it returns.
  // kBadInput where a shape stands in the table already.
  Status Append(const hgemm::ComparisonSession& session, const MeasuredShape& measured);

 private:
  struct Files {
    FileLock lock;
    AppendFile rows, samples;
  };
  ComparisonFile() = default;

  hgemm::ComparisonTable table_;
  std::optional<Files> files_;
  bool begun_ = false;  // this call's session is the table's last one
};

// Reads a finished or an unfinished comparison; a torn end is left out, and said on stderr.
Result<hgemm::NamedComparison> ReadComparisonFile(const std::string& path);

// The parts of one comparison as one table. kBadInput where they are of different ones.
Result<hgemm::ComparisonTable> ReadJoined(const std::vector<std::string>& paths);

// Writes the joined table, and all parts' samples beside it. Every part must have its samples file.
// kConfig: `path` is there already.
Status WriteJoined(const std::vector<hgemm::NamedComparison>& parts,
                   const hgemm::ComparisonTable& joined, const std::filesystem::path& path);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_COMPARISON_FILE_H_
