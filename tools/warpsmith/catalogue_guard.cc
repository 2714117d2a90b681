#include <cstdio>

#include "catalogue.h"
#include "comparison_file.h"
#include "dispatch_commands.h"
#include "hgemm/comparison_guard.h"

namespace warpsmith::cli {
namespace {

void TellOfBuilds(const hgemm::GuardedCatalogue& guarded) {
  if (guarded.built_anew > 0) {
    std::fprintf(stderr,
                 "%d kernels had been built anew since they were tuned; their rows have the hashes "
                 "of what was compared now\n",
                 guarded.built_anew);
  }
  if (guarded.changed > 0) {
    std::fprintf(stderr,
                 "%d kernels are built otherwise by this program than what was compared: measure "
                 "them again, or leave them out with 'hgemm build --strict'\n",
                 guarded.changed);
  }
}

}  // namespace

Result<int> RunCatalogueGuard(const CatalogueGuardOptions& options) {
  const hgemm::Catalogue catalogue = TRY(ReadCatalogue(options.catalogue));
  std::vector<hgemm::NamedComparison> parts;
  for (const std::string& path : options.bench) parts.push_back(TRY(ReadComparisonFile(path)));
  const hgemm::ComparisonTable comparison = TRY(hgemm::Join(parts));
  const hgemm::GuardedCatalogue guarded =
      TRY(hgemm::Guard(catalogue, comparison,
                       options.strict ? hgemm::Uncompared::kCublasLt : hgemm::Uncompared::kKeep));
  TRY(WriteCatalogue(guarded.catalogue, options.output));
  if (!options.common.quiet) {
    std::fprintf(
        stderr,
        "%d rows decided: %d are kernels now that were cuBLASLt's, %d the other way round; "
        "%d rows were not compared%s; %d are of another device, layout or type; "
        "%d compared shapes have no row\n",
        guarded.decided, guarded.to_kernel, guarded.to_cublaslt, guarded.not_compared,
        options.strict ? " and are cuBLASLt's" : " and stay as they were", guarded.elsewhere,
        guarded.not_catalogued);
    TellOfBuilds(guarded);
  }
  return 0;
}

}  // namespace warpsmith::cli
