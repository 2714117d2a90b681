#include "contest.h"

#include <cstdio>
#include <utility>

#include "base/build_info.h"
#include "core/provenance.h"
#include "core/verdict.h"
#include "hgemm/built_kernels.h"
#include "hgemm_products.h"
#include "judge/baseline/gemm_baseline.h"
#include "judge/floor.h"
#include "search/session.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

constexpr std::string_view kOverlap = "overlap";  // the families' parameter; 0: none
constexpr std::string_view kWithoutOverlap = "without-overlap";

// Whether the kernel takes its place while the call ahead still runs.
bool Overlaps(const Point& point) {
  const auto overlap = point.config.find(std::string(kOverlap));
  return overlap != point.config.end() && overlap->second != 0;
}

std::string OrUnknownText(const std::string& text) { return text.empty() ? "unknown" : text; }

// What the library does with the shape, if it was built of this catalogue.
std::string ChoiceOf(const hgemm::CatalogueRow* row) {
  if (row == nullptr) return std::string(hgemm::kUnlisted);
  const bool ours = row->choice == hgemm::Choice::kKernel;
  return ours ? PointName(row->kernel) : std::string(hgemm::Name(row->choice));
}

// The single ways: "max" of two is one of them.
std::vector<std::string> OthersOfNvidias() {
  std::vector<std::string> names = baseline::GemmBaselineNames();
  std::erase_if(names, [](const std::string& name) {
    return !name.ends_with("-nn") && !name.ends_with("-tn");
  });
  return names;
}

bool IsBeaten(const hgemm::ShapeComparison& shape) {
  return shape.bar_check && !shape.bar_check->violations.empty();
}

// From memory, whatever the mode, so that a shape has one floor.
Result<double> FloorOf(const Machine& machine, const SearchJob& job) {
  return judge::FloorUs(machine.info(), job.task, job.workload, Mode::kDeviceCold);
}

}  // namespace

Protocol AgainstProtocol() {
  Protocol protocol = Protocol::Screened();
  protocol.every_baseline = true;
  protocol.modes = {hgemm::kComparedModes.begin(), hgemm::kComparedModes.end()};
  // What narrows an interval is rounds, not samples within one.
  protocol.rounds = protocol.max_rounds = 7;
  protocol.samples_per_round = 1;
  return protocol;
}

Contest::Contest(Machine& machine, const BenchOptions& options, const hgemm::Catalogue& catalogue,
                 const std::string& library)
    : machine_(machine),
      options_(options),
      catalogue_(catalogue),
      library_baseline_("lib:" + library) {}

Result<Contest::Subject> Contest::Prepare(const hgemm::Problem& problem) const {
  const Task task = TaskOf(options_.product);
  const Workload workload = task::HgemmWorkload({problem.m, problem.n, problem.k});
  Subject subject{TRY(HgemmSearch(machine_, task, workload)),
                  hgemm::Find(catalogue_, problem, machine_.info().name),
                  {}};
  subject.point = subject.row != nullptr ? subject.row->kernel : TRY(LikeliestPoint(subject.job));
  if (Overlaps(subject.point)) {
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
  Result<Candidate> candidate = subject.job.make(subject.point);
  if (compiler == nullptr || !candidate.ok()) return {};
  const auto compile = [compiler, architecture = machine_.info().architecture](
                           const Candidate& one) { (void)compiler->Compile(one, architecture); };
  return std::async(std::launch::async,
                    [compile, candidate = std::move(*candidate), plain = subject.plain] {
                      std::future<void> beside;  // waits when it goes
                      if (plain) beside = std::async(std::launch::async, compile, *plain);
                      compile(candidate);
                    });
}

Result<std::optional<Measured>> Contest::Measure(const hgemm::Problem& problem,
                                                 const hgemm::Problem* next) {
  Subject subject = next_ ? *std::move(next_) : TRY(Prepare(problem));
  next_.reset();
  if (next != nullptr) {
    next_ = TRY(Prepare(*next));
    compiled_ = CompileAhead(*next_);
  }
  const auto made = subject.job.make(subject.point);
  if (!made.ok()) {
    std::fprintf(stderr, "%s: %s\n", hgemm::NameOf(problem).c_str(), made.error().Line().c_str());
    return std::optional<Measured>();
  }
  ShapeTerms terms{problem, ChoiceOf(subject.row), TRY(FloorOf(machine_, subject.job)),
                   library_baseline_};
  if (hgemm::IsDrawnForBarCheck(problem, options_.beside)) terms.beside = OthersOfNvidias();
  subject.job.task.baselines = {std::string(hgemm::kBar), library_baseline_};
  for (const std::string& other : terms.beside) subject.job.task.baselines.push_back(other);
  if (subject.plain) {
    terms.plain = kWithoutOverlap;
    subject.job.task.rivals = {{terms.plain, *subject.plain}};
    subject.job.task.baselines.push_back(terms.plain);
  } else if (!Overlaps(subject.point)) {
    terms.plain = kItself;
  }
  std::optional<Measured> measured = TRY(MeasureOnce(subject, terms));
  if (measured && IsBeaten(measured->result.shape)) {
    TRY(ChooseBarAgain(subject));
    measured = TRY(MeasureOnce(subject, terms));
    if (measured) measured->result.shape.bar_check->choices = 2;
  }
  if (measured && subject.row != nullptr && TRY(hgemm::HasChanged(*subject.row))) ++changed_;
  return measured;
}

Result<std::optional<Measured>> Contest::MeasureOnce(const Subject& subject,
                                                     const ShapeTerms& terms) {
  search::Session session({subject.job.task, subject.job.workload, AgainstProtocol()},
                          TRY(machine_.seams()));
  const auto judged = session.Evaluate(TRY(subject.job.make(subject.point)));
  if (!judged.ok() && judged.error().code == ErrorCode::kInterrupted) {
    return std::optional<Measured>();
  }
  return Taken(terms, TRY(judged).step.verdict);
}

Status Contest::ChooseBarAgain(const Subject& subject) {
  judge::ChoiceRequest request{std::string(hgemm::kBar), AgainstProtocol().modes};
  request.again = true;
  TRY(machine_.local()->Choose(subject.job.task, subject.job.workload, request));
  return {};
}

std::optional<Measured> Contest::Taken(const ShapeTerms& terms, const Verdict& verdict) const {
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
      {OrUnknownText(evidence.date), OrUnknownText(evidence.driver),
       OrUnknownText(evidence.toolchain), OrUnknownText(evidence.baseline_library),
       OrUnknownText(std::string(build_info::Version())), ShortUuid(evidence.device_uuid),
       CommitText(), OrUnknownText(options_.common.command)},
      *std::move(shape)};
}

}  // namespace warpsmith::cli
