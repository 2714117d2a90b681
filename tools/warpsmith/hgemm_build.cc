// `hgemm build`: a catalogue's kernels, compiled, as the library's pack.
#include <algorithm>
#include <cstdio>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/display_text.h"
#include "base/file.h"
#include "catalogue.h"
#include "compile/worker_compiler.h"
#include "dispatch_commands.h"
#include "gemm_library/pack.h"
#include "hgemm/family.h"
#include "lt_choices.h"

namespace warpsmith::cli {
namespace {

constexpr size_t kAhead = 64;  // compilations begun before their results are needed

// What became of the catalogue's rows.
struct Tally {
  size_t kernels = 0, changed = 0;
  size_t untuned = 0;               // cuBLASLt's rows for which no algorithm of autotuning is kept
  std::vector<std::string> failed;  // "64x64x64-TN f16 NVIDIA H200: why"
  // What the compiler warned of, such as that wgmma is serialised, and of how many kernels.
  std::map<std::string, size_t> warnings;
};

void AddWarnings(const Artifact& artifact, Tally* tally) {
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
hgemm::Catalogue RowsFor(const hgemm::Catalogue& catalogue, const BuildOptions& options) {
  std::map<hgemm::Problem, const hgemm::CatalogueRow*> surest;
  for (const hgemm::CatalogueRow& row : catalogue.rows) {
    const bool wanted = options.device.empty() || row.device == options.device;
    if (!wanted || row.architecture != options.architecture) continue;
    const auto [known, is_new] = surest.emplace(row.problem, &row);
    if (!is_new && hgemm::IsSurer(row, *known->second)) known->second = &row;
  }
  hgemm::Catalogue rows;
  for (const auto& [problem, row] : surest) rows.rows.push_back(*row);
  return rows;
}

using PendingCompile = std::future<Result<CompileOutcome>>;

class Builder {
 public:
  Builder(const BuildOptions& options, hgemm::Catalogue rows)
      : options_(options), compiler_(CompilerOptions()) {
    pack_.architecture = options.architecture;
    pack_.catalogue = std::move(rows);
  }

  Result<gemm_library::Pack> Build(Tally* tally) {
    for (const hgemm::CatalogueRow& row : pack_.catalogue.rows) {
      TRY(AddRow(row, tally));
      if (pending_.size() >= kAhead) TRY(FinishOne(tally));
    }
    while (!pending_.empty()) TRY(FinishOne(tally));
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
  Status AddRow(const hgemm::CatalogueRow& row, Tally* tally) {
    pack_.rows.push_back({-1, lt_choices_.AlgorithmOf(row)});
    if (row.choice == hgemm::Choice::kCublasLt) return {};
    auto candidate = hgemm::MakeCandidate(row.problem, row.kernel);
    if (!candidate.ok()) return Fail(row, candidate.error().message, tally);
    const std::string id = CandidateId(*candidate);
    if (id != row.candidate) ++tally->changed;
    if (id != row.candidate && options_.strict) {
      return Fail(row, "its sources are not those that were measured", tally);
    }
    if (const Status fits = gemm_library::CanCarryOut(candidate->plan); !fits.ok()) {
      return Fail(row, fits.error().message, tally);
    }
    const auto [place, fresh] = kernel_of_.emplace(
        id + PointName(hgemm::WithAllParameters(row.kernel)), pack_.kernels.size());
    pack_.rows.back().kernel = static_cast<int>(place->second);
    if (!fresh) return {};
    pack_.kernels.push_back(
        {row.kernel, row.problem.layout, row.problem.dtype, candidate->plan, ""});
    pending_.push_back({place->second, std::async(std::launch::async, [this, c = *candidate] {
                          return compiler_.Compile(c, options_.architecture);
                        })});
    return {};
  }

  static Status Fail(const hgemm::CatalogueRow& row, const std::string& why, Tally* tally) {
    tally->failed.push_back(hgemm::KeyText(row) + ": " + why);
    return {};
  }

  Status FinishOne(Tally* tally) {
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
  void DropMissing(Tally* tally) {
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
};

void Print(const Tally& tally, const gemm_library::Pack& pack, const std::string& path,
           size_t bytes, bool json) {
  if (json) {
    const nlohmann::json document = {{"schema", "warpsmith.gemm-build"},
                                     {"version", 1},
                                     {"pack", path},
                                     {"bytes", bytes},
                                     {"rows", pack.rows.size()},
                                     {"with_kernels", tally.kernels},
                                     {"with_cublaslt", pack.rows.size() - tally.kernels},
                                     {"without_algorithm", tally.untuned},
                                     {"kernels", pack.kernels.size()},
                                     {"changed", tally.changed},
                                     {"warnings", tally.warnings},
                                     {"failed", tally.failed}};
    std::printf("%s\n", document.dump(1).c_str());
    return;
  }
  std::printf("%s: %zu bytes, %zu shapes: %zu with one of %zu kernels, %zu with cuBLASLt\n",
              path.c_str(), bytes, pack.rows.size(), tally.kernels, pack.kernels.size(),
              pack.rows.size() - tally.kernels);
  if (tally.untuned > 0) {
    std::printf(
        "%zu of those with cuBLASLt run what its heuristic chooses: autotuning's choice, which "
        "'warpsmith hgemm tune' and 'bench' keep in %s, is not there\n",
        tally.untuned, LinesForTerminal((DataHome() / "baselines").string()).c_str());
  }
  if (tally.changed > 0) {
    std::printf(
        "%zu kernels are built from sources other than those that were measured: verify "
        "them ('warpsmith hgemm verify --catalogue'), or leave them out with --strict\n",
        tally.changed);
  }
  for (const auto& [warning, kernels] : tally.warnings) {
    std::printf("in %zu of the kernels: %s\n", kernels, LinesForTerminal(warning).c_str());
  }
  for (const std::string& line : tally.failed) {
    std::printf("left out: %s\n", LinesForTerminal(line).c_str());
  }
}

}  // namespace

Result<int> RunHgemmBuild(const BuildOptions& options) {
  hgemm::Catalogue rows = RowsFor(TRY(ReadCatalogue(options.catalogue)), options);
  if (rows.rows.empty()) {
    return Error{ErrorCode::kBadInput,
                 options.catalogue + " has no row for " + options.architecture +
                     (options.device.empty() ? "" : " measured on " + options.device),
                 "name another --arch or --for-device"};
  }
  Tally tally;
  const gemm_library::Pack pack = TRY(Builder(options, std::move(rows)).Build(&tally));
  const std::string bytes = TRY(gemm_library::WritePack(pack));
  TRY(CreateDirectories(options.output));
  const std::filesystem::path path = std::filesystem::path(options.output) / "gemm.wspack";
  TRY(WriteFileAtomic(path, bytes));
  Print(tally, pack, path.string(), bytes.size(), options.common.json);
  return tally.failed.empty() ? 0 : 1;
}

}  // namespace warpsmith::cli
