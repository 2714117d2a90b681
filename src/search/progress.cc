#include "search/progress.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/space.h"

namespace warpsmith::search {
namespace {

std::string NameOf(const Candidate& candidate) {
  const Provenance& provenance = candidate.provenance;
  if (!provenance.family.empty()) return PointName({provenance.family, provenance.config});
  if (!provenance.technique.empty()) return provenance.technique;
  constexpr size_t kShortId = 12;
  return CandidateId(candidate).substr(0, kShortId);
}

}  // namespace

ProgressTracker::ProgressTracker(std::string run, Mode mode, const Budget& budget,
                                 double max_seconds)
    : mode_(mode), budget_(budget), max_seconds_(max_seconds) {
  progress_.run = std::move(run);
  const bool limited = budget.evaluations != std::numeric_limits<int64_t>::max();
  progress_.evaluation_limit = limited ? budget.evaluations : 0;
}

void ProgressTracker::Add(const Step& step, Origin origin, double elapsed_seconds) {
  progress_.spent = progress_.spent + step.cost;
  progress_.evaluations = progress_.spent.evaluations;
  const auto* rejected = std::get_if<Rejected>(&step.verdict.outcome);
  const bool declined = rejected != nullptr && rejected->rule == kDeclinedRule;
  ++progress_.outcomes[std::string(declined ? kDeclinedRule : OutcomeName(step.verdict.outcome))];
  const std::optional<double> ratio = RatioToPrimary(step.verdict, mode_);
  if (ratio.has_value() && *ratio > progress_.best_ratio.value_or(0)) {
    progress_.best_ratio = ratio;
    progress_.best = NameOf(step.candidate);
  }
  if (origin == Origin::kNew) ++new_steps_;
  progress_.elapsed_seconds = elapsed_seconds;
  progress_.seconds_left = SecondsLeft();
}

// The nearest of the limits, at this call's pace so far.
std::optional<double> ProgressTracker::SecondsLeft() const {
  if (new_steps_ == 0) return std::nullopt;
  const double pace = progress_.elapsed_seconds / static_cast<double>(new_steps_);
  double left = std::min(budget_.wall_seconds - progress_.spent.wall_seconds,
                         max_seconds_ - progress_.elapsed_seconds);
  if (progress_.evaluation_limit > 0) {
    const int64_t evaluations_left = progress_.evaluation_limit - progress_.evaluations;
    left = std::min(left, pace * static_cast<double>(evaluations_left));
  }
  if (progress_.spent.gpu_seconds > 0) {
    const double gpu_left = budget_.gpu_seconds - progress_.spent.gpu_seconds;
    left = std::min(left, gpu_left * pace * static_cast<double>(progress_.evaluations) /
                              progress_.spent.gpu_seconds);
  }
  if (!std::isfinite(left)) return std::nullopt;
  return std::max(left, 0.0);
}

}  // namespace warpsmith::search
