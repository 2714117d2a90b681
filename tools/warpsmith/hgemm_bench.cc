#include <cstdio>
#include <nlohmann/json.hpp>

#include "against.h"
#include "baseline/bar_table.h"
#include "baseline/torch_gemm.h"
#include "baselines.h"
#include "commands.h"
#include "comparison_file.h"
#include "launch/half_type.h"
#include "optimize/slice.h"
#include "task/hgemm_task.h"
#include "util/build_info.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/interrupt.h"

namespace warpsmith::cli {
namespace {

struct ShapeRows {
  task::HgemmShape shape;
  std::vector<store::BaselineRow> rows;
};

// Beside the kernel that the cost model likes best: the libraries need a neighbour to be paired
// with, not a fast one.
Result<std::vector<store::BaselineRow>> RowsOf(Machine& machine, const task::HgemmShape& shape,
                                               DType dtype) {
  const SearchJob job =
      TRY(HgemmSearch(machine, task::HgemmTask("TN", dtype), task::HgemmWorkload(shape)));
  if (machine.recorded() != nullptr) {
    std::vector<store::BaselineRow> rows = machine.recorded()->Baselines();
    std::erase_if(rows,
                  [&](const store::BaselineRow& row) { return row.space != job.space.name(); });
    return rows;
  }
  const Point* best = nullptr;
  double best_us = 0;
  for (const Point& point : job.space.points()) {
    const double us = job.model(point);
    if (best == nullptr || us < best_us) {
      best = &point;
      best_us = us;
    }
  }
  return MeasureBaselines(machine, job, *best);
}

// torch.matmul runs in a Python of its own: device, offline and server, both layouts.
Status AddTorch(const std::vector<task::HgemmShape>& shapes, DType dtype, const DeviceInfo& info,
                std::vector<ShapeRows>& table) {
  std::vector<cuda::GemmShape> asked;
  for (const task::HgemmShape& shape : shapes) {
    for (cuda::GemmLayout layout : {cuda::GemmLayout::kNN, cuda::GemmLayout::kTN}) {
      asked.push_back({shape.m, shape.n, shape.k, layout, launch::HalfTypeOf(dtype)});
    }
  }
  const baseline::TorchOutcome outcome =
      TRY(baseline::MeasureTorch(asked, {.python = "", .device_uuid = info.uuid}));
  if (const auto* absent = std::get_if<baseline::TorchAbsent>(&outcome)) {
    std::fprintf(stderr, "torch.matmul is left out: %s\n", absent->reason.c_str());
    return {};
  }
  for (const baseline::TorchTimes& times : std::get<baseline::TorchMeasured>(outcome).times) {
    for (ShapeRows& entry : table) {
      if (entry.shape != task::HgemmShape{times.shape.m, times.shape.n, times.shape.k}) continue;
      const std::string layout = times.shape.layout == cuda::GemmLayout::kNN ? "nn" : "tn";
      const std::string space = entry.rows.empty() ? "" : entry.rows.front().space;
      entry.rows.push_back({space, "torch", layout, Mode::kDeviceHot, times.device_us});
      entry.rows.push_back({space, "torch", layout, Mode::kOffline, times.offline_us});
      entry.rows.push_back({space, "torch", layout, Mode::kServer, times.server_us});
    }
  }
  return {};
}

std::string ToCsv(const std::vector<ShapeRows>& table, const std::string& dtype,
                  const DeviceInfo& info) {
  std::string csv = "# " + info.name + ", driver " + info.driver + ", " + UtcTimestamp() +
                    ", warpsmith " + std::string(build_info::Version()) +
                    " hgemm bench\nm,n,k,name,layout,dtype,mode,us\n";
  for (const ShapeRows& entry : table) {
    for (const store::BaselineRow& row : entry.rows) {
      char line[256];
      std::snprintf(line, sizeof line, "%ld,%ld,%ld,%s,%s,%s,%s,%.4g\n",
                    static_cast<long>(entry.shape.m), static_cast<long>(entry.shape.n),
                    static_cast<long>(entry.shape.k), row.name.c_str(), row.layout.c_str(),
                    dtype.c_str(), std::string(Name(row.mode)).c_str(), row.us);
      csv += line;
    }
  }
  return csv;
}

nlohmann::json ToJson(const std::vector<ShapeRows>& table, const std::string& dtype) {
  nlohmann::json rows = nlohmann::json::array();
  for (const ShapeRows& entry : table) {
    for (const store::BaselineRow& row : entry.rows) {
      rows.push_back({{"m", entry.shape.m},
                      {"n", entry.shape.n},
                      {"k", entry.shape.k},
                      {"name", row.name},
                      {"layout", row.layout},
                      {"dtype", dtype},
                      {"mode", Name(row.mode)},
                      {"us", row.us}});
    }
  }
  return {{"schema", "warpsmith.baselines"}, {"version", 1}, {"rows", rows}};
}

void Print(const std::vector<ShapeRows>& table) {
  std::printf("%-20s %-20s %-6s %-12s %10s\n", "shape", "baseline", "layout", "mode", "us");
  for (const ShapeRows& entry : table) {
    for (const store::BaselineRow& row : entry.rows) {
      std::printf("%-20s %-20s %-6s %-12s %10.3f\n", task::Name(entry.shape).c_str(),
                  row.name.c_str(), row.layout.c_str(), std::string(Name(row.mode)).c_str(),
                  row.us);
    }
  }
}

Status CompareWithReference(const baseline::BarTable& known, const std::vector<ShapeRows>& table) {
  baseline::BarTable measured;
  for (const ShapeRows& entry : table) {
    for (const store::BaselineRow& row : entry.rows) {
      if (row.name == "cublaslt-auto" && row.layout == "max" && row.mode == Mode::kDeviceHot) {
        measured[{entry.shape.m, entry.shape.n, entry.shape.k}] = row.us;
      }
    }
  }
  const baseline::BarComparison comparison = TRY(baseline::CompareBars(measured, known));
  std::fprintf(stderr, "%d shapes in both; measured is %+.1f %% of the reference in the median\n",
               comparison.shapes, 100 * comparison.median_relative);
  for (const baseline::BarDifference& difference : comparison.differences) {
    std::fprintf(stderr, "  %ldx%ldx%ld: %.3f us here, %.3f us there (%+.1f %%)\n",
                 static_cast<long>(difference.shape[0]), static_cast<long>(difference.shape[1]),
                 static_cast<long>(difference.shape[2]), difference.measured_us,
                 difference.known_us, 100 * difference.relative());
  }
  return {};
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
  Machine machine = TRY(Machine::Open(options.device));
  if (!options.common.quiet) std::fprintf(stderr, "%s\n", machine.notice().c_str());
  const std::string& dtype_name = options.product.dtype;
  const DType dtype = DTypeFromName(dtype_name).value();
  const double started = MonotonicSeconds();
  std::vector<ShapeRows> table;
  size_t rows = 0;
  for (const task::HgemmShape& shape : shapes) {
    const bool late =
        options.pace.max_seconds > 0 && MonotonicSeconds() - started > options.pace.max_seconds;
    if (Interrupted() || late) break;
    table.push_back({shape, TRY(RowsOf(machine, shape, dtype))});
    rows += table.back().rows.size();
  }
  if (options.torch && machine.recorded() == nullptr) {
    TRY(AddTorch(shapes, dtype, machine.info(), table));
  }
  if (rows == 0) {
    return Error{ErrorCode::kNothingMeasured, "no baseline was measured",
                 "see 'warpsmith doctor' for cuBLAS, and raise --max-seconds"};
  }
  if (!options.csv.empty()) {
    TRY(WriteFileAtomic(options.csv, ToCsv(table, dtype_name, machine.info())));
  }
  if (options.common.json) {
    std::printf("%s\n", ToJson(table, dtype_name).dump(1).c_str());
  } else {
    Print(table);
  }
  if (!options.reference.empty()) TRY(CompareWithReference(known, table));
  return 0;
}

}  // namespace warpsmith::cli
