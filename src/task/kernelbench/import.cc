#include "task/kernelbench/import.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/caught.h"
#include "base/file.h"
#include "base/foreign_file.h"
#include "base/interrupt.h"
#include "base/subprocess.h"
#include "task/kernelbench/checkout.h"
#include "task/kernelbench/driver_description.h"
#include "task/kernelbench/init_source.h"
#include "task/kernelbench/inspection.h"
#include "task/kernelbench/launch_declaration.h"
#include "task/kernelbench/launch_match.h"
#include "task/kernelbench/pairing.h"
#include "task/kernelbench/size_tag.h"
#include "task/kernelbench/task_document.h"
#include "task/kernelbench/task_folder.h"
#include "task/source_files.h"

namespace warpsmith::kernelbench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Report = std::function<void(const ImportRow&)>;

constexpr const char* kCandidate =
    "version = 1\nform = \"program\"\nentry = \"init.cu\"\nsources = [\"init.cu\"]\n"
    "toolchain = \"nvcc\"\n";

std::vector<BenchmarkProblem> Picked(const Checkout& checkout,
                                     const std::vector<std::string>& only) {
  std::vector<BenchmarkProblem> picked;
  for (const BenchmarkProblem& problem : checkout.problems) {
    bool is_picked = only.empty();
    for (const std::string& pattern : only) is_picked = is_picked || IsPickedBy(problem, pattern);
    if (is_picked) picked.push_back(problem);
  }
  return picked;
}

// A row for each pattern that picks nothing, which may be a slip of the pen.
std::vector<ImportRow> WithoutProblem(const Checkout& checkout, const ImportOptions& options) {
  std::vector<ImportRow> rows;
  for (const std::string& pattern : options.only) {
    if (!Picked(checkout, {pattern}).empty()) continue;
    rows.push_back({pattern, Outcome::kRefused, "--only picks no problem of this checkout", "", 0});
  }
  return rows;
}

// A set's name is part of its folder's.
bool IsInName(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '-' || c == '_';
}

Status CheckSetName(const std::string& set) {
  if (std::all_of(set.begin(), set.end(), IsInName)) return {};
  return Error{ErrorCode::kUsage, "--set " + set + ": no name for a folder",
               "use letters, digits, '.', '-' and '_'"};
}

// A tag on the checkout's very commit, if git knows one.
std::string GitTag(const fs::path& checkout) {
  const Result<ProcessOutcome> ran =
      RunProcess({"git", "-C", checkout.string(), "describe", "--tags", "--exact-match"}, {});
  if (!ran.ok() || ran->timed_out || ran->signal != 0 || ran->exit_status != 0) return "";
  std::string tag = ran->output.substr(0, ran->output.find('\n'));
  std::replace_if(tag.begin(), tag.end(), std::not_fn(IsInName), '-');
  return tag;
}

// The problems of one import, and where their folders go.
struct Place {
  std::string set;   // "kernelbench-1a2b3c4d"
  std::string kind;  // "KernelBench"
  std::string size_set;
  fs::path output;

  fs::path Folder(const BenchmarkProblem& problem) const { return output / set / Id(problem); }
  TaskNames Names(const BenchmarkProblem& problem) const {
    return {set + "/" + Id(problem), kind + " level" + std::to_string(problem.level) + " #" +
                                         std::to_string(problem.number) + ", size set " + size_set};
  }
};

// The problem's fault is a row; a full disk or a missing right is the end of the import.
Result<ImportRow> RowOf(const Place& place, const BenchmarkProblem& problem,
                        const Result<ImportRow>& row) {
  if (row.ok() || row.error().code == ErrorCode::kIo) return row;
  return ImportRow{Id(problem), Outcome::kRefused, row.error().message,
                   place.Folder(problem).string(), 0};
}

ImportRow Kept(const Place& place, const BenchmarkProblem& problem) {
  return {Id(problem), Outcome::kKept, "", place.Folder(problem).string(), 0};
}

// --- KernelBench.

Result<ImportRow> ImportModule(const Place& place, const BenchmarkProblem& problem,
                               const Result<ModuleInspection>& inspection) {
  if (!inspection.ok()) return inspection.error();
  const fs::path folder = place.Folder(problem);
  const std::string source = "model.py";
  const std::string text = TRY(ReadRegularFile(problem.path, task::kMaxSourceBytes));
  const std::map<std::string, std::string> files = {{source, text}};
  if (IsDone(folder, files)) return Kept(place, problem);
  const json task = TRY(ModuleTask(place.Names(problem), *inspection, source));
  TRY(WriteFiles(folder, files));
  const int64_t bytes = TRY(WriteTask(folder, task));
  return ImportRow{Id(problem), Outcome::kImported, "", folder.string(), bytes};
}

Result<ImportResult> ImportModules(const Checkout& checkout, const ImportOptions& options,
                                   const Report& report) {
  InspectionLimits limits;
  limits.jobs = options.jobs;
  const std::vector<BenchmarkProblem> problems = Picked(checkout, options.only);
  const ModuleInspections inspections = TRY(Inspect(problems, limits, options.dtype));
  std::string size_set = options.set.empty() ? GitTag(options.checkout) : options.set;
  if (size_set.empty()) size_set = TRY(SizeTag(checkout));
  if (options.dtype) size_set += "-" + std::string(Name(*options.dtype));
  const Place place{"kernelbench-" + size_set, "KernelBench", size_set, options.output};
  ImportResult result{place.set, {}};
  for (const BenchmarkProblem& problem : problems) {
    if (Interrupted()) return Error{ErrorCode::kInterrupted, "stopped; what is there stays", ""};
    result.rows.push_back(
        TRY(RowOf(place, problem, ImportModule(place, problem, inspections.at(Id(problem))))));
    report(result.rows.back());
  }
  return result;
}

// --- KernelBench-CUDA.

// The unchanged driver and the launch that captures its arguments.
struct DriverFiles {
  LaunchMatch launch;
  std::map<std::string, std::string> files;
};

Result<DriverFiles> FilesOf(const BenchmarkProblem& problem) {
  const std::string driver =
      TRY(ReadRegularFile(problem.path / "driver.cpp", task::kMaxSourceBytes));
  const LaunchDeclaration declared = TRY(FindLaunchDeclaration(driver));
  DriverFiles files{{declared, ""}, {}};
  files.files["driver.cpp"] = driver;
  files.files["launch.inc"] = CapturingDefinition(declared);
  std::error_code ignored;
  if (fs::exists(problem.path / "init.cu", ignored)) {
    files.files["init/init.cu"] =
        InitSource(TRY(ReadRegularFile(problem.path / "init.cu", task::kMaxSourceBytes)));
    files.files["init/candidate.toml"] = kCandidate;
    files.launch = Match(declared, FindLaunchDefinitions(files.files["init/init.cu"]));
  }
  return files;
}

struct DriverImport {
  Place place;
  ImportOptions options;
  fs::path precompiled;
  const ModulePairs* pairs = nullptr;  // null: no torch baselines were asked for

  Result<ImportRow> Run(const BenchmarkProblem& problem) const {
    DriverFiles driver = TRY(FilesOf(problem));
    const fs::path folder = place.Folder(problem);
    if (IsDone(folder, driver.files)) return Kept(place, problem);
    TRY(WriteFiles(folder, driver.files));
    const DriverDescription description = TRY(Describe(folder, precompiled, Limits()));
    json task = TRY(DriverTask(place.Names(problem), description, driver.launch.declaration));
    const std::string pairing = TRY(Pair(problem, description, task));
    const int64_t bytes = TRY(WriteTask(folder, task));
    const std::string between = pairing.empty() || driver.launch.note.empty() ? "" : "; ";
    return ImportRow{Id(problem), Outcome::kImported, driver.launch.note + between + pairing,
                     folder.string(), bytes};
  }

  DescribeLimits Limits() const { return {std::chrono::seconds(options.limit_seconds)}; }

  // What there is to say of the torch baseline, which is added to the task.
  Result<std::string> Pair(const BenchmarkProblem& problem, const DriverDescription& description,
                           json& task) const {
    if (pairs == nullptr)
      return std::string("no torch baseline: no KernelBench checkout was given");
    const fs::path folder = place.Folder(problem);
    return AddPair(
        *pairs, problem, description, folder,
        [&](const json& unpaired, const json& bindings) {
          return TryBindings(folder, unpaired, bindings, Limits());
        },
        task);
  }
};

// `jobs` threads take the next problem each, until one cannot write.
Result<std::vector<ImportRow>> RunAll(const DriverImport& import,
                                      const std::vector<BenchmarkProblem>& problems,
                                      const Report& report) {
  std::vector<std::optional<ImportRow>> rows(problems.size());
  std::atomic<size_t> next = 0;
  std::mutex reporting;
  std::optional<Error> end;
  const auto work = [&] {
    for (size_t i = next++; i < problems.size() && !Interrupted(); i = next++) {
      const Result<ImportRow> row =
          Caught([&] { return RowOf(import.place, problems[i], import.Run(problems[i])); });
      const std::lock_guard lock(reporting);
      if (!row.ok()) {
        end = row.error();
        next = problems.size();
        return;
      }
      rows[i] = *row;
      report(*row);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < import.options.jobs; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (end) return *end;
  std::vector<ImportRow> known;
  for (const std::optional<ImportRow>& row : rows) {
    if (row) known.push_back(*row);
  }
  return known;
}

bool AllDone(const Place& place, const std::vector<BenchmarkProblem>& problems) {
  for (const BenchmarkProblem& problem : problems) {
    const Result<DriverFiles> files = FilesOf(problem);
    if (files.ok() && !IsDone(place.Folder(problem), files->files)) return false;
  }
  return true;
}

Result<ImportResult> ImportDrivers(const Checkout& checkout, const ImportOptions& options,
                                   const Report& report) {
  const std::string size_set = options.set.empty() ? "drivers" : options.set;
  DriverImport import{
      {"kernelbench-cuda" + (options.set.empty() ? "" : "-" + options.set), "KernelBench-CUDA",
       size_set == "drivers" ? "of its drivers" : size_set, options.output},
      options,
      {},
      nullptr};
  const std::vector<BenchmarkProblem> problems = Picked(checkout, options.only);
  std::optional<ModulePairs> pairs;
  if (!options.modules.empty()) {
    pairs = TRY(LoadModules(options.modules, problems, options.jobs));
    import.pairs = &*pairs;
  }
  const TemporaryDirectory headers = TRY(TemporaryDirectory::Create("warpsmith-headers"));
  // Half a minute, and worth it from the third driver on; drivers compile without it, too.
  if (problems.size() > 2 && !AllDone(import.place, problems) &&
      PrecompileHeaders(headers.path(), {}).ok()) {
    import.precompiled = headers.path();
  }
  ImportResult result;
  result.set = import.place.set;
  result.rows = TRY(RunAll(import, problems, report));
  if (Interrupted()) return Error{ErrorCode::kInterrupted, "stopped; what is there stays", ""};
  return result;
}

}  // namespace

Result<ImportResult> Import(const ImportOptions& options, const Report& report) {
  TRY(CheckSetName(options.set));
  const Checkout checkout = TRY(OpenCheckout(options.checkout));
  if (Picked(checkout, options.only).empty()) {
    return Error{ErrorCode::kUsage,
                 "--only picks none of " + std::to_string(checkout.problems.size()) + " problems",
                 "write it like level1, level1/19 or " + Id(checkout.problems.front())};
  }
  if (options.dtype && checkout.kind != Kind::kModules) {
    return Error{ErrorCode::kUsage, "--dtype: these drivers have element types of their own",
                 "leave it out; it is for KernelBench's modules"};
  }
  TRY(CreateDirectories(options.output));  // before minutes of work for a folder that cannot be
  ImportResult result =
      TRY(checkout.kind == Kind::kModules ? ImportModules(checkout, options, report)
                                          : ImportDrivers(checkout, options, report));
  for (const ImportRow& row : WithoutProblem(checkout, options)) {
    result.rows.push_back(row);
    report(row);
  }
  return result;
}

}  // namespace warpsmith::kernelbench
