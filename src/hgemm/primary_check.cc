#include "hgemm/primary_check.h"

#include <cstdint>
#include <utility>

#include "base/sha256.h"

namespace warpsmith::hgemm {

bool IsViolation(const PairedRatio& primary_over_other) {
  return primary_over_other.interval.lo > 1 + kPrimaryBand;
}

bool IsViolationUnpaired(double primary_us, double other_us) {
  return primary_us > other_us * (1 + kUnpairedBand);
}

PrimaryCheck CheckOf(int others, int choices, std::vector<BesidePrimary> measured) {
  std::erase_if(measured, [](const BesidePrimary& one) { return !IsViolation(one.ratio); });
  return {others, choices, std::move(measured)};
}

bool IsDrawnForPrimaryCheck(const Problem& problem, int one_in) {
  if (one_in <= 0) return false;
  const std::string hash = Sha256Hex("beside the bar: " + NameOf(problem));
  return std::stoull(hash.substr(0, 8), nullptr, 16) % static_cast<uint64_t>(one_in) == 0;
}

std::string Text(const PrimaryStanding& standing) {
  if (standing.checked == 0) return "bar: not checked beside NVIDIA's other ways: not a headline";
  std::string text = "bar: checked beside NVIDIA's other ways on " +
                     std::to_string(standing.checked) + " of " + std::to_string(standing.shapes) +
                     " shapes, chosen again on " + std::to_string(standing.chosen_again) + ", " +
                     std::to_string(standing.violations) +
                     (standing.violations == 1 ? " violation" : " violations");
  if (standing.IsHeadline()) return text;
  return text + (standing.violations > 0 ? "" : " on fewer than one shape in ten") +
         ": not a headline";
}

}  // namespace warpsmith::hgemm
