#include "hgemm/bench/contest.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

#include "base/build_info.h"
#include "base/clock.h"
#include "core/device.h"
#include "hgemm/bench/catalogues.h"
#include "hgemm/catalogue.h"
#include "judge/baseline/gemm_baseline.h"
#include "judge/resolved_task.h"
#include "judge/statistics.h"
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

Result<std::pair<Timing, Evidence>> MeasureBeside(Machine& machine, const SearchJob& job,
                                                  const Point& point, const Protocol& protocol) {
  search::Session session({job.task, job.workload, protocol}, TRY(machine.seams()));
  const Verdict verdict = TRY(session.Evaluate(TRY(job.make(point)))).step.verdict;
  if (const auto* passed = std::get_if<Passed>(&verdict.outcome)) {
    return std::pair(passed->timings.front(), verdict.evidence);
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
  const double roofline_us = TRY(judge::RooflineUs(machine_.info(), subject.job.task,
                                                   subject.job.workload, Mode::kDeviceCold));
  ShapeTerms terms{problem, ChoiceOf(subject.row), roofline_us, "lib:" + library_};
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
    MeasuredShape libraries = TRY(RecordedLibraries(*recorded, problem, subject.job.space.name()));
    return Measured{SessionOf(evidence, options_), std::move(libraries)};
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
  const auto [timing, evidence] =
      TRY(MeasureBeside(machine_, subject.job, subject.point, protocol));
  MeasuredShape taken = TRY(take(timing));
  return Measured{SessionOf(evidence, options_), std::move(taken)};
}

namespace {

constexpr double kPrimaryConfidence = 0.99;  // as in verdicts
constexpr const char* kGoOn = "run the same command again: it goes on with what is missing";

bool IsTwin(std::string_view baseline) { return baseline.ends_with("/again"); }

Error NotMeasured(const Problem& problem, const std::string& what) {
  return {ErrorCode::kNothingMeasured, SizesText(problem) + ": " + what, kGoOn};
}

const ContenderTiming* FindBaseline(const ModeTiming& timing, std::string_view name) {
  for (const ContenderTiming& baseline : timing.baselines) {
    if (baseline.name == name) return &baseline;
  }
  return nullptr;
}

// The bar's time over another's, straight from the rounds in which both were timed, so that what
// disturbs both cancels. Nullopt: fewer than two rounds.
std::optional<PairedRatio> Paired(const ContenderTiming& primary, const ContenderTiming& other,
                                  double confidence) {
  const PairedRatio estimate =
      judge::EstimateOf(judge::PairedLogRatios(primary.samples, other.samples), confidence);
  if (!std::isfinite(judge::HalfWidth(estimate))) return std::nullopt;
  return estimate;
}

// One mode of a compared shape, contender by contender.
class ComparedMode {
 public:
  ComparedMode(const ShapeTerms& terms, const ModeTiming& timing, double confidence,
               std::string& samples)
      : terms_(terms), timing_(timing), confidence_(confidence), samples_(samples) {}

  Result<ModeComparison> Compare() {
    primary_ = FindBaseline(timing_, kPrimary);
    const ContenderTiming* library = FindBaseline(timing_, terms_.library_baseline);
    if (primary_ == nullptr || library == nullptr) {
      return NotMeasured(terms_.problem, "the library and cuBLASLt were not both measured");
    }
    ModeComparison mode;
    mode.mode = timing_.mode;
    mode.primary_us = primary_->median_us;
    mode.kernel_us = timing_.candidate.median_us;
    mode.kernel = TRY(Add("kernel", timing_.candidate));
    mode.library_us = library->median_us;
    mode.library = TRY(Add("ours", *library));
    samples_ += SampleLines(terms_.problem, timing_.mode, "lt_auto", *primary_);
    if (terms_.plain == kItself) {
      mode.plain_us = mode.kernel_us;
      mode.plain = mode.kernel;
    } else if (!terms_.plain.empty()) {
      const ContenderTiming* plain = TRY(Named(terms_.plain));
      mode.plain_us = plain->median_us;
      mode.plain = TRY(Add("plain", *plain));
    }
    return mode;
  }

  // NVIDIA's other ways.
  Status AddBeside(std::vector<BesidePrimary>& measured) {
    for (const std::string& name : terms_.beside) {
      const auto ratio = TRY(Add(name, *TRY(Named(name))));
      measured.push_back({timing_.mode, name, ratio});
    }
    return {};
  }

 private:
  Result<const ContenderTiming*> Named(const std::string& name) const {
    if (const ContenderTiming* found = FindBaseline(timing_, name)) return found;
    return NotMeasured(terms_.problem, name + " was not measured");
  }

  Result<PairedRatio> Add(std::string_view contender, const ContenderTiming& timing) {
    const auto ratio = Paired(*primary_, timing, confidence_);
    if (!ratio) return NotMeasured(terms_.problem, "fewer than two rounds of " + timing.name);
    samples_ += SampleLines(terms_.problem, timing_.mode, contender, timing);
    return *ratio;
  }

  const ShapeTerms& terms_;
  const ModeTiming& timing_;
  const double confidence_;
  std::string& samples_;
  const ContenderTiming* primary_ = nullptr;
};

// Our kernel's own time, and what it is against each library, where there were rounds for it.
void AddOurs(const ModeTiming& mode, std::vector<LibraryTime>& times) {
  for (LibraryTime& time : times) {
    const std::string full = time.layout == "max" ? time.name : time.name + "-" + time.layout;
    for (const Comparison& comparison : mode.comparisons) {
      const Interval& interval = comparison.interval;
      const bool known = interval.lo > 0 && std::isfinite(interval.hi);
      if (comparison.baseline == full && known) time.ours = {comparison.ratio, interval};
    }
  }
  times.insert(times.begin(),
               {std::string(kOurKernel), "tn", mode.mode, mode.candidate.median_us, std::nullopt});
}

}  // namespace

Result<MeasuredShape> ShapeOf(const ShapeTerms& terms, const Timing& timing, double confidence) {
  MeasuredShape measured;
  measured.shape.problem = terms.problem;
  measured.shape.choice = terms.choice;
  measured.shape.roofline_us = terms.roofline_us;
  std::vector<BesidePrimary> beside;
  for (size_t i = 0; i < kComparedModes.size(); ++i) {
    const auto found =
        std::find_if(timing.modes.begin(), timing.modes.end(),
                     [&](const ModeTiming& one) { return one.mode == kComparedModes[i]; });
    if (found == timing.modes.end()) {
      return NotMeasured(terms.problem, "nothing was measured in mode " +
                                            std::string(warpsmith::Name(kComparedModes[i])));
    }
    ComparedMode mode(terms, *found, confidence, measured.samples);
    measured.shape.modes[i] = TRY(mode.Compare());
    TRY(mode.AddBeside(beside));
  }
  if (!terms.beside.empty()) {
    const auto others = static_cast<int>(terms.beside.size());
    measured.shape.primary_check = CheckOf(others, 1, std::move(beside));
  }
  return measured;
}

std::vector<LibraryTime> LibraryTimesOf(const ModeTiming& mode) {
  std::vector<LibraryTime> times;
  for (const ContenderTiming& baseline : mode.baselines) {
    if (IsTwin(baseline.name)) continue;
    const size_t suffix = baseline.name.size() - 3;
    const bool fixed = baseline.name.ends_with("-nn") || baseline.name.ends_with("-tn");
    times.push_back({fixed ? baseline.name.substr(0, suffix) : baseline.name,
                     fixed ? baseline.name.substr(suffix + 1) : "max", mode.mode,
                     baseline.median_us, std::nullopt});
  }
  return times;
}

MeasuredShape LibrariesOf(const Problem& problem, const Timing& timing, bool ours) {
  MeasuredShape measured;
  measured.shape.problem = problem;
  std::vector<BesidePrimary> beside;
  size_t others = 0;
  for (const ModeTiming& mode : timing.modes) {
    std::vector<LibraryTime> times = LibraryTimesOf(mode);
    if (ours) {
      AddOurs(mode, times);
      measured.samples += SampleLines(problem, mode.mode, kOurKernel, mode.candidate);
    }
    std::move(times.begin(), times.end(), std::back_inserter(measured.shape.times));
    const ContenderTiming* primary = FindBaseline(mode, kPrimary);
    size_t beside_bar = 0;
    for (const ContenderTiming& baseline : mode.baselines) {
      measured.samples += SampleLines(problem, mode.mode, baseline.name, baseline);
      if (primary == nullptr || &baseline == primary || IsTwin(baseline.name)) continue;
      ++beside_bar;
      const auto ratio = Paired(*primary, baseline, kPrimaryConfidence);
      if (ratio) beside.push_back({mode.mode, baseline.name, *ratio});
    }
    others = std::max(others, beside_bar);
  }
  if (others > 0) {
    measured.shape.primary_check = CheckOf(static_cast<int>(others), 1, std::move(beside));
  }
  return measured;
}

Result<MeasuredShape> RecordedLibraries(const store::RecordedDevice& recorded,
                                        const Problem& problem, const std::string& space) {
  MeasuredShape measured;
  measured.shape.problem = problem;
  for (const store::BaselineRow& row : recorded.Baselines()) {
    if (row.space != space || IsTwin(row.name)) continue;
    measured.shape.times.push_back({row.name, row.layout, row.mode, row.us, std::nullopt});
    ContenderTiming median;
    median.samples = {Sample{.us = static_cast<float>(row.us)}};
    measured.samples += SampleLines(problem, row.mode, row.name + "-" + row.layout, median);
  }
  if (!measured.shape.times.empty()) return measured;
  return Error{ErrorCode::kNothingMeasured, space + ": no library was recorded", ""};
}

}  // namespace warpsmith::hgemm
