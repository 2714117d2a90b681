// The tables of `hgemm bench`, shape by shape.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/sha256.h"
#include "core/device.h"
#include "cuda/plan/half_type.h"
#include "gemm_library/library.h"
#include "hgemm/bench/catalogues.h"
#include "hgemm/bench/contest.h"
#include "judge/baseline/contest.h"
#include "judge/baseline/torch_gemm.h"
#include "search/call_time.h"
#include "task/hgemm_task.h"

namespace warpsmith::hgemm {
namespace {

namespace fs = std::filesystem;
using search::Machine;

// Then it is hardly the shapes' fault: a library that cannot be made ready fails on each.
constexpr size_t kMostInVain = 5;

// That one shape cannot be measured is no reason to leave the others.
bool IsOfOneShape(const Error& error) {
  return error.code == ErrorCode::kNothingMeasured || error.code == ErrorCode::kNotRecorded ||
         error.code == ErrorCode::kBadInput;
}

// torch.matmul runs in a Python of its own: device, offline and server, both layouts.
Result<std::vector<ShapeMeasurement>> MeasureTorch(std::span<const Problem> problems,
                                                   const DeviceInfo& info) {
  std::vector<cuda::GemmShape> asked;
  std::vector<ShapeMeasurement> more;
  for (const Problem& problem : problems) {
    for (cuda::GemmLayout layout : {cuda::GemmLayout::kNN, cuda::GemmLayout::kTN}) {
      asked.push_back({problem.m, problem.n, problem.k, layout, plan::HalfTypeOf(problem.dtype)});
    }
    more.emplace_back().problem = problem;
  }
  const baseline::TorchOutcome outcome =
      TRY(baseline::MeasureTorch(asked, {.python = "", .device_uuid = info.uuid}));
  if (const auto* absent = std::get_if<baseline::TorchAbsent>(&outcome)) {
    return Error{ErrorCode::kUnavailable, absent->reason, ""};
  }
  for (const baseline::TorchTimes& times : std::get<baseline::TorchMeasured>(outcome).times) {
    const std::string layout = times.shape.layout == cuda::GemmLayout::kNN ? "nn" : "tn";
    for (ShapeMeasurement& one : more) {
      const Problem& p = one.problem;
      if (p.m != times.shape.m || p.n != times.shape.n || p.k != times.shape.k) continue;
      for (const auto& [mode, us] : {std::pair(Mode::kDeviceHot, times.device_us),
                                     {Mode::kOffline, times.offline_us},
                                     {Mode::kServer, times.server_us}}) {
        if (us > 0) one.times.push_back({std::string(kTorchLibrary), layout, mode, us, {}});
      }
    }
  }
  std::erase_if(more, [](const ShapeMeasurement& one) { return one.times.empty(); });
  return more;
}

// Of the shapes that lack it, some at a time. What goes wrong leaves the rest without it.
Status AddTorch(const DeviceInfo& info, const search::CallTime& time, MeasurementFile& file) {
  constexpr size_t kAtATime = 16;  // a Python starts for each lot
  std::vector<Problem> lacking;
  for (const ShapeMeasurement& shape : file.table().shapes) {
    if (!Has(shape, kTorchLibrary)) lacking.push_back(shape.problem);
  }
  for (size_t i = 0; i < lacking.size(); i += kAtATime) {
    if (time.IsOver()) {
      std::fprintf(stderr, "%zu shapes lack torch.matmul; the same command goes on with them\n",
                   lacking.size() - i);
      return {};
    }
    const auto lot = std::span(lacking).subspan(i, std::min(kAtATime, lacking.size() - i));
    const auto more = MeasureTorch(lot, info);
    if (!more.ok()) {
      std::fprintf(stderr, "torch.matmul is left out: %s\n", more.error().Line().c_str());
      return {};
    }
    for (const ShapeMeasurement& times : *more) TRY(file.AddTimes(times));
  }
  return {};
}

Result<std::string> FileTerm(const fs::path& path) {
  return path.filename().string() + " " + Sha256Hex(TRY(ReadFile(path)));
}

Result<MeasurementTerms> TermsOf(Machine& machine, const BenchOptions& options,
                                 const Catalogue& catalogue, const fs::path& library) {
  MeasurementTerms terms;
  terms.device = machine.info().name;
  terms.dtype = options.product.dtype;
  terms.catalogue = TRY(CatalogueTerm(catalogue));
  if (library.empty()) {
    terms.layout = kBothLayouts;
    terms.library = "driver " + machine.info().driver;
    terms.pack = "none";
    const Protocol protocol = options.paper_protocol ? Protocol::Paper() : LibrariesProtocol();
    terms.protocol = machine.recorded() != nullptr
                         ? "replayed from a recording"
                         : ProtocolId(protocol) + "; bar " + baseline::ContestId();
    return terms;
  }
  // The pack that the library finds by itself (docs/library.md): with another one it is another
  // library.
  const auto pack = gemm_library::PackPath("", library.parent_path());
  terms.layout = options.product.layout;
  terms.library = TRY(FileTerm(library));
  terms.pack = pack ? TRY(FileTerm(*pack)) : "none";
  terms.protocol = ProtocolId(ComparisonProtocol()) + "; bar " + baseline::ContestId();
  return terms;
}

void PrintProgress(const ShapeMeasurement& shape, size_t done, size_t all) {
  const ModeComparison& hot = shape.modes.front();
  std::fprintf(stderr, "%zu/%zu %s: cuBLASLt %.4g us, kernel %.3f, library %.3f [%.3f, %.3f]\n",
               done, all, NameOf(shape.problem).c_str(), hot.primary_us, hot.kernel.value,
               hot.library.value, hot.library.interval.lo, hot.library.interval.hi);
}

// --max-seconds is looked at after a shape, so it is never the reason.
Error NothingMeasured(const BenchProgress& progress) {
  if (Interrupted()) return {ErrorCode::kInterrupted, "stopped before a shape was measured", ""};
  if (progress.failed == 0) {
    return {ErrorCode::kNothingMeasured, "no shape was measured",
            "name at least as many --shapes as there are slices"};
  }
  return {ErrorCode::kNothingMeasured,
          progress.left == 0 ? "no shape was measured"
                             : "none of the first " + std::to_string(progress.failed) +
                                   " shapes could be measured; the others were not tried",
          "the lines above say why each was not; where it is the shapes' fault, begin with others"};
}

void TellEnd(const BenchProgress& progress, int changed, const BenchOptions& options) {
  if (progress.failed + progress.left > 0) {
    std::fprintf(stderr, "%zu shapes are missing, of which %zu could not be measured%s\n",
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

// The library that is compared, as an absolute path; empty: NVIDIA's own are measured.
Result<fs::path> LibraryOf(const BenchOptions& options) {
  if (options.against.empty()) return fs::path();
  std::error_code missing;
  const fs::path library = fs::canonical(options.against, missing);
  if (!missing) return library;
  return Error{ErrorCode::kNoInput, "--against " + options.against + ": " + missing.message(),
               "name a shared library; docs/library.md says what it exports"};
}

Result<Machine> OpenFor(const BenchOptions& options, const fs::path& library) {
  search::DeviceOptions device = options.device;
  if (!library.empty()) device.libraries = {library.string()};
  Machine machine = TRY(Machine::Open(device));
  const bool needs_gpu = options.paper_protocol || !options.catalogue.empty() || !library.empty();
  if (machine.recorded() == nullptr || needs_gpu) {
    TRY(machine.NeedsLocal(!library.empty() ? "comparing libraries needs"
                           : needs_gpu ? "hgemm bench with --paper-protocol or --catalogue needs"
                                       : "hgemm bench needs recordings or"));
  }
  return machine;
}

Result<std::vector<Problem>> ProblemsOf(const BenchOptions& options) {
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  ProductOptions product = options.product;
  if (options.against.empty()) product.layout = ProductOptions().layout;
  std::vector<Problem> problems;
  for (const task::HgemmShape& shape :
       search::TakeSlice(slice, TRY(task::ParseHgemmShapes(options.shapes)))) {
    problems.push_back(search::ProblemOf(TaskOf(product), task::HgemmWorkload(shape)));
  }
  return problems;
}

}  // namespace

Result<BenchProgress> MeasureMissing(const std::vector<Problem>& problems, MeasurementFile& file,
                                     const std::function<bool()>& is_late,
                                     const MeasureShape& measure) {
  BenchProgress progress;
  std::vector<Problem> missing;
  std::set<Problem> asked;
  for (const Problem& problem : problems) {
    const bool known = Find(file.table(), problem) != nullptr;
    progress.known += known ? 1 : 0;
    if (!known && asked.insert(problem).second) missing.push_back(problem);
  }
  for (size_t i = 0; i < missing.size(); ++i) {
    const bool in_vain = progress.failed >= kMostInVain && file.table().shapes.empty() &&
                         file.table().is_comparison();
    progress.left = missing.size() - i;
    if (Interrupted() || (i > 0 && is_late()) || in_vain) return progress;
    const bool last = i + 1 == missing.size();
    const auto measured = measure(missing[i], last ? nullptr : &missing[i + 1]);
    if (measured.ok()) {
      TRY(file.Append(measured->session, measured->result));
      ++progress.measured;
    } else if (IsOfOneShape(measured.error())) {
      std::fprintf(stderr, "%s\n", measured.error().Line().c_str());
      ++progress.failed;
    } else if (measured.error().code == ErrorCode::kInterrupted) {
      return progress;
    } else {
      return measured.error();
    }
  }
  progress.left = 0;
  return progress;
}

Result<MeasurementTable> Bench(const BenchOptions& options) {
  const std::vector<Problem> problems = TRY(ProblemsOf(options));
  const fs::path library = TRY(LibraryOf(options));
  Catalogue catalogue;
  if (!options.catalogue.empty()) catalogue = TRY(ReadCatalogue(options.catalogue));
  Machine machine = TRY(OpenFor(options, library));
  if (!options.common.quiet) std::fprintf(stderr, "%s\n", machine.notice().c_str());
  MeasurementFile file =
      TRY(MeasurementFile::Open(options.csv, TRY(TermsOf(machine, options, catalogue, library))));
  const search::CallTime time(options.pace);
  Contest contest(machine, options, catalogue, library.string());
  const BenchProgress progress = TRY(MeasureMissing(
      problems, file, [&] { return time.IsLate(); },
      [&](const Problem& problem, const Problem* next) {
        auto measured = contest.Measure(problem, next);
        if (measured.ok() && !library.empty() && !options.common.quiet) {
          PrintProgress(measured->result.shape, file.table().shapes.size() + 1, problems.size());
        }
        return measured;
      }));
  TellEnd(progress, contest.changed(), options);
  if (file.table().shapes.empty()) return NothingMeasured(progress);
  if (library.empty() && options.torch && machine.recorded() == nullptr) {
    TRY(AddTorch(machine.info(), time, file));
  }
  return file.table();
}

}  // namespace warpsmith::hgemm
