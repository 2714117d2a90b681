#include "base/phase.h"

#include <mutex>

#include "base/clock.h"

namespace warpsmith {
namespace {

thread_local Phase* current_phase = nullptr;

struct PhaseTotals {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, double> seconds;
};

PhaseTotals& Totals() {
  static PhaseTotals totals;
  return totals;
}

}  // namespace

Phase::Phase(std::string_view name)
    : name_(name),
      outer_(current_phase),
      work_(outer_ == nullptr ? name : outer_->work_),
      since_(MonotonicSeconds()) {
  if (outer_ != nullptr) outer_->Charge();
  current_phase = this;
}

Phase::~Phase() {
  Charge();
  current_phase = outer_;
  if (outer_ != nullptr) outer_->since_ = MonotonicSeconds();
}

void Phase::Charge() const {
  const double seconds = MonotonicSeconds() - since_;
  const std::string name(outer_ == nullptr ? "other" : name_);
  const std::lock_guard lock(Totals().mutex);
  Totals().seconds[{std::string(work_), name}] += seconds;
}

std::map<std::pair<std::string, std::string>, double> PhaseSeconds() {
  const std::lock_guard lock(Totals().mutex);
  return Totals().seconds;
}

}  // namespace warpsmith
