#include "against.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>

#include "catalogue.h"
#include "comparison_file.h"
#include "comparison_report.h"
#include "comparison_run.h"
#include "core/verdict.h"
#include "hgemm/comparison_guard.h"
#include "hgemm_products.h"
#include "judge/floor.h"
#include "machine.h"
#include "measuring.h"
#include "optimize/slice.h"
#include "search.h"
#include "task/hgemm_task.h"
#include "util/build_info.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/interrupt.h"
#include "util/sha256.h"

namespace warpsmith::cli {
namespace {

namespace fs = std::filesystem;

// A shape, and our kernel beside which the library and the bar are measured.
struct Subject {
  SearchJob job;
  Point point;
};

Protocol AgainstProtocol() {
  Protocol protocol = Protocol::Screened();
  protocol.every_baseline = true;
  protocol.modes = {hgemm::kComparedModes.begin(), hgemm::kComparedModes.end()};
  // What narrows an interval is rounds, not samples within one.
  protocol.rounds = protocol.max_rounds = 7;
  protocol.samples_per_round = 1;
  return protocol;
}

std::string OrUnknown(const std::string& text) { return text.empty() ? "unknown" : text; }

Result<std::string> FileTerm(const fs::path& path) {
  return path.filename().string() + " " + Sha256Hex(TRY(ReadFile(path)));
}

// The pack that the library finds by itself (docs/library.md): with another one it is another
// library.
Result<std::string> PackTerm(const fs::path& library) {
  const char* named = std::getenv("WARPSMITH_GEMM_PACK");
  const fs::path beside = library.parent_path() / "warpsmith" / "gemm.wspack";
  if (named != nullptr && *named != '\0') return FileTerm(named);
  if (fs::exists(beside)) return FileTerm(beside);
  return std::string("none");
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

// Measures one shape after the other, and has the next one's kernel compiled meanwhile.
class Contest {
 public:
  Contest(Machine& machine, const BenchOptions& options, const hgemm::Catalogue& catalogue,
          const fs::path& library)
      : machine_(machine),
        options_(options),
        catalogue_(catalogue),
        library_("lib:" + library.string()) {}

  Result<std::optional<Measured>> Measure(const hgemm::Problem& problem,
                                          const hgemm::Problem* next) {
    Subject subject = next_ ? *std::move(next_) : TRY(Prepare(problem));
    next_.reset();
    if (next != nullptr) {
      next_ = TRY(Prepare(*next));
      compiled_ = CompileAhead(machine_, *next_);
    }
    subject.job.task.baselines = {std::string(hgemm::kBar), library_};
    const ShapeTerms terms{problem, ChoiceOf(problem), TRY(FloorOf(subject.job)), library_};
    std::optional<Measured> measured;
    TRY(MeasurePoints(machine_, subject.job, AgainstProtocol(), {subject.point},
                      [&](const Job&, const Completed& completed) -> Result<bool> {
                        measured = Taken(terms, completed.verdict);
                        return true;
                      }));
    if (measured && TRY(HasChanged(problem, subject))) ++changed_;
    return measured;
  }

  // Of the measured kernels: those that are not the catalogue's any more.
  int changed() const { return changed_; }

 private:
  Result<Subject> Prepare(const hgemm::Problem& problem) {
    return SubjectOf(machine_, {problem.m, problem.n, problem.k}, options_, catalogue_);
  }

  // What the library does with the shape, if it was built of this catalogue.
  std::string ChoiceOf(const hgemm::Problem& problem) const {
    const hgemm::CatalogueRow* row = hgemm::Find(catalogue_, problem, machine_.info().name);
    if (row == nullptr) return std::string(hgemm::kUnlisted);
    const bool ours = row->choice == hgemm::Choice::kKernel;
    return ours ? PointName(row->kernel) : std::string(hgemm::Name(row->choice));
  }

  // Does this program make another kernel of the row's configuration than the one that was tuned?
  Result<bool> HasChanged(const hgemm::Problem& problem, const Subject& subject) const {
    const hgemm::CatalogueRow* row = hgemm::Find(catalogue_, problem, machine_.info().name);
    if (row == nullptr) return false;
    return CandidateId(TRY(subject.job.make(subject.point))) != row->candidate;
  }

  // From memory, whatever the mode, so that a shape has one floor.
  Result<double> FloorOf(const SearchJob& job) const {
    return judge::FloorUs(machine_.info(), job.task, job.workload, Mode::kDeviceCold);
  }

  std::optional<Measured> Taken(const ShapeTerms& terms, const Verdict& verdict) const {
    const auto* passed = std::get_if<Passed>(&verdict.outcome);
    if (passed == nullptr) {
      std::fprintf(stderr, "%s: %s\n", hgemm::NameOf(terms.problem).c_str(),
                   Describe(verdict.outcome).c_str());
      return std::nullopt;
    }
    auto shape = ShapeOf(terms, passed->timings.front(), AgainstProtocol().confidence);
    if (!shape.ok()) {
      std::fprintf(stderr, "%s\n", shape.error().Line().c_str());
      return std::nullopt;
    }
    const Evidence& evidence = verdict.evidence;
    return Measured{
        {OrUnknown(evidence.date), OrUnknown(evidence.driver), OrUnknown(evidence.toolchain),
         OrUnknown(evidence.baseline_library), OrUnknown(std::string(build_info::Version()))},
        *std::move(shape)};
  }

  Machine& machine_;
  const BenchOptions& options_;
  const hgemm::Catalogue& catalogue_;
  const std::string library_;
  std::optional<Subject> next_;
  std::future<void> compiled_;  // of the next one; waits when it is replaced
  int changed_ = 0;
};

Result<std::vector<hgemm::Problem>> ProblemsOf(const BenchOptions& options) {
  const optimize::Slice slice = TRY(optimize::ParseSlice(options.pace.slice));
  const Task task = TaskOf(options.product);
  std::vector<hgemm::Problem> problems;
  for (const task::HgemmShape& shape :
       optimize::TakeSlice(slice, TRY(task::ParseHgemmShapes(options.shapes)))) {
    problems.push_back(ProblemOf(task, task::HgemmWorkload(shape)));
  }
  return problems;
}

Result<hgemm::ComparisonTerms> TermsOf(const Machine& machine, const BenchOptions& options,
                                       const hgemm::Catalogue& catalogue, const fs::path& library) {
  hgemm::ComparisonTerms terms;
  terms.device = machine.info().name;
  terms.layout = options.product.layout;
  terms.dtype = options.product.dtype;
  terms.library = TRY(FileTerm(library));
  terms.pack = TRY(PackTerm(library));
  terms.catalogue = options.catalogue.empty() ? "none" : TRY(hgemm::CatalogueHash(catalogue));
  terms.protocol = ProtocolId(AgainstProtocol());
  return terms;
}

void Tell(const hgemm::ShapeComparison& shape, size_t done, size_t all) {
  const hgemm::ModeComparison& hot = shape.modes.front();
  std::fprintf(stderr, "%zu/%zu %s: cuBLASLt %.4g us, kernel %.3f, library %.3f [%.3f, %.3f]\n",
               done, all, hgemm::NameOf(shape.problem).c_str(), hot.bar_us, hot.kernel.value,
               hot.library.value, hot.library.interval.lo, hot.library.interval.hi);
}

void TellEnd(const ComparisonProgress& progress, int changed, const BenchOptions& options) {
  if (progress.failed + progress.left > 0) {
    std::fprintf(stderr, "%zu shapes are missing, of which %zu could not be compared%s\n",
                 progress.failed + progress.left, progress.failed,
                 options.csv.empty() ? "" : "; the same command goes on with them");
  }
  if (changed > 0) {
    std::fprintf(stderr,
                 "%d of the kernels are built otherwise now than when they were tuned; what this "
                 "program builds was measured\n",
                 changed);
  }
}

// --max-seconds is looked at after a shape, so it is never the reason.
Error NothingCompared(const ComparisonProgress& progress) {
  if (Interrupted()) return {ErrorCode::kInterrupted, "stopped before a shape was compared", ""};
  return {ErrorCode::kNothingMeasured, "no shape was compared",
          progress.failed > 0 ? "the lines above say why each was not"
                              : "name at least as many --shapes as there are slices"};
}

void Print(const hgemm::ComparisonTable& table, const BenchOptions& options) {
  if (options.common.json) {
    std::printf("%s\n", ToJson(table).dump(1).c_str());
  } else {
    const TableStyle style = options.markdown ? TableStyle::kMarkdown : TableStyle::kPlain;
    std::printf("%s", SummaryText(table, style).c_str());
  }
}

}  // namespace

Result<int> RunAgainst(const BenchOptions& options) {
  const std::vector<hgemm::Problem> problems = TRY(ProblemsOf(options));
  std::error_code missing;
  const fs::path library = fs::canonical(options.against, missing);
  if (missing) {
    return Error{ErrorCode::kNoInput, "--against " + options.against + ": " + missing.message(),
                 "name a shared library; docs/library.md says what it exports"};
  }
  hgemm::Catalogue catalogue;
  if (!options.catalogue.empty()) catalogue = TRY(ReadCatalogue(options.catalogue));
  DeviceOptions device = options.device;
  device.libraries = {library.string()};
  Machine machine = TRY(Machine::Open(device));
  if (machine.recorded() != nullptr) {
    return Error{ErrorCode::kUnavailable, "comparing libraries needs a GPU; " + machine.notice(),
                 "run it where 'warpsmith doctor' finds one"};
  }
  ComparisonFile file =
      TRY(ComparisonFile::Open(options.csv, TRY(TermsOf(machine, options, catalogue, library))));
  const double started = MonotonicSeconds();
  const auto is_late = [&] {
    return options.pace.max_seconds > 0 && MonotonicSeconds() - started > options.pace.max_seconds;
  };
  Contest contest(machine, options, catalogue, library);
  const ComparisonProgress progress = TRY(MeasureMissing(
      problems, file, is_late, [&](const hgemm::Problem& problem, const hgemm::Problem* next) {
        auto measured = contest.Measure(problem, next);
        const bool taken = measured.ok() && measured->has_value();
        if (taken && !options.common.quiet) {
          Tell((*measured)->result.shape, file.table().shapes.size() + 1, problems.size());
        }
        return measured;
      }));
  if (file.table().shapes.empty()) {
    return NothingCompared(progress);
  }
  TellEnd(progress, contest.changed(), options);
  Print(file.table(), options);
  return Interrupted() ? Describe(ErrorCode::kInterrupted).exit_status : 0;
}

Result<int> RunComparisonSummary(const BenchOptions& options) {
  std::vector<hgemm::NamedComparison> parts;
  for (const std::string& path : options.from) parts.push_back(TRY(ReadComparisonFile(path)));
  const hgemm::ComparisonTable table = TRY(hgemm::Join(parts));
  if (!options.csv.empty()) TRY(WriteJoined(parts, table, options.csv));
  Print(table, options);
  return 0;
}

}  // namespace warpsmith::cli
