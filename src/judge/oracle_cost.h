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
  double slot_us = 0;  // one output slot read after the last call
  double move_us = 0;  // two contents of every input changing places
};
// Of each part the smaller: disturbances only add.
OracleCost Least(const OracleCost& a, const OracleCost& b);

// What a burst held beside its calls.
struct OracleWork {
  size_t looks = 0, slots = 0, moves = 0;
  size_t calls = 0;
};

// The share of `call_us` (all of a burst over its calls) that was the oracle's.
double OracleShare(double call_us, const OracleWork& work, const OracleCost& cost);

// A call's time without the oracle's work, and then without the hand-over, which takes at most half
// of what is left. At least a twentieth of `call_us` before that.
double NetUs(double call_us, const OracleWork& work, const OracleCost& cost, double hand_over_us);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_ORACLE_COST_H_
