#include "comparison_shape.h"

#include <cmath>
#include <utility>

#include "judge/statistics.h"

namespace warpsmith::cli {
namespace {

// The three that are compared, of one mode.
struct Contenders {
  const ModeTiming* timing = nullptr;
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
    const Contenders all{&measured, &measured.candidate,
                         FindBaseline(measured, terms.library_baseline),
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

Status AddPlain(const ShapeTerms& terms, const ModeTiming& timing, const ContenderTiming& bar,
                double confidence, hgemm::ModeComparison& mode, std::string& samples) {
  if (terms.plain.empty()) return {};
  if (terms.plain == kItself) {
    mode.plain_us = mode.kernel_us;
    mode.plain = mode.kernel;
    return {};
  }
  const ContenderTiming* plain = FindBaseline(timing, terms.plain);
  if (plain == nullptr) {
    return Error{ErrorCode::kNothingMeasured,
                 hgemm::SizesText(terms.problem) + ": " + terms.plain + " was not measured", ""};
  }
  mode.plain_us = plain->median_us;
  mode.plain = TRY(Paired(terms, bar, *plain, confidence));
  samples += SampleLines({terms.problem.m, terms.problem.n, terms.problem.k}, timing.mode, "plain",
                         *plain);
  return {};
}

// The bar's time over each of the others', and their samples.
Status AddBeside(const ShapeTerms& terms, const ModeTiming& timing, const ContenderTiming& bar,
                 double confidence, std::vector<hgemm::BesideBar>& measured, std::string& samples) {
  const Sizes sizes = {terms.problem.m, terms.problem.n, terms.problem.k};
  for (const std::string& name : terms.beside) {
    const ContenderTiming* other = FindBaseline(timing, name);
    if (other == nullptr) {
      return Error{ErrorCode::kNothingMeasured,
                   hgemm::SizesText(terms.problem) + ": " + name + " was not measured", ""};
    }
    measured.push_back({timing.mode, name, TRY(Paired(terms, bar, *other, confidence))});
    samples += SampleLines(sizes, timing.mode, name, *other);
  }
  return {};
}

}  // namespace

Result<MeasuredShape> ShapeOf(const ShapeTerms& terms, const Timing& timing, double confidence) {
  MeasuredShape measured;
  measured.shape.problem = terms.problem;
  measured.shape.choice = terms.choice;
  measured.shape.floor_us = terms.floor_us;
  const Sizes sizes = {terms.problem.m, terms.problem.n, terms.problem.k};
  std::vector<hgemm::BesideBar> beside;
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
    TRY(AddPlain(terms, *contenders.timing, *contenders.bar, confidence, measured.shape.modes[i],
                 measured.samples));
    TRY(AddBeside(terms, *contenders.timing, *contenders.bar, confidence, beside,
                  measured.samples));
  }
  if (!terms.beside.empty()) {
    const auto others = static_cast<int>(terms.beside.size());
    measured.shape.bar_check = hgemm::CheckOf(others, 1, std::move(beside));
  }
  return measured;
}

}  // namespace warpsmith::cli
