#include "against.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/display_text.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/sha256.h"
#include "call_time.h"
#include "catalogue.h"
#include "comparison_file.h"
#include "comparison_report.h"
#include "comparison_run.h"
#include "contest.h"
#include "gemm_library/library.h"
#include "hgemm_products.h"
#include "judge/baseline/contest.h"
#include "machine.h"
#include "search/slice.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

namespace fs = std::filesystem;

Result<std::string> FileTerm(const fs::path& path) {
  return path.filename().string() + " " + Sha256Hex(TRY(ReadFile(path)));
}

// The pack that the library finds by itself (docs/library.md): with another one it is another
// library.
Result<std::string> PackTerm(const fs::path& library) {
  const auto pack = gemm_library::PackPath("", library.parent_path());
  return pack ? FileTerm(*pack) : std::string("none");
}

Result<std::vector<hgemm::Problem>> ProblemsAgainst(const BenchOptions& options) {
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const Task task = TaskOf(options.product);
  std::vector<hgemm::Problem> problems;
  for (const task::HgemmShape& shape :
       search::TakeSlice(slice, TRY(task::ParseHgemmShapes(options.shapes)))) {
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
  terms.catalogue = TRY(CatalogueTerm(catalogue));
  terms.protocol = ProtocolId(AgainstProtocol()) + "; bar " + baseline::ContestId();
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
  if (progress.failed == 0) {
    return {ErrorCode::kNothingMeasured, "no shape was compared",
            "name at least as many --shapes as there are slices"};
  }
  return {ErrorCode::kNothingMeasured,
          progress.left == 0 ? "no shape was compared"
                             : "none of the first " + std::to_string(progress.failed) +
                                   " shapes could be compared; the others were not tried",
          "the lines above say why each was not; where it is the shapes' fault, begin with others"};
}

void Print(const hgemm::ComparisonTable& table, const BenchOptions& options) {
  if (options.common.json) {
    std::printf("%s\n", ToJson(table).dump(1).c_str());
  } else {
    const TableStyle style = options.markdown ? TableStyle::kMarkdown : TableStyle::kPlain;
    std::printf("%s", LinesForTerminal(SummaryText(table, style)).c_str());
  }
}

}  // namespace

Result<int> RunAgainst(const BenchOptions& options) {
  const std::vector<hgemm::Problem> problems = TRY(ProblemsAgainst(options));
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
  const CallTime time(options.pace);
  Contest contest(machine, options, catalogue, library.string());
  const ComparisonProgress progress = TRY(MeasureMissing(
      problems, file, [&] { return time.IsLate(); },
      [&](const hgemm::Problem& problem, const hgemm::Problem* next) {
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
