#include "hgemm/bench/pack_builder.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "compile/worker_compiler.h"
#include "gemm_library/choice.h"
#include "hgemm/bench/catalogues.h"
#include "hgemm/bench/primary_choices.h"
#include "hgemm/family.h"
#include "report/progress_line.h"
#include "task/hgemm_task.h"

namespace warpsmith::hgemm {
namespace {

constexpr size_t kAhead = 64;  // compilations begun before their results are needed

void AddWarnings(const Artifact& artifact, BuildTally* tally) {
  for (const std::string& warning : artifact.warnings) {
    if (!warning.starts_with(compile::kWithoutSandbox)) ++tally->warnings[warning];
  }
  const bool spills = std::any_of(artifact.kernels.begin(), artifact.kernels.end(),
                                  [](const KernelResources& kernel) {
                                    return kernel.spill_store_bytes + kernel.spill_load_bytes > 0;
                                  });
  if (spills) ++tally->warnings["registers spill to local memory"];
}

// Of each shape one row: the chosen device's, or the surest.
Catalogue RowsFor(const Catalogue& catalogue, const BuildOptions& options) {
  std::map<Problem, const CatalogueRow*> surest;
  for (const CatalogueRow& row : catalogue.rows) {
    const bool wanted = options.device.empty() || row.device == options.device;
    if (!wanted || row.architecture != options.architecture) continue;
    const auto [known, is_new] = surest.emplace(row.problem, &row);
    if (!is_new && IsSurer(row, *known->second)) known->second = &row;
  }
  Catalogue rows;
  for (const auto& [problem, row] : surest) rows.rows.push_back(*row);
  return rows;
}

// Leaves the rows of the named shapes, in every layout and type that the catalogue has of them.
Status KeepShapes(const BuildOptions& options, Catalogue* rows) {
  if (options.shapes.empty()) return {};
  const std::vector<task::HgemmShape> shapes = TRY(task::ParseHgemmShapes(options.shapes));
  const auto is_of = [](const CatalogueRow& row, const task::HgemmShape& shape) {
    return row.problem.m == shape.m && row.problem.n == shape.n && row.problem.k == shape.k;
  };
  for (const task::HgemmShape& shape : shapes) {
    if (std::ranges::any_of(rows->rows, [&](const auto& row) { return is_of(row, shape); }))
      continue;
    return Error{ErrorCode::kBadInput, options.catalogue + " has no row of " + task::Name(shape),
                 "tune it, or build the whole catalogue, whose rules choose from its neighbours"};
  }
  std::erase_if(rows->rows, [&](const CatalogueRow& row) {
    return std::ranges::none_of(shapes, [&](const auto& shape) { return is_of(row, shape); });
  });
  return {};
}

using PendingCompile = std::future<Result<CompileOutcome>>;

class Builder {
 public:
  Builder(const BuildOptions& options, Catalogue rows)
      : options_(options), compiler_(CompilerOptions()) {
    pack_.architecture = options.architecture;
    pack_.catalogue = std::move(rows);
  }

  Result<gemm_library::Pack> Build(BuildTally* tally) {
    for (const CatalogueRow& row : pack_.catalogue.rows) {
      TRY(AddRow(row, tally));
      if (pending_.size() >= kAhead) TRY(FinishOne(tally));
    }
    while (!pending_.empty()) TRY(FinishOne(tally));
    line_.Clear();
    DropMissing(tally);
    return std::move(pack_);
  }

 private:
  struct Pending {
    size_t kernel;
    PendingCompile outcome;
  };

  static compile::CompilerOptions CompilerOptions() {
    compile::CompilerOptions options;
    options.workers = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return options;
  }

  // Shapes share a kernel where their sources, plans and parameters are the same.
  Status AddRow(const CatalogueRow& row, BuildTally* tally) {
    pack_.rows.push_back({-1, lt_choices_.AlgorithmOf(row)});
    if (row.choice == Choice::kCublasLt) return {};
    auto candidate = MakeCandidate(row.problem, row.kernel);
    if (!candidate.ok()) return Fail(row, candidate.error().message, tally);
    const std::string id = CandidateId(*candidate);
    if (id != row.candidate) ++tally->changed;
    if (id != row.candidate && options_.strict) {
      return Fail(row, "its sources are not those that were measured", tally);
    }
    if (const Status fits = gemm_library::CanCarryOut(candidate->plan); !fits.ok()) {
      return Fail(row, fits.error().message, tally);
    }
    const auto [place, fresh] =
        kernel_of_.emplace(id + PointName(WithAllParameters(row.kernel)), pack_.kernels.size());
    pack_.rows.back().kernel = static_cast<int>(place->second);
    if (!fresh) return {};
    pack_.kernels.push_back(
        {row.kernel, row.problem.layout, row.problem.dtype, candidate->plan, ""});
    pending_.push_back({place->second, std::async(std::launch::async, [this, c = *candidate] {
                          return compiler_.Compile(c, options_.architecture);
                        })});
    return {};
  }

  static Status Fail(const CatalogueRow& row, const std::string& why, BuildTally* tally) {
    tally->failed.push_back(KeyText(row) + ": " + why);
    return {};
  }

  void SayProgress() {
    if (options_.common.quiet) return;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    const size_t all = pack_.catalogue.rows.size(), done = pack_.rows.size() - pending_.size();
    line_.Update({.label = "rows compiled",
                  .evaluations = static_cast<int64_t>(done),
                  .planned = static_cast<int64_t>(all),
                  .best_ratio = -1,
                  .failed = {},
                  .seconds_left = report::SecondsLeft(elapsed.count(), done, all)},
                 elapsed.count());
  }

  Status FinishOne(BuildTally* tally) {
    SayProgress();
    Pending pending = std::move(pending_.front());
    pending_.erase(pending_.begin());
    CompileOutcome outcome = TRY(pending.outcome.get());
    gemm_library::PackKernel& kernel = pack_.kernels[pending.kernel];
    if (auto* artifact = std::get_if<Artifact>(&outcome)) {
      AddWarnings(*artifact, tally);
      kernel.image = std::move(artifact->image);
      pack_.toolkit = artifact->toolchain;
    } else {
      tally->failed.push_back(PointName(kernel.point) + ": " +
                              std::get<CompileFailed>(outcome).reason);
    }
    return {};
  }

  // Kernels that did not compile leave, and their rows become cuBLASLt's.
  void DropMissing(BuildTally* tally) {
    std::vector<int> place(pack_.kernels.size(), -1);
    std::vector<gemm_library::PackKernel> kept;
    for (size_t i = 0; i < pack_.kernels.size(); ++i) {
      if (pack_.kernels[i].image.empty()) continue;
      place[i] = static_cast<int>(kept.size());
      kept.push_back(std::move(pack_.kernels[i]));
    }
    pack_.kernels = std::move(kept);
    for (gemm_library::PackRow& row : pack_.rows) {
      if (row.kernel >= 0) row.kernel = place[static_cast<size_t>(row.kernel)];
      tally->kernels += row.kernel >= 0 ? 1 : 0;
      tally->untuned += row.kernel < 0 && row.lt_algorithm.empty() ? 1 : 0;
    }
  }

  const BuildOptions& options_;
  compile::WorkerCompiler compiler_;
  LtChoices lt_choices_;
  gemm_library::Pack pack_;
  std::map<std::string, size_t> kernel_of_;  // candidate id and name -> index
  std::vector<Pending> pending_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  report::ProgressLine line_{stderr, report::StyleOf(STDERR_FILENO)};
};

}  // namespace

Result<gemm_library::Pack> BuildPack(const BuildOptions& options, BuildTally* tally) {
  Catalogue rows = RowsFor(TRY(ReadCatalogue(options.catalogue)), options);
  if (!rows.rows.empty()) TRY(KeepShapes(options, &rows));
  if (!rows.rows.empty()) return Builder(options, std::move(rows)).Build(tally);
  return Error{ErrorCode::kBadInput,
               options.catalogue + " has no row for " + options.architecture +
                   (options.device.empty() ? "" : " measured on " + options.device),
               "name another --arch or --for-device"};
}

std::string LibraryChoiceText(const Catalogue& catalogue, const Problem& problem,
                              const Target& target) {
  gemm_library::Pack pack;
  pack.catalogue = RowsFor(catalogue, {});
  for (const CatalogueRow& row : pack.catalogue.rows) {
    pack.rows.emplace_back();
    if (row.choice == Choice::kCublasLt) continue;
    const auto candidate = MakeCandidate(row.problem, row.kernel);
    if (!candidate.ok()) continue;  // its pack would lack it, too
    pack.rows.back().kernel = static_cast<int>(pack.kernels.size());
    pack.kernels.push_back(
        {row.kernel, row.problem.layout, row.problem.dtype, candidate->plan, ""});
  }
  gemm_library::Problem asked{.m = problem.m, .n = problem.n, .k = problem.k};
  asked.transpose_b = problem.layout == Layout::kTN;
  asked.dtype = problem.dtype;
  const gemm_library::Chosen chosen = gemm_library::Choose(pack, asked, target);
  return chosen.reason + ": " +
         (chosen.kernels.empty() ? "cuBLASLt's heuristic"
                                 : PointName(pack.kernels[chosen.kernels.front()].point));
}

}  // namespace warpsmith::hgemm
