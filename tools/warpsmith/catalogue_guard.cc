#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "catalogue.h"
#include "comparison_file.h"
#include "dispatch_commands.h"
#include "hgemm/comparison_guard.h"
#include "lt_choices.h"

namespace warpsmith::cli {
namespace {

// What its user has to know of the kernels.
std::string KernelsInWords(const hgemm::GuardedCatalogue& guarded) {
  std::string text;
  if (guarded.built_anew > 0) {
    text += fmt::format(
        "\n{} kernels had been built anew since they were tuned; their rows have the hashes of "
        "what was compared now",
        guarded.built_anew);
  }
  if (guarded.changed > 0) {
    text += fmt::format(
        "\n{} kernels are built otherwise by this program than what was compared: measure them "
        "again, or leave them out with 'hgemm build --strict'",
        guarded.changed);
  }
  return text;
}

std::string InWords(const hgemm::GuardedCatalogue& guarded, bool strict) {
  return fmt::format(
             "{} rows decided: {} are kernels now that were cuBLASLt's, {} the other way round; {} "
             "rows were not compared{}; {} are of another device, layout or type; {} compared "
             "shapes have no row",
             guarded.decided, guarded.to_kernel, guarded.to_cublaslt, guarded.not_compared,
             strict ? " and are cuBLASLt's" : " and stay as they were", guarded.elsewhere,
             guarded.not_catalogued) +
         KernelsInWords(guarded);
}

Result<int> Write(const hgemm::GuardedCatalogue& guarded, const CatalogueGuardOptions& options,
                  const std::string& words) {
  TRY(WriteCatalogue(guarded.catalogue, options.output));
  Tell(options.common, options.output, words,
       {{"schema", "warpsmith.catalogue-guard"},
        {"decided", guarded.decided},
        {"to_kernel", guarded.to_kernel},
        {"to_cublaslt", guarded.to_cublaslt},
        {"not_compared", guarded.not_compared},
        {"elsewhere", guarded.elsewhere},
        {"not_catalogued", guarded.not_catalogued},
        {"built_anew", guarded.built_anew},
        {"changed", guarded.changed}});
  return 0;
}

// Nothing was compared yet.
Result<int> LeaveAll(const hgemm::Catalogue& catalogue, const CatalogueGuardOptions& options) {
  hgemm::GuardedCatalogue left{hgemm::LeftToCublasLt(catalogue)};
  left.not_compared = left.to_cublaslt = static_cast<int>(catalogue.rows.size());
  return Write(left, options,
               fmt::format("{} rows are cuBLASLt's until their kernels are compared with it",
                           left.not_compared));
}

// No comparison is named: by those that the rows hold.
Result<int> ChooseAnew(const hgemm::Catalogue& catalogue, const CatalogueGuardOptions& options) {
  const hgemm::GuardedCatalogue guarded = hgemm::GuardAnew(catalogue);
  if (guarded.decided == 0) {
    return Error{ErrorCode::kNothingMeasured, options.catalogue + ": no row was compared",
                 "name --bench, or --strict: then every row is cuBLASLt's until it is compared"};
  }
  return Write(
      guarded, options,
      fmt::format("by the results that {} rows hold: {} are kernels now that were "
                  "cuBLASLt's, {} the other way round; {} rows were not compared and stay "
                  "as they were",
                  guarded.decided, guarded.to_kernel, guarded.to_cublaslt, guarded.not_compared) +
          KernelsInWords(guarded));
}

}  // namespace

Result<int> RunCatalogueGuard(const CatalogueGuardOptions& options) {
  const hgemm::Catalogue catalogue = TRY(ReadCatalogue(options.catalogue));
  if (options.bench.empty()) {
    return options.strict ? LeaveAll(catalogue, options) : ChooseAnew(catalogue, options);
  }
  const hgemm::ComparisonTable comparison = TRY(ReadJoined(options.bench));
  LtChoices choices;
  const auto uncompared = options.strict ? hgemm::Uncompared::kCublasLt : hgemm::Uncompared::kKeep;
  const hgemm::GuardedCatalogue guarded =
      TRY(hgemm::Guard(catalogue, comparison, uncompared,
                       [&](const hgemm::CatalogueRow& row) { return choices.BarIsOwn(row); }));
  return Write(guarded, options, InWords(guarded, options.strict));
}

}  // namespace warpsmith::cli
