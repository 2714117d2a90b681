#include "hgemm/bench/pack_builder.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <set>
#include <thread>

#include "compile/worker_compiler.h"
#include "hgemm/bench/catalogues.h"
#include "hgemm/bench/primary_choices.h"
#include "hgemm/family.h"
#include "report/terminal.h"
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

// What is compiled for a row that chose a kernel, or why the pack can have none.
Result<Candidate> ForPack(const CatalogueRow& row, bool strict) {
  Candidate candidate = TRY(MakeCandidate(row.problem, row.kernel));
  if (strict && CandidateId(candidate) != row.candidate) {
    return Error{ErrorCode::kBadInput, "its sources are not those that were measured", ""};
  }
  TRY(gemm_library::CanCarryOut(candidate.plan));
  return candidate;
}

// Puts the row's kernel into the pack, if it has none of the kind; true: it is a new one. Shapes
// share a kernel where their sources, plans and parameters are the same.
using KernelPlaces = std::map<std::string, size_t>;  // candidate id and name -> index
bool AddKernel(const CatalogueRow& row, const Candidate& candidate, KernelPlaces* places,
               gemm_library::Pack* pack) {
  const auto [place, fresh] = places->emplace(
      CandidateId(candidate) + PointName(WithAllParameters(row.kernel)), pack->kernels.size());
  pack->rows.back().kernel = static_cast<int>(place->second);
  if (!fresh) return false;
  pack->kernels.push_back({row.kernel, row.problem.layout, row.problem.dtype, candidate.plan, ""});
  return true;
}

// What the library's rules look at.
gemm_library::Pack Uncompiled(Catalogue rows, bool strict) {
  gemm_library::Pack pack;
  KernelPlaces places;
  pack.catalogue = std::move(rows);
  for (const CatalogueRow& row : pack.catalogue.rows) {
    pack.rows.emplace_back();
    if (row.choice == Choice::kCublasLt) continue;
    const auto candidate = ForPack(row, strict);
    if (candidate.ok()) AddKernel(row, *candidate, &places, &pack);
  }
  return pack;
}

// What the library's rules say of a problem, and the same for a person.
std::pair<gemm_library::Chosen, std::string> Decide(const gemm_library::Pack& pack,
                                                    const Problem& p, const Target& target) {
  gemm_library::Problem asked{.m = p.m, .n = p.n, .k = p.k, .dtype = p.dtype};
  asked.transpose_b = p.layout == Layout::kTN;
  gemm_library::Chosen chosen = gemm_library::Choose(pack, asked, target);
  std::string text = SizesText(p) + "-" + LayoutText(p.layout) + " " + std::string(Name(p.dtype)) +
                     ": " + chosen.reason + ": ";
  if (!chosen.kernels.empty()) {
    text += PointName(pack.kernels[chosen.kernels.front()].point);
  } else {
    text += Find(pack.catalogue, p) != nullptr ? "cuBLASLt" : "cuBLASLt's heuristic";
  }
  return {std::move(chosen), std::move(text)};
}

// Leaves the rows by which the library chooses for the named shapes, in every layout and type that
// the catalogue has: the shape's own, or those that its rules go by. Without rows near a shape that
// lost, the pack would choose otherwise than the whole catalogue does.
Status KeepShapes(const BuildOptions& options, Catalogue* rows, BuildTally* tally) {
  if (options.shapes.empty()) return {};
  const gemm_library::Pack whole = Uncompiled(*rows, options.strict);
  std::set<std::pair<Layout, DType>> kinds;
  for (const CatalogueRow& row : rows->rows) kinds.emplace(row.problem.layout, row.problem.dtype);
  std::set<size_t> kept;
  bool is_useful = false;
  for (const task::HgemmShape& shape : TRY(task::ParseHgemmShapes(options.shapes))) {
    for (const auto& [layout, dtype] : kinds) {
      const Problem problem{shape.m, shape.n, shape.k, layout, dtype};
      const auto [chosen, text] = Decide(whole, problem, {});
      kept.insert(chosen.rows.begin(), chosen.rows.end());
      const bool is_measured = Find(*rows, problem) != nullptr;
      is_useful = is_useful || is_measured || !chosen.kernels.empty();
      ++(chosen.kernels.empty() ? tally->left : is_measured ? tally->measured : tally->guessed);
      if (!is_measured) tally->unmeasured.push_back(text);
      if (is_measured && chosen.kernels.empty()) tally->lost.push_back(text);
    }
  }
  rows->rows.clear();
  for (const size_t row : kept) rows->rows.push_back(whole.catalogue.rows[row]);
  if (is_useful) return {};
  return Error{ErrorCode::kBadInput,
               options.catalogue + " says nothing of the shapes: " + tally->unmeasured.front(),
               "tune them, or name others: without a pack all is cuBLASLt's"};
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

  Status AddRow(const CatalogueRow& row, BuildTally* tally) {
    pack_.rows.push_back({-1, lt_choices_.AlgorithmOf(row)});
    if (row.choice == Choice::kCublasLt) return {};
    auto candidate = ForPack(row, options_.strict);
    if (!candidate.ok()) {
      tally->failed.push_back(KeyText(row) + ": " + candidate.error().message);
      return {};
    }
    if (CandidateId(*candidate) != row.candidate) ++tally->changed;
    if (!AddKernel(row, *candidate, &kernel_of_, &pack_)) return {};
    pending_.push_back({pack_.kernels.size() - 1,
                        std::async(std::launch::async, [this, c = *std::move(candidate)] {
                          return compiler_.Compile(c, options_.architecture);
                        })});
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
  KernelPlaces kernel_of_;
  std::vector<Pending> pending_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  report::ProgressLine line_{stderr, report::StyleOf(STDERR_FILENO)};
};

}  // namespace

Result<gemm_library::Pack> BuildPack(const BuildOptions& options, BuildTally* tally) {
  Catalogue rows = RowsFor(TRY(ReadCatalogue(options.catalogue)), options);
  if (!rows.rows.empty()) TRY(KeepShapes(options, &rows, tally));
  if (!rows.rows.empty()) return Builder(options, std::move(rows)).Build(tally);
  return Error{ErrorCode::kBadInput,
               options.catalogue + " has no row for " + options.architecture +
                   (options.device.empty() ? "" : " measured on " + options.device),
               "name another --arch or --for-device"};
}

std::pair<gemm_library::Chosen, std::string> LibraryChoice(const Catalogue& catalogue,
                                                           const Problem& problem,
                                                           const Target& target) {
  return Decide(Uncompiled(RowsFor(catalogue, {}), false), problem, target);
}

}  // namespace warpsmith::hgemm
