#include "hgemm/cost_model.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>

#include "hgemm/workload_traits.h"

namespace warpsmith::hgemm {
namespace {

// An H200, fitted to what was measured on it (docs/perf.md). Other devices differ in all of
// these by similar factors, which the order does not feel.
constexpr double kCyclesPerUs = 2190;
constexpr double kShareOfFour = 0.875;
constexpr double kShareOfEight = 0.882;
constexpr double kShareOfSixteen = 0.779;
constexpr double kGraphNodeUs = 1.01;
constexpr double kL2BytesPerCycleSm = 31.4;         // what one SM's threads draw
constexpr double kTmaBytesPerCycleSm = 92.3;        // and its TMA
constexpr double kMulticastBytesPerCycleSm = 50.2;  // of what another CTA of the cluster asked for
// An SM whose neighbour of the same TPC has nothing to do draws that much faster.
constexpr double kIdleNeighbourGain = 0.565;
constexpr double kL2BytesPerUs = 4.37e7;  // what all draw together
constexpr double kNearBytes = 1.68e7;     // of operands that lie in the near half of L2
constexpr double kFarther = 0.908;        // what reads from the farther half take longer
constexpr double kHbmBytesPerUs = 6.21e6;
constexpr double kUnstreamedC = 1.42;  // of C's bytes, where it does not leave L2 first
constexpr double kHotBytes = 1.72e7;   // that stay in L2 from launch to launch; of twice that, none
constexpr double kSustainedFlopPerUs = 1.63e9;  // where the power limit holds random data
constexpr double kReadPower = 2.84;   // of a byte read for every product, as a share of the time
constexpr double kEvenGain = 0.0189;  // of even rounds
// How the bounds below the largest are felt, too: 1 would add all of them up, infinity leave the
// largest alone. The rates of the device's bounds are therefore larger than each is by itself.
constexpr double kSmNorm = 3.55, kDeviceNorm = 1.5;

double AsDouble(int64_t value) { return static_cast<double>(value); }

double CeilRatio(int64_t a, int64_t b) { return AsDouble((a + b - 1) / b); }

// SMs that clusters can fill. A cluster stays within a GPC, and GPCs differ in size (up to 18 SMs),
// so that larger clusters leave more of them idle: on an H200, 128 CTAs in clusters of four take a
// second round.
int64_t UsableSms(int64_t cluster, const Target& target) {
  const double share = cluster <= 2   ? 1
                       : cluster <= 4 ? kShareOfFour
                       : cluster <= 8 ? kShareOfEight
                                      : kShareOfSixteen;
  return std::max<int64_t>(1, static_cast<int64_t>(share * AsDouble(target.sm_count)));
}

// Somewhat more than the largest bound.
double Together(std::initializer_list<double> bounds, double norm) {
  const double largest = std::max(bounds);
  double sum = 0;
  for (const double bound : bounds) sum += std::pow(bound / largest, norm);
  return largest * std::pow(sum, 1 / norm);
}

// Cycles that a CTA's loads take the SM. Two SMs share a port: where CTAs are few, each has one of
// its own.
double LoadCycles(const Traits& t, const Target& target) {
  if (!t.loads_by_tma) return t.l2_bytes / kL2BytesPerCycleSm;
  const double alone = std::clamp(2 - 2 * AsDouble(t.ctas) / AsDouble(target.sm_count), 0.0, 1.0);
  return (t.l2_bytes / kTmaBytesPerCycleSm +
          (t.received_bytes - t.l2_bytes) / kMulticastBytesPerCycleSm) /
         (1 + kIdleNeighbourGain * alone);
}

// Time of the busiest SM, whose CTAs share its units but each wait for their own loads.
double SmCycles(const Traits& t, const Target& target) {
  const double on_busiest = CeilRatio(t.ctas, UsableSms(t.cluster, target));
  const double rounds = CeilRatio(static_cast<int64_t>(on_busiest), t.resident_per_sm);
  const double throughput = Together({t.tensor_cycles, LoadCycles(t, target)}, kSmNorm);
  // A cluster of sixteen takes a GPC nearly whole: the next begins when it has ended.
  const double share = t.cluster <= 8 ? t.exposed_epilogue : 1;
  const double exposed = share * (rounds - 1);
  return Together({on_busiest * throughput, rounds * t.chain_cycles}, kSmNorm) +
         (1 + exposed * t.later_ramp) * t.ramp_cycles + (1 + exposed) * t.epilogue_cycles;
}

// Bytes that come from HBM: everything once, and the operands again for every patch of tiles that
// runs together, as far as they do not fit in L2.
double HbmBytes(const Problem& problem, const Target& target, const Traits& t) {
  const double a = 2.0 * AsDouble(problem.m * problem.k), b = 2.0 * AsDouble(problem.k * problem.n);
  // C that stays in L2 pushes operands out.
  const double c = 2.0 * AsDouble(problem.m * problem.n) * (t.streams_c ? 1 : kUnstreamedC);
  const double cold = std::clamp((a + b + c) / kHotBytes - 1, 0.0, 1.0);
  const double concurrent = AsDouble(target.sm_count * t.resident_per_sm);
  const double rows = std::min(AsDouble(t.raster_group), CeilRatio(problem.m, t.tile_m));
  const double columns = std::min(concurrent / rows, CeilRatio(problem.n, t.tile_n));
  const double patches = std::max(1.0, AsDouble(t.ctas) / concurrent);
  const double patch_bytes =
      2.0 * AsDouble(problem.k) * (rows * AsDouble(t.tile_m) + columns * AsDouble(t.tile_n));
  // Half of what a patch needs is still there from the one before.
  return c + cold * std::max(a + b, 0.5 * patches * patch_bytes);
}

// Times as long as reads of few bytes take those of operands that no longer fit beside the launch
// before's: they come from L2's farther half, or from beyond.
double FarInL2(const Problem& problem) {
  const double operands = 2.0 * AsDouble(problem.k * (problem.m + problem.n));
  const double far = (operands - kNearBytes) / (kHotBytes - kNearBytes);
  return 1 + kFarther * std::clamp(far, 0.0, 1.0);
}

bool Has(const Point& point, std::string_view parameter, int64_t at_least) {
  const auto found = point.config.find(parameter);
  return found != point.config.end() && found->second >= at_least;
}

// Where power is the limit for long, clocks fall with what moves beside the products: operands are
// read into the SMs once for every tile that needs them, and fewer SMs at work leave more to each.
double PowerFactor(const Problem& problem, const Traits& t, bool even_rounds) {
  constexpr double kLeastFlop = int64_t{1} << 36;
  constexpr int64_t kLeastK = 2048;
  if (2.0 * AsDouble(problem.m * problem.n) * AsDouble(problem.k) < kLeastFlop) return 1;
  if (problem.k < kLeastK) return 1;
  const double reads = 1 / AsDouble(t.tile_m) + 1 / AsDouble(t.tile_n);
  return (1 + kReadPower * reads) * (even_rounds ? 1 - kEvenGain : 1);
}

}  // namespace

double PredictUs(const Problem& problem, const Target& target, const Point& point) {
  const std::optional<Traits> traits = TraitsOf(problem, target, point);
  if (!traits) return std::numeric_limits<double>::infinity();
  const double flop = 2.0 * AsDouble(problem.m) * AsDouble(problem.n) * AsDouble(problem.k);
  const double bound = Together(
      {
          SmCycles(*traits, target) / kCyclesPerUs,
          (traits->ramp_cycles + traits->epilogue_cycles) / kCyclesPerUs +
              HbmBytes(problem, target, *traits) / kHbmBytesPerUs,
          AsDouble(traits->ctas) * traits->l2_bytes * FarInL2(problem) / kL2BytesPerUs,
          flop / kSustainedFlopPerUs,
      },
      kDeviceNorm);
  const double power = PowerFactor(problem, *traits, Has(point, "even_rounds", 1));
  return kGraphNodeUs + bound * power + traits->extra_us;
}

std::string ArmOf(const Problem& problem, const Target& target, const Point& point) {
  const std::optional<Traits> traits = TraitsOf(problem, target, point);
  if (!traits) return point.family;
  std::string arm =
      point.family + " " + std::to_string(traits->tile_m) + "x" + std::to_string(traits->tile_n);
  if (Has(point, "slices", 2)) arm += " sliced";
  if (Has(point, "ping_pong", 1)) arm += " in turns";
  if (Has(point, "direct_load", 1)) arm += " direct";
  return arm;
}

}  // namespace warpsmith::hgemm
