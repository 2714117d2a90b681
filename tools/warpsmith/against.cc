#include "against.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "catalogue.h"
#include "core/verdict.h"
#include "hgemm_products.h"
#include "machine.h"
#include "measuring.h"
#include "optimize/slice.h"
#include "search.h"
#include "task/hgemm_task.h"
#include "util/build_info.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/interrupt.h"

namespace warpsmith::cli {
namespace {

constexpr char kBar[] = "cublaslt-auto";

struct AgainstRow {
  task::HgemmShape shape;
  Mode mode = Mode::kDeviceHot;
  double library_us = 0, bar_us = 0;
  double ratio = 0;  // bar / library: above 1 the library is faster
  Interval interval;
  double kernel_us = 0;     // of our own kernel, launched without a library
  double kernel_ratio = 0;  // bar / kernel
  Interval kernel_interval;
};

// A shape, and our kernel beside which the library and the bar are measured.
struct Subject {
  SearchJob job;
  Point point;
};

Protocol AgainstProtocol() {
  Protocol protocol = Protocol::Screened();
  protocol.level = Level::kCertified;  // a screened job meets the bar alone
  protocol.modes = {Mode::kDeviceHot, Mode::kDeviceCold, Mode::kOffline, Mode::kServer};
  // What narrows an interval is rounds, not samples within one.
  protocol.rounds = protocol.max_rounds = 7;
  protocol.samples_per_round = 1;
  return protocol;
}

const Comparison* FindComparisonWith(const ModeTiming& timing, const std::string& baseline) {
  for (const Comparison& comparison : timing.comparisons) {
    if (comparison.baseline == baseline) return &comparison;
  }
  return nullptr;
}

double MedianOf(const ModeTiming& timing, const std::string& baseline) {
  for (const ContenderTiming& contender : timing.baselines) {
    if (contender.name == baseline) return contender.median_us;
  }
  return 0;
}

// Both were compared with one candidate in the same rounds; their ratio is the quotient of those
// two, the logarithms' half-widths added in quadrature (which is too wide, since they share the
// candidate's noise).
std::optional<AgainstRow> RowOf(const task::HgemmShape& shape, const ModeTiming& timing,
                                const std::string& library) {
  const Comparison* bar = FindComparisonWith(timing, kBar);
  const Comparison* own = FindComparisonWith(timing, library);
  if (bar == nullptr || own == nullptr) return std::nullopt;
  const double below =
      std::hypot(std::log(bar->ratio / bar->interval.lo), std::log(own->interval.hi / own->ratio));
  const double above =
      std::hypot(std::log(bar->interval.hi / bar->ratio), std::log(own->ratio / own->interval.lo));
  AgainstRow row{shape,
                 timing.mode,
                 MedianOf(timing, library),
                 MedianOf(timing, kBar),
                 bar->ratio / own->ratio,
                 {},
                 timing.candidate.median_us,
                 bar->ratio,
                 bar->interval};
  row.interval = {row.ratio * std::exp(-below), row.ratio * std::exp(above)};
  return row;
}

// The catalogue's kernel, or where it has none the one that the cost model likes best.
Result<Subject> SubjectOf(Machine& machine, const task::HgemmShape& shape,
                          const BenchOptions& options, const hgemm::Catalogue& catalogue) {
  const Task task = TaskOf(options.product);
  const Workload workload = task::HgemmWorkload(shape);
  Subject subject{TRY(HgemmSearch(machine, task, workload)), {}};
  const hgemm::CatalogueRow* row =
      hgemm::Find(catalogue, ProblemOf(task, workload), machine.info().name);
  if (row != nullptr) {
    subject.point = row->kernel;
    return subject;
  }
  const std::vector<Point>& points = subject.job.space.points();
  if (points.empty()) {
    return Error{ErrorCode::kBadInput, subject.job.label + ": no kernel of ours to measure beside",
                 ""};
  }
  double best_us = 0;
  for (const Point& point : points) {
    const double us = subject.job.model(point);
    if (&point != &points.front() && us >= best_us) continue;
    subject.point = point;
    best_us = us;
  }
  return subject;
}

// While one shape is measured the next one's kernel is compiled; it waits in the compiler's cache.
// What goes wrong is met again when it is measured.
std::future<void> CompileAhead(Machine& machine, const Subject& subject) {
  Compiler* const compiler = machine.loop_compiler();
  Result<Candidate> candidate = subject.job.make(subject.point);
  if (compiler == nullptr || !candidate.ok()) return {};
  return std::async(std::launch::async, [compiler, candidate = std::move(*candidate),
                                         architecture = machine.info().architecture] {
    (void)compiler->Compile(candidate, architecture);
  });
}

Result<std::vector<AgainstRow>> Measure(Machine& machine, const task::HgemmShape& shape,
                                        Subject subject, const std::string& library) {
  SearchJob& job = subject.job;
  job.task.baselines = {kBar, library};
  std::vector<AgainstRow> rows;
  TRY(MeasurePoints(machine, job, AgainstProtocol(), {subject.point},
                    [&](const Job&, const Completed& completed) -> Result<bool> {
                      const Outcome& outcome = completed.verdict.outcome;
                      const auto* passed = std::get_if<Passed>(&outcome);
                      if (passed == nullptr) {
                        std::fprintf(stderr, "%s: %s\n", job.label.c_str(),
                                     Describe(outcome).c_str());
                        return true;
                      }
                      for (const ModeTiming& timing : passed->timings.front().modes) {
                        if (const auto row = RowOf(shape, timing, library)) rows.push_back(*row);
                      }
                      return true;
                    }));
  return rows;
}

std::string ToCsv(const std::vector<AgainstRow>& rows, const DeviceInfo& info,
                  const BenchOptions& options) {
  std::string csv = "# " + info.name + ", driver " + info.driver + ", " + UtcTimestamp() +
                    ", warpsmith " + std::string(build_info::Version()) +
                    " hgemm bench --against " +
                    std::filesystem::path(options.against).filename().string() + " " +
                    ArgumentsOf(options.product) +
                    "\nm,n,k,layout,dtype,mode,library_us,lt_auto_us,ratio,lo,hi,"
                    "kernel_us,ratio_kernel,lo_kernel,hi_kernel\n";
  for (const AgainstRow& row : rows) {
    char line[320];
    std::snprintf(line, sizeof line,
                  "%ld,%ld,%ld,%s,%s,%s,%.5g,%.5g,%.4f,%.4f,%.4f,%.5g,%.4f,%.4f,%.4f\n",
                  static_cast<long>(row.shape.m), static_cast<long>(row.shape.n),
                  static_cast<long>(row.shape.k), options.product.layout.c_str(),
                  options.product.dtype.c_str(), std::string(Name(row.mode)).c_str(),
                  row.library_us, row.bar_us, row.ratio, row.interval.lo, row.interval.hi,
                  row.kernel_us, row.kernel_ratio, row.kernel_interval.lo, row.kernel_interval.hi);
    csv += line;
  }
  return csv;
}

struct Summary {
  int shapes = 0, faster = 0, slower = 0;  // by the whole interval
  double geomean = 1;
  const AgainstRow* worst = nullptr;
};

std::map<Mode, Summary> Summarise(const std::vector<AgainstRow>& rows) {
  std::map<Mode, Summary> summaries;
  std::map<Mode, double> logarithms;
  for (const AgainstRow& row : rows) {
    Summary& summary = summaries[row.mode];
    ++summary.shapes;
    summary.faster += row.interval.lo > 1 ? 1 : 0;
    summary.slower += row.interval.hi < 1 ? 1 : 0;
    logarithms[row.mode] += std::log(row.ratio);
    summary.geomean = std::exp(logarithms[row.mode] / summary.shapes);
    if (summary.worst == nullptr || row.ratio < summary.worst->ratio) summary.worst = &row;
  }
  return summaries;
}

void Print(const std::vector<AgainstRow>& rows, bool json) {
  nlohmann::json document = {
      {"schema", "warpsmith.against"}, {"version", 1}, {"rows", nlohmann::json::array()}};
  for (const AgainstRow& row : rows) {
    document["rows"].push_back({{"shape", task::Name(row.shape)},
                                {"mode", Name(row.mode)},
                                {"library_us", row.library_us},
                                {"lt_auto_us", row.bar_us},
                                {"ratio", row.ratio},
                                {"low", row.interval.lo},
                                {"high", row.interval.hi},
                                {"kernel_us", row.kernel_us},
                                {"kernel_ratio", row.kernel_ratio}});
    if (json) continue;
    std::printf("%-20s %-12s %10.3f us, cuBLASLt %10.3f us: %.3f [%.3f, %.3f]\n",
                task::Name(row.shape).c_str(), std::string(Name(row.mode)).c_str(), row.library_us,
                row.bar_us, row.ratio, row.interval.lo, row.interval.hi);
  }
  if (json) {
    std::printf("%s\n", document.dump(1).c_str());
    return;
  }
  for (const auto& [mode, summary] : Summarise(rows)) {
    std::printf(
        "%-12s geometric mean %.3f over %d shapes; faster on %d, slower on %d; worst %.3f "
        "at %s\n",
        std::string(Name(mode)).c_str(), summary.geomean, summary.shapes, summary.faster,
        summary.slower, summary.worst->ratio, task::Name(summary.worst->shape).c_str());
  }
}

}  // namespace

Result<int> RunAgainst(const BenchOptions& options) {
  const optimize::Slice slice = TRY(optimize::ParseSlice(options.pace.slice));
  const std::vector<task::HgemmShape> shapes =
      optimize::TakeSlice(slice, TRY(task::ParseHgemmShapes(options.shapes)));
  std::error_code missing;
  const std::filesystem::path path = std::filesystem::canonical(options.against, missing);
  if (missing) {
    return Error{ErrorCode::kNoInput, "--against " + options.against + ": " + missing.message(),
                 "name a shared library; docs/library.md says what it exports"};
  }
  hgemm::Catalogue catalogue;
  if (!options.catalogue.empty()) catalogue = TRY(ReadCatalogue(options.catalogue));
  DeviceOptions device = options.device;
  device.libraries = {path.string()};
  Machine machine = TRY(Machine::Open(device));
  if (machine.recorded() != nullptr) {
    return Error{ErrorCode::kUnavailable, "comparing libraries needs a GPU; " + machine.notice(),
                 "run it where 'warpsmith doctor' finds one"};
  }
  const double started = MonotonicSeconds();
  std::vector<AgainstRow> rows;
  std::optional<Subject> next;
  std::future<void> compiled;  // of the next one; waits when it is replaced
  for (size_t i = 0; i < shapes.size(); ++i) {
    const bool late =
        options.pace.max_seconds > 0 && MonotonicSeconds() - started > options.pace.max_seconds;
    if (Interrupted() || late) break;
    Subject subject =
        next ? std::move(*next) : TRY(SubjectOf(machine, shapes[i], options, catalogue));
    next.reset();
    if (i + 1 < shapes.size()) {
      next = TRY(SubjectOf(machine, shapes[i + 1], options, catalogue));
      compiled = CompileAhead(machine, *next);
    }
    const auto measured =
        TRY(Measure(machine, shapes[i], std::move(subject), "lib:" + path.string()));
    rows.insert(rows.end(), measured.begin(), measured.end());
  }
  if (rows.empty()) {
    return Error{ErrorCode::kNothingMeasured, "no shape was compared", "raise --max-seconds"};
  }
  if (!options.csv.empty()) {
    TRY(WriteFileAtomic(options.csv, ToCsv(rows, machine.info(), options)));
  }
  Print(rows, options.common.json);
  return 0;
}

}  // namespace warpsmith::cli
