#include "agent/knowledge/tally.h"

#include <algorithm>
#include <numeric>

namespace warpsmith::knowledge {

Tally TallyOf(const Outcome& outcome) {
  Tally tally;
  if (outcome.failure) {
    tally.failures.at(static_cast<size_t>(*outcome.failure)) = 1;
  } else if (outcome.log_gain) {
    const int64_t gain_e5 = GainE5(*outcome.log_gain);
    tally.measured = 1;
    tally.sum_e5 = gain_e5;
    tally.squares_e10 = gain_e5 * gain_e5;
  }
  return tally;
}

Tally operator+(const Tally& a, const Tally& b) {
  Tally sum{a.measured + b.measured, a.sum_e5 + b.sum_e5, a.squares_e10 + b.squares_e10, {}};
  for (size_t i = 0; i < kFailures; ++i) sum.failures[i] = a.failures[i] + b.failures[i];
  return sum;
}

Tally operator-(const Tally& whole, const Tally& part) {
  Tally rest{whole.measured - part.measured,
             whole.sum_e5 - part.sum_e5,
             whole.squares_e10 - part.squares_e10,
             {}};
  for (size_t i = 0; i < kFailures; ++i) rest.failures[i] = whole.failures[i] - part.failures[i];
  return rest;
}

int64_t Failed(const Tally& tally) {
  return std::accumulate(tally.failures.begin(), tally.failures.end(), int64_t{0});
}

int64_t Attempts(const Tally& tally) { return tally.measured + Failed(tally); }

double MeanLogGain(const Tally& tally) {
  if (tally.measured == 0) return 0;
  return static_cast<double>(tally.sum_e5) * 1e-5 / static_cast<double>(tally.measured);
}

double VarianceLogGain(const Tally& tally) {
  if (tally.measured < 2) return 0;
  const auto n = static_cast<double>(tally.measured);
  const double mean = MeanLogGain(tally);
  const double squares = static_cast<double>(tally.squares_e10) * 1e-10;
  return std::max(0.0, squares - n * mean * mean) / (n - 1);
}

Statistics StatisticsOf(std::span<const Outcome> outcomes) {
  Statistics statistics;
  for (const Outcome& outcome : outcomes) {
    Tally& tally = statistics[{outcome.state, outcome.technique, outcome.context}];
    tally = tally + TallyOf(outcome);
  }
  return statistics;
}

}  // namespace warpsmith::knowledge
