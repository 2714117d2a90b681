#include "judge/answer_book.h"

#include <algorithm>

namespace warpsmith::judge {

std::optional<Incorrect> AnswerBook::Enter(const OutputReport& report, int combination,
                                           std::string_view where, Correctness& correctness) {
  const auto known = hashes_.find(combination);
  const bool was_right = known != hashes_.end();
  if (auto wrong = Diagnose(report, was_right ? "nondeterministic-wrong" : "bound", where)) {
    return wrong;
  }
  if (was_right && known->second != report.content_hash) correctness.deterministic = false;
  if (!was_right) bias_.Add(report.bias);
  hashes_[combination] = report.content_hash;
  correctness.worst_bound_fraction =
      std::max(correctness.worst_bound_fraction, report.worst_fraction);
  round_deviation_ = std::max(round_deviation_, report.max_deviation);
  ++correctness.outputs_verified;
  return std::nullopt;
}

bool AnswerBook::IsAnswerToAnother(uint64_t content_hash, int combination) const {
  return std::any_of(hashes_.begin(), hashes_.end(), [&](const auto& entry) {
    return entry.first != combination && entry.second == content_hash;
  });
}

}  // namespace warpsmith::judge
