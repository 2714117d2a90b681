// The measuring of `hgemm bench`: one shape after the other, our kernel with the bar and others as
// its baselines.
#ifndef WARPSMITH_HGEMM_BENCH_CONTEST_H_
#define WARPSMITH_HGEMM_BENCH_CONTEST_H_

#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/protocol.h"
#include "core/verdict.h"
#include "hgemm/bench/measurement_file.h"
#include "hgemm/bench/options.h"
#include "hgemm/catalogue.h"
#include "search/tuning/search.h"
#include "store/recorded_device.h"

namespace warpsmith::hgemm {

// Seven rounds in every mode, and five, in which every library takes part.
Protocol ComparisonProtocol();
Protocol LibrariesProtocol();

// The kernel `point` beside the baselines of the job's task, in the same rounds. The timing is of a
// verdict that passed: kNothingMeasured for any other, kInterrupted when it was stopped before.
Result<std::pair<Timing, Evidence>> MeasureBeside(search::Machine& machine,
                                                  const search::SearchJob& job, const Point& point,
                                                  const Protocol& protocol);

struct Measured {
  MeasurementSession session;
  MeasuredShape result;
};

// Measures shapes: with BenchOptions::against that library and the bar beside the catalogue's
// kernel, or the one that the cost model likes best; without it, NVIDIA's libraries beside it. What
// it is made with must outlive it.
class Contest {
 public:
  // `library`: an absolute path; empty: NVIDIA's libraries.
  Contest(search::Machine& machine, const BenchOptions& options, const Catalogue& catalogue,
          std::string library);

  // The next shape's kernel is compiled meanwhile (null: there is none).
  Result<Measured> Measure(const Problem& problem, const Problem* next);

  // Of the measured kernels: those that are not the catalogue's any more.
  int changed() const { return changed_; }

 private:
  // A shape, and our kernel beside which the others are measured.
  struct Subject {
    search::SearchJob job;
    const CatalogueRow* row;  // null: the catalogue has none
    Point point;
    std::optional<Candidate> plain =
        {};  // the same without launch overlap, where that is another one
  };
  using Take = std::function<Result<MeasuredShape>(const Timing&)>;

  Result<Measured> Compare(const Problem& problem, Subject& subject);
  Result<Measured> MeasureLibraries(const Problem& problem, Subject& subject);
  // Once more, where another way of NVIDIA's was faster than the bar, with one that is chosen anew.
  Result<Measured> MeasureTwice(const Subject& subject, const Protocol& protocol, const Take& take);
  Result<Measured> MeasureOnce(const Subject& subject, const Protocol& protocol, const Take& take);
  Result<Subject> Prepare(const Problem& problem) const;
  std::future<void> CompileAhead(const Subject& subject);

  search::Machine& machine_;
  const BenchOptions& options_;
  const Catalogue& catalogue_;
  const std::string library_;
  std::optional<Subject> next_;
  std::future<void> compiled_;  // of the next one; waits when it is replaced
  int changed_ = 0;
};

// What prevents one shape from being measured is an error of kNothingMeasured, kNotRecorded or
// kBadInput. `next` (null at the end) may be prepared for meanwhile.
using MeasureShape = std::function<Result<Measured>(const Problem& problem, const Problem* next)>;

struct BenchProgress {
  size_t known = 0;     // in the table before
  size_t measured = 0;  // now
  size_t failed = 0;    // asked for in vain, as was said on stderr
  size_t left = 0;      // not reached
};

// Measures what a table lacks; each shape is kept as soon as it is measured. Stops, without an
// error, once `is_late` says so or at Ctrl-C; before the first shape only at Ctrl-C. Where a
// comparison is empty, it stops when the first five shapes were asked for in vain, too.
Result<BenchProgress> MeasureMissing(const std::vector<Problem>& problems, MeasurementFile& file,
                                     const std::function<bool()>& is_late,
                                     const MeasureShape& measure);

// The table that `options` ask for, whole or as far as it came: what the file lacks is measured.
// Progress is said on stderr. kNothingMeasured or kInterrupted where it is empty.
Result<MeasurementTable> Bench(const BenchOptions& options);

// --- From one judged shape's times to what a table holds of it, and to its raw samples as text.

// What is known of a compared shape before it is measured.
struct ShapeTerms {
  Problem problem;
  std::string choice;
  double roofline_us = 0;
  std::string library_baseline;  // its name: "lib:/..."
  // NVIDIA's other ways that the rounds held beside the bar: baselines' names.
  std::vector<std::string> beside = {};
  // The baseline that is our kernel without launch overlap; kItself: our kernel has none. Empty: it
  // is not measured.
  std::string plain = "";
};
inline constexpr std::string_view kItself = "itself";

// kNothingMeasured where a mode, a contender, or a second round is missing: there is no interval.
Result<MeasuredShape> ShapeOf(const ShapeTerms& terms, const Timing& timing, double confidence);

// The libraries' times in one mode, without the twins that show the noise.
std::vector<LibraryTime> LibraryTimesOf(const ModeTiming& mode);

// All of NVIDIA's ways. With `ours` the kernel that they were measured beside, too, and each
// library's time over its.
MeasuredShape LibrariesOf(const Problem& problem, const Timing& timing, bool ours);

// A recording keeps no samples of them: one line stands for each time. kNothingMeasured: there are
// none.
Result<MeasuredShape> RecordedLibraries(const store::RecordedDevice& recorded,
                                        const Problem& problem, const std::string& space);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_CONTEST_H_
