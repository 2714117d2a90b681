// A table of measurements on disk, and beside it every raw sample: a zstd frame of the columns'
// names, then one for each shape, in the table's order. Both grow shape by shape, so that nothing
// is lost when the program is killed or the disk is full. docs/files.md.
#ifndef WARPSMITH_HGEMM_BENCH_MEASUREMENT_FILE_H_
#define WARPSMITH_HGEMM_BENCH_MEASUREMENT_FILE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/file.h"
#include "base/result.h"
#include "hgemm/measurement_table.h"
#include "hgemm/measurement_text.h"

namespace warpsmith::hgemm {

// A line a batch: which contender ("kernel", "ours", "lt_auto", or a baseline's name), when, how
// long a call took, and the clock, temperature and power that were read with it (0: not read).
inline constexpr std::string_view kSampleColumns =
    "m,n,k,mode,contender,process,round,us,sm_mhz,temperature_c,power_w\n";

std::string SampleLines(const Problem& problem, Mode mode, std::string_view contender,
                        const ContenderTiming& timing);

struct MeasuredShape {
  ShapeMeasurement shape;
  std::string samples;  // lines of kSampleColumns
};

class MeasurementFile {
 public:
  // Begins a table, or goes on with one: kBadInput where the file there is of other terms, or has
  // not its own samples beside it. A torn end is cut off both files. An empty path keeps the table
  // in memory alone. Holds a lock while it lives.
  static Result<MeasurementFile> Open(const std::filesystem::path& path,
                                      const MeasurementTerms& terms);

  const MeasurementTable& table() const { return table_; }

  // Samples first, then rows: rows without samples cannot be. Both are on the disk when it returns.
  // kBadInput where a shape stands in the table already.
  Status Append(const MeasurementSession& session, const MeasuredShape& measured);
  // More times of a shape that stands in the libraries' table, without samples.
  Status AddTimes(const ShapeMeasurement& more);

 private:
  struct Files {
    FileLock lock;
    AppendFile rows, samples;
  };
  MeasurementFile() = default;

  // What is added to the rows' file; it tells of the text before it.
  Status AppendRows(const std::string& part);

  MeasurementTable table_;
  CountedText counted_;
  std::optional<Files> files_;
  bool begun_ = false;  // this call's session is the table's last one
};

// "h200.csv" -> "h200.samples.csv.zst"
std::filesystem::path SamplesPath(const std::filesystem::path& csv);

// Reads a finished or an unfinished table; a torn end is left out, and said on stderr.
Result<NamedMeasurements> ReadMeasurementFile(const std::string& path);

// The parts of one comparison as one table. kBadInput where they are of different ones.
Result<MeasurementTable> ReadJoined(const std::vector<std::string>& paths);

// Writes the joined table, and all parts' samples beside it. Every part must have its samples file.
// kConfig: `path` is there already.
Status WriteJoined(const std::vector<NamedMeasurements>& parts, const MeasurementTable& joined,
                   const std::filesystem::path& path);

// --- A table of measurements for people and programs: what a comparison comes to, and the
// libraries' times.

enum class TableStyle : uint8_t { kPlain, kMarkdown };

// Of a comparison, by mode a table of the classes, then one table by log2(M*N*K); of the libraries
// every time. At the end what the bar is worth.
std::string SummaryText(const MeasurementTable& table, TableStyle style);

// Terms, sessions, rows and summary (`warpsmith.against`), or the libraries' rows
// (`warpsmith.baselines`); and what the bar is worth.
nlohmann::json ToJson(const MeasurementTable& table);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_MEASUREMENT_FILE_H_
