#include "judge/oracle_cost.h"

#include <algorithm>

namespace warpsmith::judge {
namespace {

constexpr double kLeastShare = 0.05;

}  // namespace

double WithoutOracle(double call_us, const OracleWork& work, const OracleCost& cost) {
  if (work.calls == 0) return call_us;
  const double burst_us = static_cast<double>(work.looks) * cost.look_us + cost.end_us;
  return std::max(call_us - burst_us / static_cast<double>(work.calls), kLeastShare * call_us);
}

}  // namespace warpsmith::judge
