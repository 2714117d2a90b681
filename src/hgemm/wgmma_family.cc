#include "hgemm/wgmma_family.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>

#include "hgemm/device_source.h"

namespace warpsmith::hgemm {
namespace {

constexpr char kName[] = "wgmma";
constexpr int64_t kMaxSharedBytes = 232448;      // of an SM of sm_90, less what each CTA reserves
constexpr int64_t kL2Bytes = int64_t{50} << 20;  // about

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// ---- what follows from the parameters; as Geometry in device/wgmma.cuh ----

int64_t WarpgroupsM(const WgmmaParameters& p) {
  return p.tile_m / 64 % p.consumers == 0 ? p.consumers : 1;
}
int64_t WarpgroupM(const WgmmaParameters& p) { return p.tile_m / WarpgroupsM(p); }
int64_t WarpgroupN(const WgmmaParameters& p) { return p.tile_n / (p.consumers / WarpgroupsM(p)); }
int64_t Accumulators(const WgmmaParameters& p) { return WarpgroupM(p) / 64 * WarpgroupN(p) / 2; }
int64_t PanelColumns(const WgmmaParameters& p) { return WarpgroupN(p) % 64 == 0 ? 64 : 32; }
int64_t Panels(const WgmmaParameters& p) {
  return WarpgroupM(p) / 64 * (WarpgroupN(p) / PanelColumns(p));
}
int64_t RingBytes(const WgmmaParameters& p) {
  return p.stages * (p.tile_m + p.tile_n) * p.tile_k * 2;
}
int64_t BarrierBytes(const WgmmaParameters& p) { return 16 * p.stages + (p.splits > 1 ? 16 : 0); }
int64_t SharedBytesWith(const WgmmaParameters& p, int64_t store_panels) {
  const bool staged = p.persistent && p.tma_store;
  return RingBytes(p) + BarrierBytes(p) +
         (staged ? p.consumers * store_panels * 64 * PanelColumns(p) * 2 : 0);
}

// Panels of C staged per warpgroup: as many as fit, of those that divide a tile's.
int64_t StorePanels(const WgmmaParameters& p) {
  for (int64_t panels = Panels(p); panels > 1; --panels) {
    if (Panels(p) % panels == 0 && SharedBytesWith(p, panels) <= kMaxSharedBytes / p.ctas_per_sm) {
      return panels;
    }
  }
  return 1;
}

// Registers a thread of a consumer may have. The register file is four parts; warps are dealt to
// them in turn, and a part holds 16384.
int64_t ConsumerRegisters(const WgmmaParameters& p) {
  if (p.producer_warps == 4) return 240;  // by setmaxnreg
  const int64_t warps_a_part = CeilDiv(WgmmaThreads(p) / 32 * p.ctas_per_sm, 4);
  return std::min<int64_t>(255, 16384 / (warps_a_part * 32) / 8 * 8);
}

// What the compiler needs beside the accumulators, so that nothing spills.
constexpr int64_t kOtherRegisters = 26;

bool IsOneOf(int64_t value, std::initializer_list<int64_t> values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool HasInstruction(const WgmmaParameters& p, Layout layout) {
  if (p.tile_n % (p.consumers / WarpgroupsM(p)) != 0) return false;
  if (layout == Layout::kNN && WarpgroupN(p) % 64 != 0) return false;
  return IsOneOf(WarpgroupN(p), {32, 64, 96, 128, 160, 192, 256});
}

bool FitsSm(const WgmmaParameters& p, const Target& target) {
  const int64_t shared_limit = std::min<int64_t>(target.max_shared_bytes, kMaxSharedBytes);
  if (p.producer_warps == 4 && (p.consumers != 2 || p.ctas_per_sm != 1)) return false;
  return WgmmaSharedBytes(p) <= shared_limit / p.ctas_per_sm &&
         Accumulators(p) + kOtherRegisters <= ConsumerRegisters(p);
}

bool StoresFit(const WgmmaParameters& p) {
  if (p.splits > 1) {  // partial sums go where the stages were
    return !p.persistent && !p.tma_store && p.tile_m * p.tile_n * 4 <= RingBytes(p) &&
           WarpgroupN(p) / 8 % p.splits == 0;
  }
  return !p.tma_store || p.persistent || p.tile_m * p.tile_n * 2 <= RingBytes(p);
}

bool SkewFits(const WgmmaParameters& p) {
  return p.skew == 0 || (p.persistent && p.consumers > 1 && p.skew * (p.consumers - 1) < p.stages);
}

// The sizes a plan is right for, in words that both C++ and the plan understand.
int64_t MinimumKBlocks(const WgmmaParameters& p) {
  return std::max<int64_t>(p.splits, p.skew > 0 ? p.stages : 1);
}
bool StridesFit(const Problem& problem, const WgmmaParameters& p) {
  const bool aligned_n = problem.layout == Layout::kNN || p.tma_store;
  return problem.k % 8 == 0 && (!aligned_n || problem.n % 8 == 0);
}

// ---- which of the legal ones are worth a measurement ----

struct TileGrid {
  int64_t m = 0, n = 0;  // tiles along each axis

  int64_t ctas(const WgmmaParameters& p) const { return m * n * p.splits; }
};

TileGrid Tiles(const Problem& problem, const WgmmaParameters& p) {
  return {CeilDiv(problem.m, p.tile_m), CeilDiv(problem.n, p.tile_n)};
}

bool IsTilePlausible(const Problem& problem, const Target& target, const WgmmaParameters& p) {
  const int64_t waves = CeilDiv(Tiles(problem, p).ctas(p), target.sm_count);
  if (p.tile_m > 64 && p.tile_m / 2 >= problem.m) return false;
  if (p.tile_n > 32 && p.tile_n / 2 >= problem.n) return false;
  // Many waves of small tiles read too much, unless writing C is what takes the time.
  const int64_t area = p.tile_m * p.tile_n;
  if (area < 64 * 128) return waves <= 8;
  return area >= 128 * 128 || waves <= (problem.k <= 256 ? 64 : 16);
}

bool IsSplitPlausible(const Problem& problem, const Target& target, const WgmmaParameters& p) {
  const int64_t ctas = Tiles(problem, p).ctas(p);
  return p.splits == 1 ||
         (ctas <= 2 * target.sm_count && CeilDiv(problem.k, p.tile_k) >= 4 * p.splits);
}

bool IsRingPlausible(const Problem& problem, const WgmmaParameters& p) {
  if (p.tile_k == 128 && p.stages < 3) return false;  // the same bytes in finer steps are better
  return p.stages == 2 || p.stages <= CeilDiv(problem.k, p.tile_k * p.splits);
}

bool IsPlausible(const Problem& problem, const Target& target, const WgmmaParameters& p) {
  const TileGrid tiles = Tiles(problem, p);
  const int64_t ctas = tiles.ctas(p);
  const bool one_wave = ctas <= target.sm_count * p.ctas_per_sm;
  if (p.ctas_per_sm > 1 && ctas <= target.sm_count * (p.ctas_per_sm - 1)) return false;
  if (p.persistent && one_wave) return false;  // one tile a CTA anyway
  if (p.persistent && !p.tma_store && problem.k > 256)
    return false;  // stores stop the tensor cores
  if (p.cluster_m > tiles.m || p.cluster_n > tiles.n) return false;
  if (p.cluster_m * p.cluster_n > 2 && !one_wave) return false;
  if (p.stream_c && problem.m * problem.n * 2 < kL2Bytes / 2) return false;
  return IsRingPlausible(problem, p) && IsSplitPlausible(problem, target, p);
}

// Skew hides stores: worth a try where they are a part of the time that shows.
bool IsSkewPlausible(const Problem& problem, const WgmmaParameters& p) {
  return p.skew == 0 || problem.k <= 2048;
}

// Orders worth telling apart: one where all tiles run at once, else groups up to the lines there
// are.
bool IsRasterPlausible(const Problem& problem, const Target& target, const WgmmaParameters& p) {
  const TileGrid tiles = Tiles(problem, p);
  const WgmmaParameters usual;
  if (tiles.ctas(p) <= target.sm_count * p.ctas_per_sm) {
    return p.raster_group == usual.raster_group && p.raster_along_m == usual.raster_along_m;
  }
  const int64_t lines =
      p.raster_along_m ? CeilDiv(tiles.n, p.cluster_n) : CeilDiv(tiles.m, p.cluster_m);
  if (p.raster_group == 1) return lines == 1 || (problem.k <= 256 && !p.raster_along_m);
  return p.raster_group / 2 < lines;
}

// ---- enumeration: each step extends every configuration of the step before ----

using All = std::vector<WgmmaParameters>;

All TileChoices() {
  All all;
  for (const auto& [m, n, consumers] : std::initializer_list<std::array<int64_t, 3>>{
           {64, 32, 1},   {64, 64, 1},   {64, 96, 1},   {64, 128, 1},  {64, 128, 2},  {64, 192, 1},
           {64, 256, 1},  {64, 256, 2},  {128, 32, 2},  {128, 64, 1},  {128, 64, 2},  {128, 96, 2},
           {128, 128, 1}, {128, 128, 2}, {128, 160, 2}, {128, 192, 2}, {128, 256, 2}, {192, 64, 3},
           {192, 128, 3}, {192, 192, 2}, {192, 192, 3}, {192, 256, 2}, {256, 64, 2},  {256, 96, 2},
           {256, 128, 2}, {256, 192, 2}}) {
    for (const int64_t tile_k : {64, 128}) {
      for (const int64_t producer_warps : {1, 4}) {
        all.push_back({.tile_m = m,
                       .tile_n = n,
                       .tile_k = tile_k,
                       .consumers = consumers,
                       .producer_warps = producer_warps});
      }
    }
  }
  return all;
}

template <class Set>
All Extend(const All& from, std::initializer_list<int64_t> values, Set set) {
  All all;
  for (const WgmmaParameters& p : from) {
    for (const int64_t value : values) {
      all.push_back(p);
      set(all.back(), value);
    }
  }
  return all;
}

template <class Keep>
All Filter(const All& from, Keep keep) {
  All kept;
  std::copy_if(from.begin(), from.end(), std::back_inserter(kept), keep);
  return kept;
}

// setmaxnreg only where registers are short: it needs a warpgroup for the producer.
bool IsProducerPlausible(const WgmmaParameters& p) {
  return p.producer_warps == 1 || Accumulators(p) >= 128;
}

// Of the legal ring depths of a configuration, the deepest two.
All WithStages(const Problem& problem, const Target& target, const All& from) {
  All all;
  for (WgmmaParameters p : from) {
    int found = 0;
    for (p.stages = 8; p.stages >= 2 && found < 2; --p.stages) {
      if (!IsLegalWgmma(problem, target, p) || !IsPlausible(problem, target, p)) continue;
      all.push_back(p);
      ++found;
    }
  }
  return all;
}

All Choices(const Problem& problem, const Target& target) {
  using P = WgmmaParameters;
  All all = Filter(TileChoices(), [&](const P& p) {
    return HasInstruction(p, problem.layout) && IsProducerPlausible(p) &&
           IsTilePlausible(problem, target, p);
  });
  all = Extend(all, {1, 2}, [](P& p, int64_t v) { p.cluster_m = v; });
  all = Extend(all, {1, 2}, [](P& p, int64_t v) { p.cluster_n = v; });
  all = Extend(all, {1, 2, 4, 8}, [](P& p, int64_t v) { p.splits = v; });
  all = Extend(all, {1, 2, 3}, [](P& p, int64_t v) { p.ctas_per_sm = v; });
  all = Extend(all, {0, 1}, [](P& p, int64_t v) { p.persistent = v; });
  all = Extend(all, {0, 1}, [](P& p, int64_t v) { p.tma_store = v; });
  all = Extend(all, {0, 1}, [](P& p, int64_t v) { p.stream_c = v; });
  all = WithStages(problem, target, all);
  all = Extend(all, {0, 1, 2}, [](P& p, int64_t v) { p.skew = v; });
  all = Filter(all, [&](const P& p) { return IsSkewPlausible(problem, p); });
  all = Extend(all, {1, 4, 8, 16}, [](P& p, int64_t v) { p.raster_group = v; });
  return Extend(all, {0, 1}, [](P& p, int64_t v) { p.raster_along_m = v; });
}

// ---- the candidate ----

std::string Source(const Problem& problem, const WgmmaParameters& p) {
  std::ostringstream s;
  s << "#include \"wgmma.cuh\"\n\n"
    << "namespace family = warpsmith::hgemm::wgmma;\n\n"
    << "struct Config {\n"
    << "  static constexpr int kTileM = " << p.tile_m << ", kTileN = " << p.tile_n
    << ", kTileK = " << p.tile_k << ", kStages = " << p.stages << ";\n"
    << "  static constexpr int kConsumers = " << p.consumers
    << ", kProducerWarps = " << p.producer_warps << ";\n"
    << "  static constexpr int kClusterM = " << p.cluster_m << ", kClusterN = " << p.cluster_n
    << ", kSplits = " << p.splits << ";\n"
    << "  static constexpr int kRasterGroup = " << p.raster_group << ", kSkew = " << p.skew << ";\n"
    << "  static constexpr int kCtasPerSm = " << p.ctas_per_sm
    << ", kStorePanels = " << StorePanels(p) << ";\n"
    << "  static constexpr bool kRasterAlongM = " << p.raster_along_m
    << ", kPersistent = " << p.persistent << ";\n"
    << "  static constexpr bool kTmaStore = " << p.tma_store << ", kStreamC = " << p.stream_c
    << ", kRowMajorB = " << (problem.layout == Layout::kNN) << ";\n};\n\n"
    << "static_assert(family::Geometry<Config>::kSharedBytes == " << WgmmaSharedBytes(p) << ");\n\n"
    << "extern \"C\" __global__ void __launch_bounds__(" << WgmmaThreads(p) << ", " << p.ctas_per_sm
    << ")\n"
    << "    hgemm(const __grid_constant__ family::TensorMap a,\n"
    << "          const __grid_constant__ family::TensorMap b,\n"
    << "          "
    << (p.tma_store ? "const __grid_constant__ family::TensorMap c" : "family::u16* c")
    << ", int m, int n, int k) {\n"
    << "  family::WgmmaGemm<Config>(&a, &b, " << (p.tma_store ? "{&c, nullptr}" : "{nullptr, c}")
    << ", {m, n, k});\n}\n";
  return s.str();
}

// A row-major matrix of `rows` x `columns` halves, fetched or stored in boxes.
TensorMapArgument Map(const char* tensor, const char* rows, const char* columns, int64_t box_rows,
                      int64_t box_columns) {
  const auto text = [](const std::string& s) { return Expression::Literal(s); };
  TensorMapArgument map;
  map.tensor = tensor;
  map.dims = {text(columns), text(rows)};
  map.strides_bytes = {text(std::string("2 * ") + columns)};
  map.box = {Expression::Constant(box_columns), Expression::Constant(box_rows)};
  map.element_strides = {Expression::Constant(1), Expression::Constant(1)};
  map.swizzle = box_columns == 64 ? Swizzle::k128B : Swizzle::k64B;
  map.l2_promotion_bytes = 256;
  return map;
}

std::vector<Argument> Arguments(const Problem& problem, const WgmmaParameters& p) {
  std::vector<Argument> arguments = {Map("A", "M", "K", p.tile_m / p.cluster_n, 64)};
  if (problem.layout == Layout::kTN) {
    arguments.emplace_back(Map("B", "N", "K", p.tile_n / p.cluster_m, 64));
  } else {
    arguments.emplace_back(Map("B", "K", "N", p.tile_k / p.cluster_m, 64));
  }
  if (p.tma_store) {
    arguments.emplace_back(Map("C", "M", "N", 64, PanelColumns(p)));
  } else {
    arguments.emplace_back(TensorArgument{"C"});
  }
  for (const char* size : {"M", "N", "K"}) {
    arguments.emplace_back(IntArgument{.value = Expression::Literal(size)});
  }
  return arguments;
}

// CTAs: a cluster for every group of tiles, or as many clusters as the device runs at once.
Expression Grid(const WgmmaParameters& p) {
  const auto groups = [](const char* size, int64_t tile) {
    return "ceil_div(" + std::string(size) + ", " + std::to_string(tile) + ")";
  };
  std::string clusters =
      groups("M", p.tile_m * p.cluster_m) + " * " + groups("N", p.tile_n * p.cluster_n);
  if (p.persistent) clusters = "min(" + clusters + ", max_active_clusters)";
  return Expression::Literal(clusters + " * " + std::to_string(WgmmaClusterSize(p)));
}

Expression ValidWhen(const Problem& problem, const WgmmaParameters& p) {
  std::string text = "M >= 1 && N >= 1 && K >= 1 && K % 8 == 0 && ceil_div(K, " +
                     std::to_string(p.tile_k) + ") >= " + std::to_string(MinimumKBlocks(p));
  if (problem.layout == Layout::kNN || p.tma_store) text += " && N % 8 == 0";
  return Expression::Literal(text);
}

LaunchPlan Plan(const Problem& problem, const WgmmaParameters& p) {
  const auto constant = [](int64_t value) { return Expression::Constant(value); };
  LaunchOperation launch{
      .kernel = "hgemm",
      .grid = {Grid(p), constant(1), constant(1)},
      .block = {constant(WgmmaThreads(p)), constant(1), constant(1)},
      .cluster = {constant(WgmmaClusterSize(p)), constant(1), constant(1)},
      .shared_bytes = constant(WgmmaSharedBytes(p)),
      .arguments = Arguments(problem, p),
  };
  LaunchPlan plan;
  plan.valid_when = ValidWhen(problem, p);
  plan.operations.emplace_back(std::move(launch));
  return plan;
}

}  // namespace

Config ToConfig(const WgmmaParameters& p) {
  return {{"tile_m", p.tile_m},
          {"tile_n", p.tile_n},
          {"tile_k", p.tile_k},
          {"stages", p.stages},
          {"consumers", p.consumers},
          {"producer_warps", p.producer_warps},
          {"cluster_m", p.cluster_m},
          {"cluster_n", p.cluster_n},
          {"splits", p.splits},
          {"raster_group", p.raster_group},
          {"raster_along_m", p.raster_along_m},
          {"persistent", p.persistent},
          {"skew", p.skew},
          {"ctas_per_sm", p.ctas_per_sm},
          {"tma_store", p.tma_store},
          {"stream_c", p.stream_c}};
}

WgmmaParameters WgmmaFromConfig(const Config& config) {
  return {.tile_m = config.at("tile_m"),
          .tile_n = config.at("tile_n"),
          .tile_k = config.at("tile_k"),
          .stages = config.at("stages"),
          .consumers = config.at("consumers"),
          .producer_warps = config.at("producer_warps"),
          .cluster_m = config.at("cluster_m"),
          .cluster_n = config.at("cluster_n"),
          .splits = config.at("splits"),
          .raster_group = config.at("raster_group"),
          .raster_along_m = config.at("raster_along_m"),
          .persistent = config.at("persistent"),
          .skew = config.at("skew"),
          .ctas_per_sm = config.at("ctas_per_sm"),
          .tma_store = config.at("tma_store"),
          .stream_c = config.at("stream_c")};
}

int64_t WgmmaThreads(const WgmmaParameters& p) { return 128 * p.consumers + 32 * p.producer_warps; }

int64_t WgmmaClusterSize(const WgmmaParameters& p) { return p.cluster_m * p.cluster_n * p.splits; }

int64_t WgmmaSharedBytes(const WgmmaParameters& p) { return SharedBytesWith(p, StorePanels(p)); }

bool IsLegalWgmma(const Problem& problem, const Target& target, const WgmmaParameters& p) {
  return target.compute_capability == 90 && HasInstruction(p, problem.layout) &&
         WgmmaClusterSize(p) <= 8 && FitsSm(p, target) && StoresFit(p) && SkewFits(p) &&
         StridesFit(problem, p) && CeilDiv(problem.k, p.tile_k) >= MinimumKBlocks(p);
}

std::vector<Config> WgmmaConfigs(const Problem& problem, const Target& target) {
  std::vector<Config> configs;
  for (const WgmmaParameters& p : Choices(problem, target)) {
    if (IsLegalWgmma(problem, target, p) && IsRasterPlausible(problem, target, p)) {
      configs.push_back(ToConfig(p));
    }
  }
  return configs;
}

Candidate MakeWgmma(const Problem& problem, const Config& config) {
  const WgmmaParameters p = WgmmaFromConfig(config);
  Candidate candidate;
  candidate.sources =
      DeviceSources({"ptx_sm90.cuh", "wgmma.cuh", "wgmma_load.cuh", "wgmma_multiply.cuh",
                     "wgmma_split.cuh", "wgmma_store.cuh", "wgmma_tile.cuh"});
  candidate.entry = "hgemm.cu";
  candidate.sources[candidate.entry] = Source(problem, p);
  candidate.plan = Plan(problem, p);
  candidate.provenance.family = kName;
  candidate.provenance.config = config;
  return candidate;
}

}  // namespace warpsmith::hgemm
