// What the oracle's own work within a burst takes, and a call's time without it. Where outputs are
// large, verifying one takes longer than a call that writes it.
#ifndef WARPSMITH_JUDGE_ORACLE_COST_H_
#define WARPSMITH_JUDGE_ORACLE_COST_H_

#include <cstddef>

namespace warpsmith::judge {

// Microseconds, measured while no candidate's process is there: who keeps the device busy while it
// is looked at pays for what that takes longer.
struct OracleCost {
  double look_us = 0;  // one output verified
  double end_us = 0;   // every output slot read after the last call
};

// What a burst held beside its calls.
struct OracleWork {
  size_t looks = 0;
  size_t calls = 0;
};

// `call_us`: all of a burst over its calls. At least a twentieth of it.
double WithoutOracle(double call_us, const OracleWork& work, const OracleCost& cost);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_ORACLE_COST_H_
