#include "hgemm/wgmma_family.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>

#include "hgemm/family_parts.h"

namespace warpsmith::hgemm {
namespace {

constexpr char kWgmmaName[] = "wgmma";

using Wgmma = WgmmaParameters;
constexpr Parameter<Wgmma> kWgmmaTable[] = {{"tile_m", &Wgmma::tile_m},
                                            {"tile_n", &Wgmma::tile_n},
                                            {"tile_k", &Wgmma::tile_k},
                                            {"stages", &Wgmma::stages},
                                            {"consumers", &Wgmma::consumers},
                                            {"producer_warps", &Wgmma::producer_warps},
                                            {"cluster_m", &Wgmma::cluster_m},
                                            {"cluster_n", &Wgmma::cluster_n},
                                            {"splits", &Wgmma::splits},
                                            {"raster_group", &Wgmma::raster_group},
                                            {"raster_along_m", &Wgmma::raster_along_m, 0},
                                            {"persistent", &Wgmma::persistent, 0},
                                            {"skew", &Wgmma::skew, 0},
                                            {"ctas_per_sm", &Wgmma::ctas_per_sm},
                                            {"tma_store", &Wgmma::tma_store, 0},
                                            {"stream_c", &Wgmma::stream_c, 0},
                                            {"slices", &Wgmma::slices},
                                            {"ping_pong", &Wgmma::ping_pong, 0},
                                            {"overlap", &Wgmma::overlap, 0},
                                            {"direct_load", &Wgmma::direct_load, 0},
                                            {"even_rounds", &Wgmma::even_rounds, 0},
                                            {"l2_promotion", &Wgmma::l2_promotion}};

// Of the second kernel, four columns each: CTAs for every SM, if there are so many columns.
int64_t SumThreads(const Problem& problem) {
  constexpr int64_t kSms = 132;
  const int64_t groups = problem.m * (CeilDiv(problem.n, 8) * 2);
  for (int64_t threads = 128; threads > 32; threads /= 2) {
    if (groups >= threads * kSms) return threads;
  }
  return 32;
}

void WriteConfig(std::ostream& s, const Problem& problem, const Wgmma& p) {
  s << "struct Config {\n"
    << "  static constexpr int kTileM = " << p.tile_m << ", kTileN = " << p.tile_n
    << ", kTileK = " << p.tile_k << ", kStages = " << p.stages << ";\n"
    << "  static constexpr int kConsumers = " << p.consumers
    << ", kProducerWarps = " << p.producer_warps << ";\n"
    << "  static constexpr int kClusterM = " << p.cluster_m << ", kClusterN = " << p.cluster_n
    << ", kSplits = " << p.splits << ", kSlices = " << p.slices << ";\n"
    << "  static constexpr int kRasterGroup = " << p.raster_group << ", kSkew = " << p.skew << ";\n"
    << "  static constexpr int kCtasPerSm = " << p.ctas_per_sm
    << ", kStorePanels = " << WgmmaStorePanels(p) << ";\n"
    << "  static constexpr bool kRasterAlongM = " << p.raster_along_m
    << ", kPersistent = " << p.persistent << ", kPingPong = " << p.ping_pong << ";\n"
    << "  static constexpr bool kTmaStore = " << p.tma_store << ", kStreamC = " << p.stream_c
    << ", kDirectLoad = " << p.direct_load << ";\n"
    << "  static constexpr int kOverlap = " << p.overlap
    << ", kSumThreads = " << SumThreads(problem) << ";\n"
    << "  static constexpr bool kRowMajorB = " << (problem.layout == Layout::kNN)
    << ", kBf16 = " << (problem.dtype == DType::kBF16) << ";\n};\n\n"
    << "static_assert(family::Geometry<Config>::kSharedBytes == " << WgmmaSharedBytes(p)
    << ");\n\n";
}

// What the kernel is given in C's place, and how it takes it.
struct OutputText {
  const char* parameter;
  const char* value;
};
OutputText OutputOf(const Wgmma& p) {
  if (p.tma_store) return {"const __grid_constant__ family::TensorMap c", "{&c, nullptr, nullptr}"};
  if (p.slices > 1) return {"float* partials", "{nullptr, nullptr, partials}"};
  return {"family::u16* c", "{nullptr, c, nullptr}"};
}

bool HasRareWidth(const Wgmma& p) {
  constexpr std::array<int64_t, 7> kOfPtxSm90 = {32, 64, 96, 128, 160, 192, 256};
  const int64_t width = WgmmaWarpgroupColumns(p);
  return std::find(kOfPtxSm90.begin(), kOfPtxSm90.end(), width) == kOfPtxSm90.end();
}

std::string WgmmaSource(const Problem& problem, const Wgmma& p) {
  const OutputText output = OutputOf(p);
  std::ostringstream s;
  if (HasRareWidth(p)) s << "#include \"wgmma_widths.cuh\"\n";
  s << "#include \"wgmma.cuh\"\n\n"
    << "namespace family = warpsmith::hgemm::wgmma;\n\n";
  WriteConfig(s, problem, p);
  s << "extern \"C\" __global__ void __launch_bounds__(" << WgmmaThreads(p) << ", " << p.ctas_per_sm
    << ")\n"
    << "    hgemm("
    << (p.direct_load ? "const family::u16* a, const family::u16* b,\n"
                      : "const __grid_constant__ family::TensorMap a,\n"
                        "          const __grid_constant__ family::TensorMap b,\n")
    << "          " << output.parameter << ", int m, int n, int k) {\n"
    << "  family::WgmmaGemm<Config>(" << (p.direct_load ? "a, b, " : "&a, &b, ") << output.value
    << ", {m, n, k});\n}\n";
  if (p.slices > 1) {
    s << "\nextern \"C\" __global__ void __launch_bounds__(" << SumThreads(problem) << ")\n"
      << "    hgemm_sum(const float* partials, family::u16* c, int m, int n) {\n"
      << "  family::SumSlices<Config>(partials, c, m, n);\n}\n";
  }
  return s.str();
}

// A row-major matrix of `rows` x `columns` elements, fetched or stored in boxes.
TensorMapArgument Map(const char* tensor, DType dtype, const char* rows, const char* columns,
                      int64_t box_rows, int64_t box_columns, int64_t l2_promotion) {
  const auto text = [](const std::string& s) { return Expression::Literal(s); };
  TensorMapArgument map;
  map.tensor = tensor;
  map.dtype = dtype;
  map.dims = {text(columns), text(rows)};
  map.strides_bytes = {text(std::string("2 * ") + columns)};
  map.box = {Expression::Constant(box_columns), Expression::Constant(box_rows)};
  map.element_strides = {Expression::Constant(1), Expression::Constant(1)};
  map.swizzle = box_columns == 64 ? Swizzle::k128B : Swizzle::k64B;
  map.l2_promotion_bytes = static_cast<int>(l2_promotion);
  return map;
}

std::vector<Argument> Arguments(const Problem& problem, const Wgmma& p) {
  const DType dtype = problem.dtype;
  std::vector<Argument> arguments = {TensorArgument{"A"}};
  if (!p.direct_load) {
    arguments = {Map("A", dtype, "M", "K", p.tile_m / p.cluster_n, 64, p.l2_promotion)};
  }
  if (p.direct_load) {
    arguments.emplace_back(TensorArgument{"B"});
  } else if (problem.layout == Layout::kTN) {
    arguments.emplace_back(Map("B", dtype, "N", "K", p.tile_n / p.cluster_m, 64, p.l2_promotion));
  } else {
    arguments.emplace_back(Map("B", dtype, "K", "N", p.tile_k / p.cluster_m, 64, p.l2_promotion));
  }
  if (p.tma_store) {
    arguments.emplace_back(Map("C", dtype, "M", "N", 64, WgmmaPanelColumns(p), 256));
  } else if (p.slices > 1) {
    arguments.emplace_back(WorkspaceArgument{"partials"});
  } else {
    arguments.emplace_back(TensorArgument{"C"});
  }
  for (const char* size : {"M", "N", "K"}) {
    arguments.emplace_back(IntArgument{.value = Expression::Literal(size)});
  }
  return arguments;
}

// CTAs: a cluster for every group of tiles and slice, or as many clusters as the device runs at
// once, or (even_rounds) fewer, if they need no more rounds: what runs together is then a whole
// patch of tiles, and SMs that would only shorten the last round rest.
Expression Grid(const Wgmma& p) {
  const auto groups = [](const char* size, int64_t tile) {
    return "ceil_div(" + std::string(size) + ", " + std::to_string(tile) + ")";
  };
  std::string clusters =
      groups("M", p.tile_m * p.cluster_m) + " * " + groups("N", p.tile_n * p.cluster_n);
  if (p.persistent && p.even_rounds) {
    clusters = "ceil_div(" + clusters + ", ceil_div(" + clusters + ", max_active_clusters))";
  } else if (p.persistent) {
    clusters = "min(" + clusters + ", max_active_clusters)";
  }
  return Expression::Literal(clusters + " * " + std::to_string(WgmmaClusterSize(p) * p.slices));
}

Expression ValidWhen(const Problem& problem, const Wgmma& p) {
  std::string text = "M >= 1 && N >= 1 && K >= 1 && K % 8 == 0 && ceil_div(K, " +
                     std::to_string(p.tile_k) + ") >= " + std::to_string(WgmmaMinimumKBlocks(p));
  if (problem.layout == Layout::kNN || p.tma_store) text += " && N % 8 == 0";
  return Expression::Literal(text);
}

// Rows of partial sums are whole 16-byte groups.
constexpr char kPitch[] = "ceil_div(N, 8) * 8";

// With `overlap`, at least what spreads the CTAs of two launches over the SMs.
int64_t MainSharedBytes(const Problem& problem, const Wgmma& p) {
  const int64_t ctas = CeilDiv(problem.m, p.tile_m) * CeilDiv(problem.n, p.tile_n) * WgmmaParts(p);
  const int64_t spread = p.overlap == 2 && !p.persistent ? SpreadSharedBytes(ctas) : 0;
  return std::max(spread, WgmmaSharedBytes(p));
}

LaunchOperation MainLaunch(const Problem& problem, const Wgmma& p) {
  const auto constant = [](int64_t value) { return Expression::Constant(value); };
  return {
      .kernel = "hgemm",
      .grid = {Grid(p), constant(1), constant(1)},
      .block = {constant(WgmmaThreads(p)), constant(1), constant(1)},
      .cluster = {constant(WgmmaClusterSize(p)), constant(1), constant(1)},
      .shared_bytes = constant(MainSharedBytes(problem, p)),
      .programmatic = p.overlap != 0,
      .nonportable_cluster = WgmmaClusterSize(p) > 8,
      .arguments = Arguments(problem, p),
  };
}

// Its CTAs may take their places while the products are still under way.
LaunchOperation SumLaunch(const Problem& problem) {
  const int64_t threads_a_cta = SumThreads(problem);
  const std::string threads = std::string("M * (") + kPitch + " / 4)";
  LaunchOperation launch;
  launch.kernel = "hgemm_sum";
  launch.grid[0] =
      Expression::Literal("ceil_div(" + threads + ", " + std::to_string(threads_a_cta) + ")");
  launch.block[0] = Expression::Constant(threads_a_cta);
  launch.programmatic = true;
  launch.arguments = {WorkspaceArgument{"partials"}, TensorArgument{"C"},
                      IntArgument{Expression::Literal("M")}, IntArgument{Expression::Literal("N")}};
  return launch;
}

LaunchPlan WgmmaPlan(const Problem& problem, const Wgmma& p) {
  LaunchPlan plan;
  plan.valid_when = ValidWhen(problem, p);
  plan.operations.emplace_back(MainLaunch(problem, p));
  if (p.slices > 1) {
    const std::string bytes = std::to_string(4 * p.slices) + " * M * (" + kPitch + ")";
    plan.workspaces.push_back({"partials", Expression::Literal(bytes)});
    plan.operations.emplace_back(SumLaunch(problem));
  }
  return plan;
}

}  // namespace

Config ToConfig(const Wgmma& p) { return ConfigOf<Wgmma>(p, kWgmmaTable); }

Config LeastOfWgmma() { return LeastOf<Wgmma>(kWgmmaTable); }

Wgmma WgmmaFromConfig(const Config& config) { return ParametersOf<Wgmma>(config, kWgmmaTable); }

std::vector<Config> WgmmaConfigs(const Problem& problem, const Target& target) {
  std::vector<Config> configs;
  for (const Wgmma& p : WgmmaChoices(problem, target)) configs.push_back(ToConfig(p));
  return configs;
}

Candidate MakeWgmma(const Problem& problem, const Config& config) {
  const Wgmma p = WgmmaFromConfig(config);
  Candidate candidate;
  candidate.sources =
      DeviceSources({"ptx_sm90.cuh", "wgmma.cuh", "wgmma_load.cuh", "wgmma_multiply.cuh",
                     "wgmma_split.cuh", "wgmma_store.cuh", "wgmma_tile.cuh"});
  if (HasRareWidth(p)) candidate.sources.merge(DeviceSources({"wgmma_widths.cuh"}));
  candidate.entry = "hgemm.cu";
  candidate.sources[candidate.entry] = WgmmaSource(problem, p);
  candidate.plan = WgmmaPlan(problem, p);
  candidate.provenance.family = kWgmmaName;
  candidate.provenance.config = config;
  return candidate;
}

}  // namespace warpsmith::hgemm
