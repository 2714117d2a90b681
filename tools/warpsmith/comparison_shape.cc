#include "comparison_shape.h"

#include <cmath>

#include "judge/statistics.h"

namespace warpsmith::cli {
namespace {

// The three that are compared, of one mode.
struct Contenders {
  const ContenderTiming* kernel = nullptr;
  const ContenderTiming* library = nullptr;
  const ContenderTiming* bar = nullptr;
};

const ContenderTiming* FindBaseline(const ModeTiming& timing, std::string_view name) {
  for (const ContenderTiming& baseline : timing.baselines) {
    if (baseline.name == name) return &baseline;
  }
  return nullptr;
}

Result<Contenders> ContendersOf(const ShapeTerms& terms, const Timing& timing, Mode mode) {
  for (const ModeTiming& measured : timing.modes) {
    if (measured.mode != mode) continue;
    const Contenders all{&measured.candidate, FindBaseline(measured, terms.library_baseline),
                         FindBaseline(measured, hgemm::kBar)};
    if (all.library != nullptr && all.bar != nullptr) return all;
  }
  return Error{ErrorCode::kNothingMeasured,
               hgemm::SizesText(terms.problem) +
                   ": the library and cuBLASLt were not both measured in "
                   "mode " +
                   std::string(Name(mode)),
               "run the same command again: it goes on with what is missing"};
}

// Straight from the rounds in which both were timed, so that what disturbs both cancels.
Result<hgemm::PairedRatio> Paired(const ShapeTerms& terms, const ContenderTiming& bar,
                                  const ContenderTiming& ours, double confidence) {
  const judge::Estimate estimate =
      judge::EstimateOf(judge::PairedLogRatios(bar.samples, ours.samples), confidence);
  if (std::isfinite(judge::HalfWidth(estimate))) return {{estimate.value, estimate.interval}};
  return Error{ErrorCode::kNothingMeasured,
               hgemm::SizesText(terms.problem) + ": fewer than two rounds of " + ours.name,
               "run the same command again: it goes on with what is missing"};
}

}  // namespace

Result<MeasuredShape> ShapeOf(const ShapeTerms& terms, const Timing& timing, double confidence) {
  MeasuredShape measured;
  measured.shape.problem = terms.problem;
  measured.shape.choice = terms.choice;
  measured.shape.floor_us = terms.floor_us;
  const Sizes sizes = {terms.problem.m, terms.problem.n, terms.problem.k};
  for (size_t i = 0; i < hgemm::kComparedModes.size(); ++i) {
    const Mode mode = hgemm::kComparedModes[i];
    const Contenders contenders = TRY(ContendersOf(terms, timing, mode));
    measured.shape.modes[i] = {
        mode,
        contenders.kernel->median_us,
        contenders.library->median_us,
        contenders.bar->median_us,
        TRY(Paired(terms, *contenders.bar, *contenders.kernel, confidence)),
        TRY(Paired(terms, *contenders.bar, *contenders.library, confidence))};
    measured.samples += SampleLines(sizes, mode, "kernel", *contenders.kernel);
    measured.samples += SampleLines(sizes, mode, "ours", *contenders.library);
    measured.samples += SampleLines(sizes, mode, "lt_auto", *contenders.bar);
  }
  return measured;
}

}  // namespace warpsmith::cli
