#include "comparison_shape.h"

#include <cmath>

#include "judge/statistics.h"

namespace warpsmith::cli {
namespace {

// The three that are compared, of one mode.
struct Contest {
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

Result<Contest> ContestOf(const ShapeTerms& terms, const Timing& timing, Mode mode) {
  for (const ModeTiming& measured : timing.modes) {
    if (measured.mode != mode) continue;
    const Contest contest{&measured.candidate, FindBaseline(measured, terms.library),
                          FindBaseline(measured, hgemm::kBar)};
    if (contest.library != nullptr && contest.bar != nullptr) return contest;
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
    const Contest contest = TRY(ContestOf(terms, timing, mode));
    measured.shape.modes[i] = {mode,
                               contest.kernel->median_us,
                               contest.library->median_us,
                               contest.bar->median_us,
                               TRY(Paired(terms, *contest.bar, *contest.kernel, confidence)),
                               TRY(Paired(terms, *contest.bar, *contest.library, confidence))};
    measured.samples += SampleLines(sizes, mode, "kernel", *contest.kernel);
    measured.samples += SampleLines(sizes, mode, "ours", *contest.library);
    measured.samples += SampleLines(sizes, mode, "lt_auto", *contest.bar);
  }
  return measured;
}

}  // namespace warpsmith::cli
