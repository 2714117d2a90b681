#include "judge/oracle_cost.h"

#include <algorithm>

namespace warpsmith::judge {
namespace {

constexpr double kMostOracleShare = 0.95;
constexpr double kMostHandOverShare = 0.5;

}  // namespace

OracleCost Least(const OracleCost& a, const OracleCost& b) {
  return {std::min(a.look_us, b.look_us), std::min(a.slot_us, b.slot_us),
          std::min(a.move_us, b.move_us)};
}

double OracleShare(double call_us, const OracleWork& work, const OracleCost& cost) {
  if (work.calls == 0 || call_us <= 0) return 0;
  const double burst_us = static_cast<double>(work.looks) * cost.look_us +
                          static_cast<double>(work.slots) * cost.slot_us +
                          static_cast<double>(work.moves) * cost.move_us;
  return burst_us / (call_us * static_cast<double>(work.calls));
}

double NetUs(double call_us, const OracleWork& work, const OracleCost& cost, double hand_over_us) {
  const double rest = call_us * (1 - std::min(OracleShare(call_us, work, cost), kMostOracleShare));
  return rest - std::min(hand_over_us, kMostHandOverShare * rest);
}

}  // namespace warpsmith::judge
