#include "hgemm/built_kernels.h"

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "core/serialize.h"
#include "hgemm/family.h"

namespace warpsmith::hgemm {

std::string PlanId(const LaunchPlan& plan) { return Sha256Hex(ToJson(plan).dump()); }

Result<bool> HasChanged(const CatalogueRow& row) {
  return CandidateId(TRY(MakeCandidate(row.problem, row.kernel))) != row.candidate;
}

Catalogue AsBuiltNow(Catalogue catalogue) {
  for (CatalogueRow& row : catalogue.rows) {
    const Result<Candidate> built = MakeCandidate(row.problem, row.kernel);
    if (!built.ok()) continue;
    std::string candidate = CandidateId(*built);
    if (candidate == row.candidate) continue;
    row.candidate = std::move(candidate);
    row.plan_id = PlanId(built->plan);
    row.artifact = kArtifactNotKept;
  }
  return catalogue;
}

}  // namespace warpsmith::hgemm
