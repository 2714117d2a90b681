// Is the bar the strongest that NVIDIA's libraries offer? Whatever of theirs is measured beside it
// must not be faster than it, beyond the noise.
#ifndef WARPSMITH_HGEMM_PRIMARY_CHECK_H_
#define WARPSMITH_HGEMM_PRIMARY_CHECK_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol.h"
#include "core/verdict.h"
#include "hgemm/problem.h"

namespace warpsmith::hgemm {

// One time over another, paired in the same rounds: above 1 the other is faster.
struct PairedRatio {
  double value = 0;
  Interval interval;  // 0 < lo <= value <= hi, finite
};

// What is that much faster at most is called the same, as in a verdict (Protocol::band).
inline constexpr double kPrimaryBand = 0.01;
// Of a time that was not paired with the bar's in its rounds (torch.matmul's).
inline constexpr double kUnpairedBand = 0.05;

// Another way of NVIDIA's, in one mode: the bar's time over its.
struct BesidePrimary {
  Mode mode = Mode::kDeviceHot;
  std::string name;  // "cublas-tn"
  PairedRatio ratio;
};

// Shown to be faster than the bar: its whole interval lies above the band.
bool IsViolation(const PairedRatio& primary_over_other);
bool IsViolationUnpaired(double primary_us, double other_us);

// One shape whose rounds held others beside the bar.
struct PrimaryCheck {
  int others = 0;   // contenders of NVIDIA's beside the bar
  int choices = 1;  // how often the bar was chosen: 2 where the first was found too slow
  std::vector<BesidePrimary> violations;  // that are left
};
// Keeps those that violate.
PrimaryCheck CheckOf(int others, int choices, std::vector<BesidePrimary> measured);

// Whether a shape is one of those whose rounds hold the others: one in `one_in`, drawn by its
// hash, so that nobody picks them and the same command draws the same. 0: none is.
bool IsDrawnForPrimaryCheck(const Problem& problem, int one_in);

// Of a table: what its bar is worth.
struct PrimaryStanding {
  size_t shapes = 0, checked = 0, chosen_again = 0, violations = 0;
  // At least one shape in ten was checked, and nothing was found.
  bool IsHeadline() const { return shapes > 0 && violations == 0 && 10 * checked >= shapes; }
};
// One line for a person, without its end.
std::string Text(const PrimaryStanding& standing);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_PRIMARY_CHECK_H_
