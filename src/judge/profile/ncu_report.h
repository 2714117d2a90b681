// What Nsight Compute printed (ncu --csv), as values. Written for its versions 2022 to 2026.
//
// Two layouts: `--page raw` has a row of names, a row of units and a row for each kernel; without
// it there is a row for each kernel and metric. Lines such as ==PROF== may stand anywhere, and so
// may other text before the table.
#ifndef WARPSMITH_JUDGE_PROFILE_NCU_REPORT_H_
#define WARPSMITH_JUDGE_PROFILE_NCU_REPORT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/verdict.h"

namespace warpsmith::profile {

// --- Comma-separated records (RFC 4180), read forgivingly: what cannot be a quote is a character.

using CsvRecord = std::vector<std::string>;

// Reads records one by one. Lines end in LF or CRLF; a quoted cell may hold both, and commas, and
// quotes doubled. A quote inside a quoted cell that no comma, line end or quote follows is taken as
// it is. Empty lines are skipped. Every text is readable: there are no errors but Truncated().
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  std::optional<CsvRecord> Next();  // nullopt at the end
  bool HasMore();
  // The rest of the current line as it stands, before Next(); moves past it.
  std::string_view TakeLine();
  // What Next() would read begins with `prefix`.
  bool NextStartsWith(std::string_view prefix);
  // The text ended inside a quoted cell.
  bool Truncated() const { return truncated_; }

 private:
  void SkipEmptyLines();
  bool AtLineEnd() const;
  std::string Quoted();
  std::string Plain();

  std::string_view text_;
  size_t at_ = 0;
  bool truncated_ = false;
};

// Limits of one report.
inline constexpr size_t kMaxKernels = 65'536;
inline constexpr size_t kMaxMetricsPerKernel = 4'096;
inline constexpr size_t kMaxKernelNameBytes = 512;  // the rest is cut

struct NcuReport {
  // In execution order. Times are nanoseconds and sizes bytes, whatever unit was printed. A value
  // that is empty, n/a, NaN or otherwise not a number is absent.
  std::vector<KernelProfile> kernels;
  std::vector<std::string> warnings,
      errors;           // the ==WARNING== and ==ERROR== lines' text, safe to show
  int unread_rows = 0;  // rows that do not fit their table
};

// kNothingMeasured when no kernel has a metric, with the tool's first error (kPermission when
// counters are not allowed to this user). kBadInput when the text ends inside a quoted cell or
// passes a limit. `source` (a file's name, "ncu") goes into error texts.
Result<NcuReport> ReadNcuReport(std::string_view source, std::string_view text);

// The messages alone, for a run that failed before it printed a table.
NcuReport ReadNcuMessages(std::string_view text);

// Counters that need rights this user lacks: ERR_NVGPUCTRPERM.
bool DeniesCounters(const NcuReport& report);

// Metrics that this ncu or this part does not know, as its errors name them.
std::vector<std::string> UnknownMetrics(const NcuReport& report);

// "ncu 2025.3.1" from `ncu --version`; nullopt when the text names no version.
std::optional<std::string> NcuVersion(std::string_view text);

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_NCU_REPORT_H_
