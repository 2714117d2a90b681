#include "judge/correctness_book.h"

#include <algorithm>

namespace warpsmith::judge {

std::optional<Incorrect> CorrectnessBook::EnterChecks(const std::vector<CheckReport>& reports) {
  if (auto incorrect = DiagnoseChecks(reports)) return incorrect;
  for (const CheckReport& report : reports) {
    if (report.input == CheckInput::kNormal) {  // drawn as the timed inputs are
      correctness_.max_deviation.push_back(report.output.max_deviation);
      bias_.Add(report.output.bias);
    }
    correctness_.worst_bound_fraction =
        std::max(correctness_.worst_bound_fraction, report.output.worst_fraction);
    ++correctness_.outputs_verified;
  }
  return DiagnoseBias(bias_, allowed_bias_);
}

std::optional<Incorrect> CorrectnessBook::Enter(const OutputReport& report, int combination,
                                                std::string_view where) {
  const auto known = hashes_.find(combination);
  const bool was_right = known != hashes_.end();
  if (auto wrong = Diagnose(report, was_right ? "nondeterministic-wrong" : "bound", where)) {
    return wrong;
  }
  if (was_right && known->second != report.content_hash) correctness_.deterministic = false;
  if (!was_right) bias_.Add(report.bias);
  hashes_[combination] = report.content_hash;
  correctness_.worst_bound_fraction =
      std::max(correctness_.worst_bound_fraction, report.worst_fraction);
  round_deviation_ = std::max(round_deviation_, report.max_deviation);
  ++correctness_.outputs_verified;
  return std::nullopt;
}

bool CorrectnessBook::IsAnswerToAnother(uint64_t content_hash, int combination) const {
  return std::any_of(hashes_.begin(), hashes_.end(), [&](const auto& entry) {
    return entry.first != combination && entry.second == content_hash;
  });
}

std::optional<Incorrect> CorrectnessBook::EndRound() {
  correctness_.max_deviation.push_back(round_deviation_);
  return DiagnoseBias(bias_, allowed_bias_);
}

Correctness CorrectnessBook::Finish(Level level) const {
  Correctness correctness = correctness_;
  correctness.bias = BiasOf(bias_, allowed_bias_);
  if (level == Level::kCertified) {
    correctness.rare_errors = RareErrorsCaughtBy(correctness.outputs_verified);
  }
  return correctness;
}

}  // namespace warpsmith::judge
