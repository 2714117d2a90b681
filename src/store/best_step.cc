#include "store/best_step.h"

#include <string>
#include <utility>

#include "core/step_reference.h"
#include "store/run_memos.h"

namespace warpsmith::store {
Result<std::optional<Step>> BestStep(store::DatabaseStore& store,
                                     const std::vector<RunRecord>& runs) {
  std::optional<Step> best;
  std::pair<bool, double> best_rank{false, 0};
  for (const RunRecord& run : runs) {
    // What a run overruled stands with the run itself, not with the certification of its best.
    store::RunMemos memos(store, std::string(CertifiedRun(run.id)));
    for (Step& step : TRY(store.Steps(run.id))) {
      const auto ratio = RatioToPrimary(step.verdict, run.protocol.modes.front());
      if (!ratio) continue;
      const std::string overruled = store::OverruledKey(CandidateId(step.candidate));
      if (TRY(memos.Find(overruled)).has_value()) continue;
      const std::pair rank{run.protocol.level == Level::kCertified, *ratio};
      if (best && rank <= best_rank) continue;
      best_rank = rank;
      best = std::move(step);
    }
  }
  return best;
}

}  // namespace warpsmith::store
