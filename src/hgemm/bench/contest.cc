#include "hgemm/bench/contest.h"

#include <cstdio>
#include <utility>

#include "base/build_info.h"
#include "base/clock.h"
#include "core/provenance.h"
#include "hgemm/bench/catalogues.h"
#include "hgemm/built_kernels.h"
#include "judge/baseline/gemm_baseline.h"
#include "judge/roofline.h"
#include "search/session.h"
#include "task/hgemm_task.h"

namespace warpsmith::hgemm {
namespace {

using search::Machine;
using search::SearchJob;

constexpr std::string_view kOverlap = "overlap";  // the families' parameter; 0: none
constexpr std::string_view kWithoutOverlap = "without-overlap";

// Whether the kernel takes its place while the call ahead still runs.
bool Overlaps(const Point& point) {
  const auto overlap = point.config.find(std::string(kOverlap));
  return overlap != point.config.end() && overlap->second != 0;
}

// What the library does with the shape, if it was built of this catalogue.
std::string ChoiceOf(const CatalogueRow* row) {
  if (row == nullptr) return std::string(kUnlisted);
  return row->choice == Choice::kKernel ? PointName(row->kernel) : std::string(Name(row->choice));
}

// The single ways: "max" of two is one of them.
std::vector<std::string> OthersOfNvidias() {
  std::vector<std::string> names = baseline::GemmBaselineNames();
  std::erase_if(names, [](const std::string& name) {
    return !name.ends_with("-nn") && !name.ends_with("-tn");
  });
  return names;
}

MeasurementSession SessionOf(const Evidence& evidence, const BenchOptions& options) {
  return {OrUnknown(evidence.date),
          OrUnknown(evidence.driver),
          OrUnknown(evidence.toolchain),
          OrUnknown(evidence.baseline_library),
          OrUnknown(std::string(build_info::Version())),
          ShortUuid(evidence.device_uuid),
          CommitText(),
          OrUnknown(options.common.command)};
}

}  // namespace

Protocol ComparisonProtocol() {
  Protocol protocol = Protocol::Screened();
  protocol.every_baseline = true;
  protocol.modes = {kComparedModes.begin(), kComparedModes.end()};
  // What narrows an interval is rounds, not samples within one.
  protocol.rounds = protocol.max_rounds = 7;
  protocol.samples_per_round = 1;
  return protocol;
}

Protocol LibrariesProtocol() {
  Protocol protocol = Protocol::Screened();
  protocol.level = Level::kCertified;  // a screened job meets the bar alone
  protocol.modes = {kComparedModes.begin(), kComparedModes.end()};
  protocol.rounds = protocol.max_rounds = 5;
  protocol.samples_per_round = 1;  // medians over rounds are all that is kept
  return protocol;
}

Result<BesideBaselines> MeasureBeside(Machine& machine, const SearchJob& job, const Point& point,
                                      const Protocol& protocol) {
  search::Session session({job.task, job.workload, protocol}, TRY(machine.seams()));
  const Verdict verdict = TRY(session.Evaluate(TRY(job.make(point)))).step.verdict;
  if (const auto* passed = std::get_if<Passed>(&verdict.outcome)) {
    return BesideBaselines{passed->timings.front(), verdict.evidence};
  }
  return Error{ErrorCode::kNothingMeasured,
               job.label + ": our kernel beside its baselines: " + Describe(verdict.outcome), ""};
}

Contest::Contest(Machine& machine, const BenchOptions& options, const Catalogue& catalogue,
                 std::string library)
    : machine_(machine), options_(options), catalogue_(catalogue), library_(std::move(library)) {}

Result<Contest::Subject> Contest::Prepare(const Problem& problem) const {
  const Task task = task::HgemmTask(LayoutText(problem.layout), problem.dtype);
  const Workload workload = task::HgemmWorkload({problem.m, problem.n, problem.k});
  Subject subject{TRY(search::HgemmSearch(machine_, task, workload)),
                  Find(catalogue_, problem, machine_.info().name),
                  {}};
  if (machine_.recorded() != nullptr) return subject;
  subject.point =
      subject.row != nullptr ? subject.row->kernel : TRY(search::LikeliestPoint(subject.job));
  if (!library_.empty() && Overlaps(subject.point)) {
    Point plain = subject.point;
    plain.config[std::string(kOverlap)] = 0;
    if (auto made = subject.job.make(plain); made.ok()) subject.plain = *std::move(made);
  }
  return subject;
}

// While one shape is measured the next one's kernel is compiled; it waits in the compiler's cache.
// What goes wrong is met again when it is measured.
std::future<void> Contest::CompileAhead(const Subject& subject) {
  Compiler* const compiler = machine_.loop_compiler();
  if (compiler == nullptr) return {};
  Result<Candidate> candidate = subject.job.make(subject.point);
  if (!candidate.ok()) return {};
  const auto compile = [compiler, architecture = machine_.info().architecture](
                           const Candidate& one) { (void)compiler->Compile(one, architecture); };
  return std::async(std::launch::async,
                    [compile, candidate = std::move(*candidate), plain = subject.plain] {
                      std::future<void> beside;  // waits when it goes
                      if (plain) beside = std::async(std::launch::async, compile, *plain);
                      compile(candidate);
                    });
}

Result<Measured> Contest::Measure(const Problem& problem, const Problem* next) {
  Result<Subject> subject =
      next_ ? Result<Subject>(*std::exchange(next_, std::nullopt)) : Prepare(problem);
  if (next != nullptr) {
    if (Result<Subject> prepared = Prepare(*next); prepared.ok()) {
      next_ = *std::move(prepared);
      compiled_ = CompileAhead(*next_);
    }
  }
  if (!subject.ok()) return subject.error();
  return library_.empty() ? MeasureLibraries(problem, *subject) : Compare(problem, *subject);
}

Result<Measured> Contest::Compare(const Problem& problem, Subject& subject) {
  // From memory, whatever the mode, so that a shape has one floor.
  ShapeTerms terms{problem, ChoiceOf(subject.row),
                   TRY(judge::RooflineUs(machine_.info(), subject.job.task, subject.job.workload,
                                         Mode::kDeviceCold)),
                   "lib:" + library_};
  if (IsDrawnForPrimaryCheck(problem, options_.beside)) terms.beside = OthersOfNvidias();
  Task& task = subject.job.task;
  task.baselines = {std::string(kPrimary), terms.library_baseline};
  task.baselines.insert(task.baselines.end(), terms.beside.begin(), terms.beside.end());
  if (subject.plain) {
    terms.plain = kWithoutOverlap;
    task.rivals = {{terms.plain, *subject.plain}};
    task.baselines.push_back(terms.plain);
  } else if (!Overlaps(subject.point)) {
    terms.plain = kItself;
  }
  const Protocol protocol = ComparisonProtocol();
  Measured measured = TRY(MeasureTwice(subject, protocol, [&](const Timing& timing) {
    return ShapeOf(terms, timing, protocol.confidence);
  }));
  if (subject.row != nullptr && TRY(HasChanged(*subject.row))) ++changed_;
  return measured;
}

// Without a kernel in the catalogue beside the one that the cost model likes best: the libraries
// need a neighbour to be paired with, not a fast one.
Result<Measured> Contest::MeasureLibraries(const Problem& problem, Subject& subject) {
  if (const store::RecordedDevice* recorded = machine_.recorded()) {
    Evidence evidence;
    evidence.date = UtcTimestamp();
    evidence.driver = machine_.info().driver;
    evidence.device_uuid = machine_.info().uuid;
    evidence.baseline_library = "recorded";
    return Measured{SessionOf(evidence, options_),
                    TRY(RecordedLibraries(*recorded, problem, subject.job.space.name()))};
  }
  if (subject.row == nullptr && !options_.catalogue.empty()) {
    std::fprintf(stderr, "%s: %s has no kernel for it; the libraries alone\n",
                 subject.job.label.c_str(), options_.catalogue.c_str());
  }
  subject.job.task.baselines = baseline::GemmBaselineNames();
  const Protocol protocol = options_.paper_protocol ? Protocol::Paper() : LibrariesProtocol();
  return MeasureTwice(subject, protocol, [&](const Timing& timing) -> Result<MeasuredShape> {
    return LibrariesOf(problem, timing, subject.row != nullptr);
  });
}

Result<Measured> Contest::MeasureTwice(const Subject& subject, const Protocol& protocol,
                                       const Take& take) {
  Measured measured = TRY(MeasureOnce(subject, protocol, take));
  const std::optional<PrimaryCheck>& check = measured.result.shape.primary_check;
  if (!check || check->violations.empty()) return measured;
  judge::ChoiceRequest request{std::string(kPrimary), protocol.modes};
  request.again = true;
  TRY(machine_.local()->Choose(subject.job.task, subject.job.workload, request));
  measured = TRY(MeasureOnce(subject, protocol, take));
  measured.result.shape.primary_check->choices = 2;
  return measured;
}

Result<Measured> Contest::MeasureOnce(const Subject& subject, const Protocol& protocol,
                                      const Take& take) {
  const BesideBaselines beside = TRY(MeasureBeside(machine_, subject.job, subject.point, protocol));
  return Measured{SessionOf(beside.evidence, options_), TRY(take(beside.timing))};
}

}  // namespace warpsmith::hgemm
