#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "against.h"
#include "bar_choices.h"
#include "base/build_info.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "baselines.h"
#include "call_time.h"
#include "catalogue.h"
#include "commands.h"
#include "comparison_file.h"
#include "core/provenance.h"
#include "cuda/plan/half_type.h"
#include "hgemm_products.h"
#include "judge/baseline/bar_table.h"
#include "judge/baseline/contest.h"
#include "judge/baseline/torch_gemm.h"
#include "library_file.h"
#include "library_report.h"
#include "library_shape.h"
#include "sample_frames.h"
#include "search/slice.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

using hgemm::kTorchLibrary;
using hgemm::LibraryTimes;

Sizes SizesOf(const task::HgemmShape& shape) { return {shape.m, shape.n, shape.k}; }

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
  if (const store::RecordedDevice* recorded = machine.recorded()) {
    return RecordedLibraries(*recorded, SizesOf(shape), job.space.name());
  }
  const hgemm::CatalogueRow* const row =
      hgemm::Find(catalogue, ProblemOf(job.task, job.workload), machine.info().name);
  if (row == nullptr && !options.catalogue.empty()) {
    std::fprintf(stderr, "%s: %s has no kernel for it; the libraries alone\n", job.label.c_str(),
                 options.catalogue.c_str());
  }
  const Point point = row != nullptr ? row->kernel : TRY(LikeliestPoint(job));
  const Protocol protocol = BenchProtocol(options);
  const auto measure = [&]() -> Result<MeasuredLibraries> {
    const BesideLibraries beside = TRY(MeasureBesideLibraries(machine, job, point, protocol));
    return LibrariesOf(SizesOf(shape), beside, row != nullptr);
  };
  MeasuredLibraries measured = TRY(measure());
  if (measured.faster.empty()) return measured;
  judge::ChoiceRequest request{std::string(hgemm::kBar), protocol.modes};
  request.again = true;
  TRY(machine.local()->Choose(job.task, job.workload, request));
  return measure();
}

// torch.matmul runs in a Python of its own: device, offline and server, both layouts.
Result<std::vector<LibraryTimes>> MeasureTorch(const std::vector<Sizes>& shapes,
                                               const std::string& dtype, const DeviceInfo& info) {
  std::vector<cuda::GemmShape> asked;
  for (const auto& [m, n, k] : shapes) {
    for (cuda::GemmLayout layout : {cuda::GemmLayout::kNN, cuda::GemmLayout::kTN}) {
      asked.push_back({m, n, k, layout, plan::HalfTypeOf(DTypeFromName(dtype).value())});
    }
  }
  const baseline::TorchOutcome outcome =
      TRY(baseline::MeasureTorch(asked, {.python = "", .device_uuid = info.uuid}));
  if (const auto* absent = std::get_if<baseline::TorchAbsent>(&outcome)) {
    return Error{ErrorCode::kUnavailable, absent->reason, ""};
  }
  std::vector<LibraryTimes> more;  // both layouts of a shape in one
  for (const Sizes& shape : shapes) more.push_back({shape, {}});
  for (const baseline::TorchTimes& times : std::get<baseline::TorchMeasured>(outcome).times) {
    const std::string layout = times.shape.layout == cuda::GemmLayout::kNN ? "nn" : "tn";
    for (LibraryTimes& one : more) {
      if (one.shape != Sizes{times.shape.m, times.shape.n, times.shape.k}) continue;
      for (const auto& [mode, us] : {std::pair(Mode::kDeviceHot, times.device_us),
                                     {Mode::kOffline, times.offline_us},
                                     {Mode::kServer, times.server_us}}) {
        if (us > 0)
          one.times.push_back({std::string(kTorchLibrary), layout, mode, us, std::nullopt});
      }
    }
  }
  std::erase_if(more, [](const LibraryTimes& one) { return one.times.empty(); });
  return more;
}

// Of the shapes that lack it, some at a time. What goes wrong leaves the rest without it.
Status AddTorch(const DeviceInfo& info, const std::function<bool()>& stop, LibraryFile& file) {
  constexpr size_t kAtATime = 16;  // a Python starts for each lot
  std::vector<Sizes> lacking;
  for (const LibraryTimes& shape : file.table().shapes) {
    if (!hgemm::Has(shape, kTorchLibrary)) lacking.push_back(shape.shape);
  }
  for (size_t i = 0; i < lacking.size(); i += kAtATime) {
    if (stop()) {
      std::fprintf(stderr, "%zu shapes lack torch.matmul; the same command goes on with them\n",
                   lacking.size() - i);
      return {};
    }
    const auto first = lacking.begin() + static_cast<std::ptrdiff_t>(i);
    const auto last =
        lacking.begin() + static_cast<std::ptrdiff_t>(std::min(i + kAtATime, lacking.size()));
    const auto more = MeasureTorch({first, last}, file.table().dtype, info);
    if (!more.ok()) {
      std::fprintf(stderr, "torch.matmul is left out: %s\n", more.error().Line().c_str());
      return {};
    }
    for (const LibraryTimes& times : *more) TRY(file.Add(times));
  }
  return {};
}

Result<std::string> BenchTermsOf(Machine& machine, const BenchOptions& options,
                                 const hgemm::Catalogue& catalogue) {
  const std::string kernels = TRY(CatalogueTerm(catalogue));
  if (machine.recorded() != nullptr) {
    return fmt::format("{}; driver {}; {}; replayed from a recording", machine.info().name,
                       machine.info().driver, options.product.dtype);
  }
  return fmt::format("{}; driver {}; {}; {}; bar {}; catalogue {}", machine.info().name,
                     machine.info().driver, options.product.dtype,
                     ProtocolId(BenchProtocol(options)), baseline::ContestId(), kernels);
}

std::string SessionOf(const MeasuredLibraries& measured, const Machine& machine,
                      const BenchOptions& options) {
  return fmt::format("date={}; library={}; program={}; gpu={}; driver={}; commit={}; command={}",
                     UtcTimestamp(), measured.library, build_info::Version(),
                     ShortUuid(machine.info().uuid), machine.info().driver, CommitText(),
                     options.common.command);
}

// That one shape cannot be measured is no reason to leave the others.
bool IsOfOneShape(const Error& error) {
  return error.code == ErrorCode::kNothingMeasured || error.code == ErrorCode::kNotRecorded ||
         error.code == ErrorCode::kBadInput;
}

// What the table lacks of these shapes. A shape that cannot be measured is said and passed over.
Status MeasureAll(Machine& machine, const std::vector<task::HgemmShape>& shapes,
                  const BenchOptions& options, const hgemm::Catalogue& catalogue,
                  const std::function<bool()>& stop, LibraryFile& file) {
  size_t failed = 0, left = 0;
  for (const task::HgemmShape& shape : shapes) {
    if (hgemm::Find(file.table(), SizesOf(shape)) != nullptr) continue;
    if (stop()) {
      ++left;
      continue;
    }
    const Result<MeasuredLibraries> measured = Measure(machine, shape, options, catalogue);
    if (measured.ok()) {
      TRY(file.Append(SessionOf(*measured, machine, options), measured->times, measured->samples,
                      measured->faster));
    } else if (measured.error().code == ErrorCode::kInterrupted) {
      ++left;
    } else if (IsOfOneShape(measured.error())) {
      std::fprintf(stderr, "%s\n", measured.error().Line().c_str());
      ++failed;
    } else {
      return measured.error();
    }
  }
  if (failed + left > 0) {
    std::fprintf(stderr, "%zu shapes are missing, of which %zu could not be measured%s\n",
                 failed + left, failed,
                 options.csv.empty() ? "" : "; the same command goes on with them");
  }
  return {};
}

Error NothingMeasured() {
  if (Interrupted()) return {ErrorCode::kInterrupted, "stopped before a shape was measured", ""};
  return {ErrorCode::kNothingMeasured, "no library was measured",
          "the lines above say why; name at least as many --shapes as there are slices"};
}

}  // namespace

Result<int> RunHgemmBench(const BenchOptions& options) {
  if (!options.from.empty()) return RunComparisonSummary(options);
  if (!options.against.empty()) return RunAgainst(options);
  if (options.choose) return RunChooseBar(options);
  if (options.markdown) {
    return Error{ErrorCode::kUsage, "--markdown is for the summary of a comparison",
                 "give --against or --from with it"};
  }
  // With --against the same --csv goes on; without it this table would take its place.
  if (!options.csv.empty() && ReadComparisonFile(options.csv).ok()) {
    return Error{ErrorCode::kConfig, options.csv + " holds a comparison of libraries",
                 "give --against its library to go on with it, or --csv another name"};
  }
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const std::vector<task::HgemmShape> shapes =
      search::TakeSlice(slice, TRY(task::ParseHgemmShapes(options.shapes)));
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
  LibraryFile file = TRY(LibraryFile::Open(
      options.csv, TRY(BenchTermsOf(machine, options, catalogue)), options.product.dtype));
  const CallTime time(options.pace);
  bool begun = false;  // the first shape is measured whatever --max-seconds says
  const auto stop = [&] { return Interrupted() || (std::exchange(begun, true) && time.IsLate()); };
  TRY(MeasureAll(machine, shapes, options, catalogue, stop, file));
  if (file.table().shapes.empty()) return NothingMeasured();
  if (options.torch && machine.recorded() == nullptr) TRY(AddTorch(machine.info(), stop, file));
  Print(file.table(), machine.recorded() != nullptr, options.common.json);
  if (!options.reference.empty()) TRY(TellDifferences(file.table(), known));
  return Interrupted() ? Describe(ErrorCode::kInterrupted).exit_status : 0;
}

}  // namespace warpsmith::cli
