#include <cstdio>

#include "catalogue.h"
#include "comparison_file.h"
#include "dispatch_commands.h"
#include "hgemm/comparison_guard.h"

namespace warpsmith::cli {

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
  }
  return 0;
}

}  // namespace warpsmith::cli
