// Which of a library's ways is a baseline: a contest in the runner, by the batches that time
// candidates, in each timing mode by itself.
#ifndef WARPSMITH_JUDGE_LIBRARY_CONTEST_H_
#define WARPSMITH_JUDGE_LIBRARY_CONTEST_H_

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/protocol.h"
#include "judge/arena.h"
#include "judge/baseline/gemm_baseline.h"
#include "judge/called_process.h"

namespace warpsmith::judge {

// What a name comes to in each mode.
using ModeChoices = std::map<Mode, baseline::GemmBaselineChoice>;

struct ChoiceRequest {
  std::string name;  // "cublaslt-auto"
  std::vector<Mode> modes;
  bool again = false;             // whatever was chosen before, which competes, too
  double exhaustive_seconds = 0;  // above 0: EntrantOptions::exhaustive_seconds
};

// Has the call ready in the runner, under its CallOf.
Status MakeCallReady(CalledProcess& runner, const baseline::GemmBaselineChoice& choice);

class LibraryContest {
 public:
  // The runner has the arena mapped. All must outlive the contest.
  LibraryContest(CalledProcess& runner, const Arena& arena, Random& random)
      : runner_(runner), arena_(arena), random_(random) {}

  Result<std::vector<baseline::GemmBaselineChoice>> Entrants(const ChoiceRequest& request);

  // Those of the entrants that the library runs: its heuristic offers what it then may refuse. Of
  // an exhaustive list only as many as are ready in request.exhaustive_seconds; the heuristic's
  // come first.
  Result<std::vector<baseline::GemmBaselineChoice>> MakeReady(
      std::vector<baseline::GemmBaselineChoice> entrants, const ChoiceRequest& request);

  // The winner of all. Where the name leaves the layout open, behind it cuBLASLt's best of each
  // layout, named with it: what the same rounds say of callers who have no choice of layout.
  Result<std::vector<baseline::GemmBaselineChoice>> Hold(
      const std::vector<baseline::GemmBaselineChoice>& entrants, Mode mode);

  // Of an exhaustive list after Hold: the heuristic's answers, and the best of the rest. Listing
  // everything for the first mode is enough to know who may win in another.
  std::vector<baseline::GemmBaselineChoice> Shortlist(
      const std::vector<baseline::GemmBaselineChoice>& entrants) const;

 private:
  // The median of a batch's calls, microseconds.
  Result<double> TimeOnce(const std::string& callee, Mode mode);

  CalledProcess& runner_;
  const Arena& arena_;
  Random& random_;
  std::vector<double> medians_us_;  // of the last Hold
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_LIBRARY_CONTEST_H_
