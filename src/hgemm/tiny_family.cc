#include "hgemm/tiny_family.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "hgemm/family_parts.h"

namespace warpsmith::hgemm {
namespace {

constexpr char kTinyName[] = "tiny";
constexpr int64_t kStaticSharedBytes = 48 * 1024;

using Tiny = TinyParameters;
constexpr Parameter<Tiny> kTinyTable[] = {{"warp_m", &Tiny::warp_m},
                                          {"warp_n", &Tiny::warp_n},
                                          {"tile_warps_m", &Tiny::tile_warps_m},
                                          {"tile_warps_n", &Tiny::tile_warps_n},
                                          {"slice_warps", &Tiny::slice_warps},
                                          {"cluster_slices", &Tiny::cluster_slices},
                                          {"unroll", &Tiny::unroll},
                                          {"accumulators", &Tiny::accumulators},
                                          {"permute", &Tiny::permute, 0},
                                          {"overlap", &Tiny::overlap, 0}};

int64_t KBlocksPerWarp(const Problem& problem, const TinyParameters& p) {
  return problem.k / (32 * p.slice_warps * p.cluster_slices);
}

// Registers that hold operands and sums. What the compiler adds is in the limits of FitsRegisters.
int64_t DataRegisters(const Problem& problem, const TinyParameters& p) {
  const int64_t i = p.warp_m / 16, j = p.warp_n / 8;
  const int64_t b_words = p.permute ? 8 * std::max<int64_t>(1, j / 2) : 4 * j;
  const int64_t batches = KBlocksPerWarp(problem, p) > p.unroll ? 2 : 1;
  return p.unroll * batches * (8 * i + b_words) + p.accumulators * i * j * 4;
}

// Limits seen to compile without spills: a second batch in flight takes addresses, too.
bool FitsRegisters(const Problem& problem, const TinyParameters& p) {
  const int64_t registers = DataRegisters(problem, p);
  const bool one_batch = KBlocksPerWarp(problem, p) <= p.unroll;
  const int64_t limit = one_batch ? 176 : p.unroll <= 2 ? 160 : 136;
  return registers <= limit && (registers + 40) * TinyThreads(p) <= 65536;
}

int64_t StaticSharedBytes(const TinyParameters& p) {
  const int64_t copies = (p.slice_warps > 1 ? p.slice_warps : 0) + (p.cluster_slices > 1 ? 1 : 0);
  return copies * p.warp_m * p.tile_warps_m * p.warp_n * p.tile_warps_n * 4;
}

bool Divides(int64_t part, int64_t whole) { return whole % part == 0; }

bool DividesProblem(const Problem& problem, const TinyParameters& p) {
  const int64_t piece = p.warp_n == 8 ? 2 : 4;  // floats a lane exchanges at once
  const int64_t tile = p.warp_m * p.tile_warps_m * p.warp_n * p.tile_warps_n;
  return Divides(p.warp_m * p.tile_warps_m, problem.m) &&
         Divides(p.warp_n * p.tile_warps_n, problem.n) &&
         Divides(32 * p.slice_warps * p.cluster_slices * p.unroll, problem.k) &&
         Divides(p.cluster_slices, tile / piece);
}

// Of the legal ones, those worth a measurement.
bool IsPlausibleTiny(const Problem& problem, const Target& target, const TinyParameters& p) {
  const int64_t ctas = TinyCtas(problem, p), blocks = KBlocksPerWarp(problem, p);
  const int64_t tile_warps = p.tile_warps_m * p.tile_warps_n;
  if (ctas > 8 * target.sm_count) return false;
  if (ctas * TinyThreads(p) > int64_t{32} * 32 * target.sm_count) return false;
  if (blocks > (problem.k > 2048 ? 16 : 8)) return false;  // a chain of round trips to memory
  if (blocks > 1 && p.unroll == 1) return false;
  if (blocks < 2 && p.accumulators == 2) return false;  // one step each: nothing to shorten
  if (p.cluster_slices > 1 && problem.k < 1024) return false;
  return tile_warps <= 4 || p.slice_warps <= 2;
}

std::vector<Tiny> WarpTiles() {
  std::vector<Tiny> all;
  for (const auto& [m, n] : std::initializer_list<std::pair<int, int>>{
           {16, 8}, {16, 16}, {16, 32}, {32, 16}, {32, 32}}) {
    all.push_back({.warp_m = m, .warp_n = n});
  }
  all = Extend(all, &Tiny::tile_warps_m, {1, 2, 4});
  return Extend(all, &Tiny::tile_warps_n, {1, 2, 4});
}

// Every way to split K and to hold it in flight, for one warp tile.
std::vector<Tiny> Splits(const Tiny& tile) {
  std::vector<Tiny> all = Extend({tile}, &Tiny::slice_warps, {1, 2, 4, 8, 16});
  all = Extend(all, &Tiny::cluster_slices, {1, 8, 16});
  all = Extend(all, &Tiny::unroll, {1, 2, 4, 8});
  all = Extend(all, &Tiny::accumulators, {1, 2});
  return Extend(all, &Tiny::permute, {0, 1});
}

// As launches follow each other. 1 lets the next one begin at once, which is best where it finds
// idle SMs in plenty, and crowds it on the last few where it does not.
std::vector<Tiny> Overlaps(const Problem& problem, const Target& target, Tiny p) {
  if (!target.overlap || target.compute_capability < 90) return {p};
  p.overlap = 2;
  std::vector<Tiny> all = {p};
  p.overlap = 1;
  if (2 * TinyCtas(problem, p) <= target.sm_count) all.push_back(p);
  return all;
}

std::string TinySource(const Problem& problem, const TinyParameters& p) {
  const char* access = problem.layout == Layout::kTN ? "kColumnMajor"
                       : p.permute                   ? "kRowMajorPermute"
                                                     : "kRowMajorMovmatrix";
  std::ostringstream s;
  s << "#include \"tiny.cuh\"\n\n"
    << "using warpsmith::hgemm::half_t;\n"
    << "namespace family = warpsmith::hgemm::tiny;\n\n"
    << "struct Config {\n"
    << "  static constexpr int kM = " << problem.m << ", kN = " << problem.n
    << ", kK = " << problem.k << ";\n"
    << "  static constexpr family::BAccess kBAccess = family::BAccess::" << access << ";\n"
    << "  static constexpr int kWarpM = " << p.warp_m << ", kWarpN = " << p.warp_n << ";\n"
    << "  static constexpr int kTileWarpsM = " << p.tile_warps_m
    << ", kTileWarpsN = " << p.tile_warps_n << ";\n"
    << "  static constexpr int kSliceWarps = " << p.slice_warps
    << ", kClusterSlices = " << p.cluster_slices << ";\n"
    << "  static constexpr int kUnroll = " << p.unroll << ", kAccumulators = " << p.accumulators
    << ";\n"
    << "  static constexpr bool kBf16 = " << (problem.dtype == DType::kBF16) << ";\n"
    << "  static constexpr int kOverlap = " << p.overlap << ";\n};\n\n"
    << "extern \"C\" __global__ __launch_bounds__(family::Threads<Config>(), 1) void hgemm(\n"
    << "    const half_t* a, const half_t* b, half_t* c) {\n"
    << "  family::Run<Config>(a, b, c);\n}\n";
  return s.str();
}

// Beside what the kernel has of its own.
int64_t SpreadBytes(const Problem& problem, const Tiny& p) {
  if (p.overlap != 2) return 0;
  return std::max<int64_t>(0, SpreadSharedBytes(TinyCtas(problem, p)) - StaticSharedBytes(p));
}

LaunchPlan TinyPlan(const Problem& problem, const TinyParameters& p) {
  const auto constant = [](int64_t value) { return Expression::Constant(value); };
  const std::string valid_when = "M == " + std::to_string(problem.m) +
                                 " && N == " + std::to_string(problem.n) +
                                 " && K == " + std::to_string(problem.k);
  LaunchOperation launch{
      .kernel = "hgemm",
      .grid = {constant(TinyCtas(problem, p)), constant(1), constant(1)},
      .block = {constant(TinyThreads(p)), constant(1), constant(1)},
      .cluster = {constant(p.cluster_slices), constant(1), constant(1)},
      .shared_bytes = constant(SpreadBytes(problem, p)),
      .programmatic = p.overlap != 0,
      .nonportable_cluster = p.cluster_slices > 8,
      .arguments = {TensorArgument{"A"}, TensorArgument{"B"}, TensorArgument{"C"}},
  };
  LaunchPlan plan;
  plan.valid_when = Expression::Literal(valid_when);
  plan.operations.emplace_back(std::move(launch));
  return plan;
}

}  // namespace

Config ToConfig(const TinyParameters& p) { return ConfigOf<TinyParameters>(p, kTinyTable); }

Config LeastOfTiny() { return LeastOf<TinyParameters>(kTinyTable); }

TinyParameters TinyFromConfig(const Config& config) {
  return ParametersOf<TinyParameters>(config, kTinyTable);
}

int64_t TinyThreads(const TinyParameters& p) {
  return 32 * p.tile_warps_m * p.tile_warps_n * p.slice_warps;
}

int64_t TinyCtas(const Problem& problem, const TinyParameters& p) {
  return problem.m / (p.warp_m * p.tile_warps_m) * (problem.n / (p.warp_n * p.tile_warps_n)) *
         p.cluster_slices;
}

bool IsLegalTiny(const Problem& problem, const Target& target, const TinyParameters& p) {
  if (p.permute && problem.layout == Layout::kTN) return false;
  if ((p.cluster_slices > 1 || p.overlap) && target.compute_capability < 90) return false;
  // Offsets inside an operand are 32-bit.
  const int64_t largest =
      std::max({problem.m * problem.k, problem.n * problem.k, problem.m * problem.n});
  return TinyThreads(p) <= 512 && largest < (int64_t{1} << 31) && DividesProblem(problem, p) &&
         StaticSharedBytes(p) <= kStaticSharedBytes && FitsRegisters(problem, p);
}

std::vector<Config> TinyConfigs(const Problem& problem, const Target& target) {
  std::vector<Config> configs;
  for (const TinyParameters& tile : WarpTiles()) {
    for (const TinyParameters& p : Splits(tile)) {
      if (!IsLegalTiny(problem, target, p) || !IsPlausibleTiny(problem, target, p)) continue;
      for (const Tiny& early : Overlaps(problem, target, p)) configs.push_back(ToConfig(early));
    }
  }
  return configs;
}

Candidate MakeTiny(const Problem& problem, const Config& config) {
  const TinyParameters p = TinyFromConfig(config);
  Candidate candidate;
  candidate.sources = DeviceSources({"ptx.cuh", "tiny.cuh"});
  candidate.entry = "hgemm.cu";
  candidate.sources[candidate.entry] = TinySource(problem, p);
  candidate.plan = TinyPlan(problem, p);
  candidate.provenance.family = kTinyName;
  candidate.provenance.config = config;
  return candidate;
}

}  // namespace warpsmith::hgemm
