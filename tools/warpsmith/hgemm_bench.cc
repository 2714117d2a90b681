#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

#include "against.h"
#include "baseline/bar_table.h"
#include "baseline/torch_gemm.h"
#include "baselines.h"
#include "catalogue.h"
#include "commands.h"
#include "comparison_file.h"
#include "comparison_shape.h"
#include "hgemm/built_kernels.h"
#include "hgemm/comparison_guard.h"
#include "hgemm_products.h"
#include "launch/half_type.h"
#include "library_file.h"
#include "library_report.h"
#include "optimize/slice.h"
#include "task/hgemm_task.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/interrupt.h"

namespace warpsmith::cli {
namespace {

constexpr std::string_view kTorch = "torch";

using hgemm::LibraryTime;
using hgemm::LibraryTimes;

struct MeasuredLibraries {
  LibraryTimes times;
  std::string samples;
};

std::array<int64_t, 3> SizesOf(const task::HgemmShape& shape) {
  return {shape.m, shape.n, shape.k};
}

LibraryTime TimeOf(const store::BaselineRow& row) {
  return {row.name, row.layout, row.mode, row.us, std::nullopt};
}

// Our kernel's own time, and what it is against each library.
void AddOurs(const ModeTiming& mode, std::vector<LibraryTime>& times) {
  for (LibraryTime& time : times) {
    const std::string full = time.layout == "max" ? time.name : time.name + "-" + time.layout;
    for (const Comparison& comparison : mode.comparisons) {
      if (comparison.baseline == full) time.ours = {comparison.ratio, comparison.interval};
    }
  }
  times.insert(times.begin(), {std::string(hgemm::kOurKernel), "tn", mode.mode,
                               mode.candidate.median_us, std::nullopt});
}

MeasuredLibraries ResultOf(const task::HgemmShape& shape, const Timing& timing, bool ours) {
  MeasuredLibraries measured{{SizesOf(shape), {}}, ""};
  for (const ModeTiming& mode : timing.modes) {
    std::vector<LibraryTime> times;
    for (const store::BaselineRow& row : LibraryRows("", mode)) times.push_back(TimeOf(row));
    if (ours) AddOurs(mode, times);
    std::move(times.begin(), times.end(), std::back_inserter(measured.times.times));
    measured.samples += SampleLines(SizesOf(shape), mode.mode, hgemm::kOurKernel, mode.candidate);
    for (const ContenderTiming& baseline : mode.baselines) {
      measured.samples += SampleLines(SizesOf(shape), mode.mode, baseline.name, baseline);
    }
  }
  return measured;
}

MeasuredLibraries Recorded(Machine& machine, const task::HgemmShape& shape,
                           const std::string& space) {
  MeasuredLibraries measured{{SizesOf(shape), {}}, ""};
  for (const store::BaselineRow& row : machine.recorded()->Baselines()) {
    if (row.space == space) measured.times.times.push_back(TimeOf(row));
  }
  return measured;
}

Protocol BenchProtocol(const BenchOptions& options) {
  return options.paper_protocol ? Protocol::Paper() : LibrariesProtocol();
}

// Beside the catalogue's kernel; without one beside the kernel that the cost model likes best: the
// libraries need a neighbour to be paired with, not a fast one.
Result<MeasuredLibraries> Measure(Machine& machine, const task::HgemmShape& shape,
                                  const BenchOptions& options, const hgemm::Catalogue& catalogue) {
  const DType dtype = DTypeFromName(options.product.dtype).value();
  const SearchJob job =
      TRY(HgemmSearch(machine, task::HgemmTask("TN", dtype), task::HgemmWorkload(shape)));
  if (machine.recorded() != nullptr) return Recorded(machine, shape, job.space.name());
  const hgemm::CatalogueRow* const row =
      hgemm::Find(catalogue, ProblemOf(job.task, job.workload), machine.info().name);
  if (row == nullptr && !options.catalogue.empty()) {
    std::fprintf(stderr, "%s: %s has no kernel for it; the libraries alone\n", job.label.c_str(),
                 options.catalogue.c_str());
  }
  const Point point = row != nullptr ? row->kernel : TRY(LikeliestPoint(job));
  const Timing timing = TRY(MeasureBesideLibraries(machine, job, point, BenchProtocol(options)));
  return ResultOf(shape, timing, row != nullptr);
}

// torch.matmul runs in a Python of its own: device, offline and server, both layouts. Of the shapes
// that lack it.
Status AddTorch(const std::string& dtype, const DeviceInfo& info, LibraryFile& file) {
  std::vector<cuda::GemmShape> asked;
  for (const LibraryTimes& shape : file.table().shapes) {
    if (hgemm::Has(shape, kTorch)) continue;
    for (cuda::GemmLayout layout : {cuda::GemmLayout::kNN, cuda::GemmLayout::kTN}) {
      asked.push_back({shape.shape[0], shape.shape[1], shape.shape[2], layout,
                       launch::HalfTypeOf(DTypeFromName(dtype).value())});
    }
  }
  if (asked.empty()) return {};
  const baseline::TorchOutcome outcome =
      TRY(baseline::MeasureTorch(asked, {.python = "", .device_uuid = info.uuid}));
  if (const auto* absent = std::get_if<baseline::TorchAbsent>(&outcome)) {
    std::fprintf(stderr, "torch.matmul is left out: %s\n", absent->reason.c_str());
    return {};
  }
  std::vector<LibraryTimes> more;
  for (const baseline::TorchTimes& times : std::get<baseline::TorchMeasured>(outcome).times) {
    const std::string layout = times.shape.layout == cuda::GemmLayout::kNN ? "nn" : "tn";
    LibraryTimes& one = more.emplace_back();
    one.shape = {times.shape.m, times.shape.n, times.shape.k};
    for (const auto& [mode, us] : {std::pair(Mode::kDeviceHot, times.device_us),
                                   {Mode::kOffline, times.offline_us},
                                   {Mode::kServer, times.server_us}}) {
      one.times.push_back({std::string(kTorch), layout, mode, us, std::nullopt});
    }
  }
  return file.Add(more);
}

Result<std::string> TermsOf(const Machine& machine, const BenchOptions& options,
                            const hgemm::Catalogue& catalogue) {
  const std::string kernels =
      options.catalogue.empty() ? "none" : TRY(hgemm::CatalogueHash(hgemm::AsBuiltNow(catalogue)));
  return fmt::format("{}; driver {}; {}; {}; catalogue {}", machine.info().name,
                     machine.info().driver, options.product.dtype,
                     ProtocolId(BenchProtocol(options)), kernels);
}

// What the table lacks of these shapes. A shape that cannot be measured is said and passed over.
Status MeasureAll(Machine& machine, const std::vector<task::HgemmShape>& shapes,
                  const BenchOptions& options, const hgemm::Catalogue& catalogue,
                  LibraryFile& file) {
  const double started = MonotonicSeconds();
  for (const task::HgemmShape& shape : shapes) {
    if (hgemm::Find(file.table(), SizesOf(shape)) != nullptr) continue;
    const bool late =
        options.pace.max_seconds > 0 && MonotonicSeconds() - started > options.pace.max_seconds;
    if (Interrupted() || late) break;
    const Result<MeasuredLibraries> measured = Measure(machine, shape, options, catalogue);
    if (!measured.ok() && measured.error().code == ErrorCode::kNothingMeasured) {
      std::fprintf(stderr, "%s\n", measured.error().Line().c_str());
      continue;
    }
    if (!measured.ok()) return measured.error();
    TRY(file.Append(measured->times, measured->samples));
  }
  const size_t missing = std::count_if(shapes.begin(), shapes.end(), [&](const auto& shape) {
    return hgemm::Find(file.table(), SizesOf(shape)) == nullptr;
  });
  if (missing > 0) {
    std::fprintf(stderr, "%zu shapes are missing%s\n", missing,
                 options.csv.empty() ? "" : "; the same command goes on with them");
  }
  return {};
}

bool IsEmpty(const hgemm::LibraryTable& table) {
  return std::all_of(table.shapes.begin(), table.shapes.end(),
                     [](const LibraryTimes& shape) { return shape.times.empty(); });
}

}  // namespace

Result<int> RunHgemmBench(const BenchOptions& options) {
  if (!options.from.empty()) return RunComparisonSummary(options);
  if (!options.against.empty()) return RunAgainst(options);
  if (options.markdown) {
    return Error{ErrorCode::kUsage, "--markdown is for the summary of a comparison",
                 "give --against or --from with it"};
  }
  // With --against the same --csv goes on; without it this table would take its place.
  if (!options.csv.empty() && ReadComparisonFile(options.csv).ok()) {
    return Error{ErrorCode::kConfig, options.csv + " holds a comparison of libraries",
                 "give --against its library to go on with it, or --csv another name"};
  }
  const optimize::Slice slice = TRY(optimize::ParseSlice(options.pace.slice));
  const std::vector<task::HgemmShape> shapes =
      optimize::TakeSlice(slice, TRY(task::ParseHgemmShapes(options.shapes)));
  baseline::BarTable known;  // read first: a wrong name must not cost a measurement
  if (!options.reference.empty()) {
    known = TRY(baseline::ReadBarTable(options.reference, options.reference_column));
  }
  hgemm::Catalogue catalogue;
  if (!options.catalogue.empty()) catalogue = TRY(ReadCatalogue(options.catalogue));
  Machine machine = TRY(Machine::Open(options.device));
  if (machine.recorded() != nullptr && (options.paper_protocol || !options.catalogue.empty())) {
    return Error{ErrorCode::kUnavailable,
                 "--paper-protocol and --catalogue measure on a GPU; " + machine.notice(),
                 "run it where 'warpsmith doctor' finds one"};
  }
  if (!options.common.quiet) std::fprintf(stderr, "%s\n", machine.notice().c_str());
  LibraryFile file = TRY(LibraryFile::Open(options.csv, TRY(TermsOf(machine, options, catalogue)),
                                           options.product.dtype));
  TRY(MeasureAll(machine, shapes, options, catalogue, file));
  if (options.torch && machine.recorded() == nullptr) {
    TRY(AddTorch(options.product.dtype, machine.info(), file));
  }
  if (IsEmpty(file.table())) {
    return Error{ErrorCode::kNothingMeasured, "no baseline was measured",
                 "see 'warpsmith doctor' for cuBLAS, and raise --max-seconds"};
  }
  Print(file.table(), options.common.json);
  if (!options.reference.empty()) TRY(TellDifferences(file.table(), known));
  return Interrupted() ? Describe(ErrorCode::kInterrupted).exit_status : 0;
}

}  // namespace warpsmith::cli
