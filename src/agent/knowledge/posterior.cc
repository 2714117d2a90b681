#include "agent/knowledge/posterior.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace warpsmith::knowledge {
namespace {

struct Discount {
  std::string_view respect;
  double factor = 1, cap = 1;
};
// In the order of Differences' bits; posterior.h explains.
constexpr std::array<Discount, 5> kDiscounts = {{{"previous", 0.5, 32},
                                                 {"toolchain", 0.9, 64},
                                                 {"dtype", 0.5, 16},
                                                 {"architecture", 0.25, 8},
                                                 {"state", 0.5, 16}}};
constexpr size_t kClasses = size_t{1} << kDiscounts.size();
constexpr double kCoarserPrior = 0.5;

// One bit a respect in which the cell differs from the situation; 0: none.
size_t Differences(const Situation& situation, const CellKey& key) {
  const Context& here = situation.context;
  const Context& there = key.context;
  return static_cast<size_t>(there.previous != here.previous) |
         static_cast<size_t>(there.toolchain != here.toolchain) << 1U |
         static_cast<size_t>(there.dtype != here.dtype) << 2U |
         static_cast<size_t>(there.architecture != here.architecture) << 3U |
         static_cast<size_t>(key.state != situation.state) << 4U;
}

// What each of `attempts` counts.
double WeightOf(size_t differences, int64_t attempts) {
  if (differences == 0) return 1;
  double factor = 1, cap = 1e9;
  for (size_t i = 0; i < kDiscounts.size(); ++i) {
    if ((differences >> i & 1U) == 0) continue;
    factor *= kDiscounts[i].factor;
    cap = std::min(cap, kDiscounts[i].cap);
  }
  return factor / (1 + factor * static_cast<double>(attempts) / cap);
}

using Classes = std::array<Tally, kClasses>;

Classes ClassesOf(const Situation& situation, std::span<const Cell> cells) {
  const std::string coarser = CoarserState(situation.state);
  Classes classes = {};
  for (const Cell& cell : cells) {
    if (cell.key.state != situation.state && cell.key.state != coarser) continue;
    Tally& tally = classes.at(Differences(situation, cell.key));
    tally = tally + cell.tally;
  }
  return classes;
}

// `n` observations of that mean, `deviations` = the sum of their squared distances from it.
void Observe(Posterior* posterior, double n, double mean, double deviations) {
  if (n <= 0) return;
  const double kappa = posterior->kappa + n;
  const double distance = mean - posterior->mean;
  posterior->beta += deviations / 2 + posterior->kappa * n * distance * distance / (2 * kappa);
  posterior->mean = (posterior->kappa * posterior->mean + n * mean) / kappa;
  posterior->kappa = kappa;
  posterior->alpha += n / 2;
}

void Observe(Posterior* posterior, const Tally& tally, double weight) {
  const auto measured = static_cast<double>(tally.measured);
  Observe(posterior, weight * measured, MeanLogGain(tally),
          weight * VarianceLogGain(tally) * std::max(0.0, measured - 1));
  posterior->successes += weight * measured;
  posterior->failures += weight * static_cast<double>(Failed(tally));
  posterior->effective += weight * static_cast<double>(Attempts(tally));
}

void Observe(Posterior* posterior, const Prior& prior, double factor) {
  const double weight = prior.weight * factor;
  Observe(posterior, weight, prior.mean_log_gain, weight * prior.sd_log_gain * prior.sd_log_gain);
  posterior->successes += weight * prior.success;
  posterior->failures += weight * (1 - prior.success);
  posterior->prior_weight += weight;
}

void ObservePriors(Posterior* posterior, const std::string& state, std::span<const Prior> priors) {
  const std::string coarser = CoarserState(state);
  const auto of = [&](std::string_view name) {
    return std::find_if(priors.begin(), priors.end(),
                        [&](const Prior& prior) { return prior.state == name; });
  };
  if (const auto own = of(state); own != priors.end()) {
    Observe(posterior, *own, 1);
  } else if (const auto theirs = of(coarser); theirs != priors.end()) {
    Observe(posterior, *theirs, kCoarserPrior);
  }
}

double Value(double success, double log_gain) {
  return log_gain > 0 ? success * log_gain : log_gain;
}

}  // namespace

Posterior PosteriorOf(const Situation& situation, std::span<const Cell> cells,
                      std::span<const Prior> priors) {
  Posterior posterior;
  ObservePriors(&posterior, situation.state, priors);
  const Classes classes = ClassesOf(situation, cells);
  posterior.here = classes[0];
  for (size_t differences = 0; differences < kClasses; ++differences) {
    const Tally& tally = classes.at(differences);
    Observe(&posterior, tally, WeightOf(differences, Attempts(tally)));
    if (differences != 0) posterior.elsewhere += Attempts(tally);
  }
  return posterior;
}

std::vector<EvidenceClass> EvidenceClasses(const Situation& situation,
                                           std::span<const Cell> cells) {
  const Classes classes = ClassesOf(situation, cells);
  std::vector<EvidenceClass> evidence;
  for (size_t differences = 0; differences < kClasses; ++differences) {
    const Tally& tally = classes.at(differences);
    if (Attempts(tally) == 0) continue;
    EvidenceClass one{{}, tally, WeightOf(differences, Attempts(tally))};
    for (size_t i = 0; i < kDiscounts.size(); ++i) {
      if ((differences >> i & 1U) != 0) one.differs.push_back(kDiscounts.at(i).respect);
    }
    evidence.push_back(std::move(one));
  }
  std::stable_sort(evidence.begin(), evidence.end(),
                   [](const EvidenceClass& a, const EvidenceClass& b) {
                     return a.differs.size() < b.differs.size();
                   });
  return evidence;
}

double SuccessProbability(const Posterior& posterior) {
  return posterior.successes / (posterior.successes + posterior.failures);
}

double ExpectedValue(const Posterior& posterior) {
  return Value(SuccessProbability(posterior), posterior.mean);
}

double SampledValue(const Posterior& posterior, Random& random) {
  const double variance = posterior.beta / DrawGamma(posterior.alpha, random);
  const double mean = posterior.mean + random.Normal() * std::sqrt(variance / posterior.kappa);
  const double successes = DrawGamma(posterior.successes, random);
  const double failures = DrawGamma(posterior.failures, random);
  return Value(successes / (successes + failures), mean);
}

double DrawGamma(double shape, Random& random) {
  CHECK(shape >= 1);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.Normal();
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    const double u = 1 - random.Uniform();  // in (0, 1]
    if (std::log(u) < x * x / 2 + d * (1 - v + std::log(v))) return d * v;
  }
}

std::vector<Choice> Draw(std::span<const Belief> beliefs, const Blocked& blocked, size_t k,
                         Random& random) {
  std::map<std::string_view, const Posterior*> candidates;
  for (const Belief& belief : beliefs) {
    if (!blocked.contains(belief.technique)) {
      candidates.emplace(belief.technique, &belief.posterior);
    }
  }
  std::vector<Choice> choices;
  for (const auto& [technique, posterior] : candidates) {
    const double sampled = SampledValue(*posterior, random);
    choices.push_back({std::string(technique), sampled, ExpectedValue(*posterior)});
  }
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return a.sampled_value > b.sampled_value;
  });
  if (choices.size() > k) choices.resize(k);
  return choices;
}

}  // namespace warpsmith::knowledge
