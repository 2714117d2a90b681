// The kernels of a catalogue, checked: `hgemm audit` and `hgemm verify`.
//
// `hgemm audit`: a catalogue's kernels under sanitizers. What is found is a row a run, on the disk
// as it comes; the same command goes on with what was not clean yet.
#ifndef WARPSMITH_HGEMM_BENCH_AUDIT_H_
#define WARPSMITH_HGEMM_BENCH_AUDIT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "core/device.h"
#include "hgemm/bench/options.h"
#include "hgemm/catalogue.h"
#include "judge/audit/audit.h"

namespace warpsmith::hgemm {

struct Watched {
  CatalogueRow row;
  std::string_view check;
  std::string cubin;  // SHA-256; empty where it was not compiled
};

// Thread-safe, but for Open.
class AuditFindings {
 public:
  // Goes on with a file that is there; what was not clean in it will be run again, and get another
  // row. kBadInput where it is of another device or driver, or no such file. An empty path: nothing
  // is written.
  Status Open(const std::string& path, const DeviceInfo& info);

  // A cubin that was clean on some shape, and on none was found to be wrong, is not run again.
  bool IsKnown(std::string_view check, const std::string& cubin) const;
  void AddKnown() { ++known_; }
  void Add(const Watched& watched, const audit::AuditFinding& finding);

  int clean() const { return clean_; }  // those known before left out
  int known() const { return known_; }
  int convicted() const { return convicted_; }
  int absent() const { return absent_; }
  int done() const { return clean_ + known_ + convicted_ + absent_; }
  // Of the first row that could not be written.
  std::optional<Error> broken() const;

 private:
  using Key = std::pair<std::string, std::string>;  // check, cubin

  Result<std::string> WholeRows(const std::string& path, const std::string& head);
  void TakeRow(const std::string& line, const std::vector<std::string_view>& cells);

  mutable std::mutex mutex_;
  std::optional<FileLock> lock_;
  std::optional<AppendFile> file_;
  std::optional<Error> broken_;
  std::set<Key> clean_before_;
  // By which runs, that were not clean since.
  std::map<Key, std::set<std::string>> convicted_before_;
  std::atomic<int> clean_ = 0, known_ = 0, convicted_ = 0, absent_ = 0;
};

// Memcheck of each configuration that the catalogue chose, and racecheck of the first of each
// family.
std::vector<Watched> WatchesOf(const Catalogue& catalogue);

// Several runs at once: nothing is timed. What keeps a run from being watched is told, and the
// others go on. An error where nothing was watched, or a row could not be written.
Status Audit(search::Machine& machine, const std::vector<Watched>& watches,
             const AuditOptions& options, AuditFindings& findings);

// --- `hgemm verify`: are kernels right on this GPU and driver?

struct Verified {
  int64_t judged = 0, failed = 0;
  size_t kernels = 0, shapes = 0;  // that were to be judged
};

// Judges the configuration of each family that the model likes best on each shape, or the kernels
// that the catalogue chose, as this program makes them; what is known of them is no answer. A row a
// kernel in options.csv, as it comes, over what is there; progress and failures are said on stderr.
Result<Verified> Verify(const VerifyOptions& options);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_AUDIT_H_
