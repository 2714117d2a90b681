#include "hgemm/mma_sync_family.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>

#include "hgemm/family_parts.h"

namespace warpsmith::hgemm {
namespace {

constexpr char kMmaSyncName[] = "mma_sync";

using MmaSync = MmaSyncParameters;
constexpr Parameter<MmaSync> kMmaSyncTable[] = {{"tile_m", &MmaSync::tile_m},
                                                {"tile_n", &MmaSync::tile_n},
                                                {"tile_k", &MmaSync::tile_k},
                                                {"warps_m", &MmaSync::warps_m},
                                                {"warps_n", &MmaSync::warps_n},
                                                {"warps_k", &MmaSync::warps_k},
                                                {"stages", &MmaSync::stages},
                                                {"splits", &MmaSync::splits},
                                                {"split_cluster", &MmaSync::split_cluster, 0},
                                                {"staged_store", &MmaSync::staged_store, 0},
                                                {"raster_group", &MmaSync::raster_group},
                                                {"ctas_per_sm", &MmaSync::ctas_per_sm},
                                                {"baked", &MmaSync::baked, 0},
                                                {"early_reduce", &MmaSync::early_reduce, 0},
                                                {"overlap", &MmaSync::overlap, 0}};

// How a kernel treats the rims of the matrices (device enum Edge).
enum class Edge : uint8_t { kExact, kAligned, kUnaligned };

Edge EdgeOf(const Problem& problem, const MmaSync& p) {
  if (problem.n % 8 != 0 || problem.k % 8 != 0) return Edge::kUnaligned;
  const bool whole =
      problem.m % p.tile_m == 0 && problem.n % p.tile_n == 0 && problem.k % p.tile_k == 0;
  return whole ? Edge::kExact : Edge::kAligned;
}

int64_t Ctas(const Problem& problem, const MmaSync& p) {
  return CeilDiv(problem.m, p.tile_m) * CeilDiv(problem.n, p.tile_n) * p.splits;
}

// mma.m16n8k16 fragments of a warp's tile.
int64_t FragmentsI(const MmaSync& p) { return p.tile_m / p.warps_m / 16; }
int64_t FragmentsJ(const MmaSync& p) { return p.tile_n / p.warps_n / 8; }

// 16-byte chunks a thread copies per k-block.
int64_t CopyTurns(const MmaSync& p) {
  const int64_t threads = MmaSyncThreads(p);
  return CeilDiv(p.tile_m * p.tile_k / 8, threads) + CeilDiv(p.tile_n * p.tile_k / 8, threads);
}

// Sums, two sets of fragments, addresses; fitted to what NVRTC 13.0 reports so that nothing spills.
int64_t Registers(const Problem& problem, const MmaSync& p) {
  const int64_t i = FragmentsI(p), j = FragmentsJ(p);
  const int64_t staged = EdgeOf(problem, p) == Edge::kUnaligned ? 5 : 1;  // per turn
  return i * j * 4 + 2 * (i * 4 + j * 2) + 46 + staged * CopyTurns(p) + (p.baked ? 4 : 0);
}

bool IsWellFormed(const MmaSync& p) {
  const int64_t steps = p.tile_k / 16 / p.warps_k;
  return p.tile_m % (16 * p.warps_m) == 0 && p.tile_n % (16 * p.warps_n) == 0 &&
         p.tile_k % (16 * p.warps_k) == 0 && steps > 0 && steps % 2 == 0 &&
         MmaSyncThreads(p) <= 512 && p.stages >= 2 && p.raster_group >= 1;
}

bool FitsTarget(const Problem& problem, const Target& target, const MmaSync& p) {
  constexpr int64_t kReserved = 1024;  // shared memory the system keeps per CTA
  const int64_t registers = Registers(problem, p);
  return registers <= 255 && registers * MmaSyncThreads(p) * p.ctas_per_sm <= 65536 &&
         MmaSyncThreads(p) * p.ctas_per_sm <= 2048 &&
         (MmaSyncSharedBytes(p) + kReserved) * p.ctas_per_sm <= target.max_shared_bytes + kReserved;
}

bool IsLegalSplit(const Target& target, const MmaSync& p) {
  if (p.early_reduce && (p.splits == 1 || p.split_cluster)) return false;
  if ((p.early_reduce || p.overlap) && target.compute_capability < 90) return false;
  if (p.splits == 1) return !p.split_cluster;
  if (p.staged_store) return false;
  if (!p.split_cluster) return true;
  return target.compute_capability >= 90 && p.splits <= 16 &&
         FragmentsI(p) * FragmentsJ(p) % p.splits == 0;
}

// ---- what is worth a measurement ---------------------------------------------------------------

bool IsPlausibleTile(int64_t extent, int64_t tile) {
  const bool power_of_two = (tile & (tile - 1)) == 0;
  return power_of_two ? tile < 2 * std::max<int64_t>(extent, 16) : extent % tile == 0;
}

bool IsPlausibleCrowd(const Problem& problem, const Target& target, const MmaSync& p) {
  const int64_t ctas = Ctas(problem, p), area = p.tile_m * p.tile_n;
  if (area > 32 * 32 && ctas < target.sm_count / 8 && area * 4 > problem.m * problem.n)
    return false;
  if (area < 32 * 64 && ctas > 2 * target.sm_count) return false;
  if (area < 64 * 64 && ctas > 8 * target.sm_count) return false;
  return p.splits == 1 || ctas <= 2 * target.sm_count;
}

bool IsPlausibleWarps(const MmaSync& p) {
  const int64_t m = p.tile_m / p.warps_m, n = p.tile_n / p.warps_n;
  const int64_t warps = p.warps_m * p.warps_n * p.warps_k;
  return m <= 64 && n <= 128 && m * n <= 64 * 128 && warps >= 2 && warps <= 8;
}

bool IsPlausibleDepth(const Problem& problem, const MmaSync& p) {
  const int64_t blocks = CeilDiv(CeilDiv(problem.k, p.tile_k), p.splits);
  return p.stages <= std::max<int64_t>(2, blocks + 1) && (p.splits == 1 || blocks >= 2);
}

// Parameters that change nothing here keep their first value.
bool IsNotRedundant(const Problem& problem, const Target& target, const MmaSync& p) {
  const int64_t tiles = Ctas(problem, p) / p.splits;
  if (p.raster_group > 1 && tiles <= target.sm_count) return false;
  if (p.ctas_per_sm > 1 && (Registers(problem, p) <= 104 || tiles <= target.sm_count)) return false;
  // Many tiles: whole lines matter more than a barrier.
  const bool staged_only =
      p.splits == 1 && tiles > 2 * target.sm_count && EdgeOf(problem, p) != Edge::kUnaligned;
  return p.staged_store || !staged_only;
}

// What is worth trying where the other families apply: small products, in few stages and whole, and
// clusters of sixteen for a deep K. Nothing else of this family came within 10 % of the best there.
bool IsWorthBesideWgmma(const Problem& problem, const Target& target, const MmaSync& p) {
  constexpr int64_t kMostProducts = int64_t{1} << 28;
  if (target.compute_capability < 90 || problem.k % 8 != 0 || problem.n % 8 != 0) return true;
  if (p.splits > 1 && (p.splits < 16 || !p.split_cluster)) return false;
  if (p.splits == 1 && problem.m * problem.n * problem.k > kMostProducts) return false;
  return p.tile_k >= 64 && p.tile_m <= 128 && p.tile_n <= 128 && p.stages <= 4 && p.warps_k <= 2;
}

bool IsPlausibleMmaSync(const Problem& problem, const Target& target, const MmaSync& p) {
  return IsWorthBesideWgmma(problem, target, p) && IsPlausibleTile(problem.m, p.tile_m) &&
         IsPlausibleTile(problem.n, p.tile_n) && IsPlausibleWarps(p) &&
         IsPlausibleCrowd(problem, target, p) && IsPlausibleDepth(problem, p) &&
         IsNotRedundant(problem, target, p);
}

std::vector<MmaSync> MmaSyncTiles(const Problem& problem, const Target& target) {
  MmaSync p;
  p.baked = problem.m * problem.n * problem.k <= (int64_t{1} << 28);  // else strides are cheap
  std::vector<MmaSync> all = Extend({p}, &MmaSync::tile_m, {16, 32, 64, 96, 128, 192, 256});
  all = Extend(all, &MmaSync::tile_n, {16, 32, 64, 96, 128, 192, 256});
  all = Extend(all, &MmaSync::tile_k, {32, 64, 128});
  return Filter(Extend(all, &MmaSync::splits, {1, 2, 4, 8, 16}), [&](const MmaSync& tile) {
    return IsPlausibleTile(problem.m, tile.tile_m) && IsPlausibleTile(problem.n, tile.tile_n) &&
           IsPlausibleCrowd(problem, target, tile) && IsPlausibleDepth(problem, tile);
  });
}

std::vector<MmaSync> Warps(const MmaSync& tile) {
  std::vector<MmaSync> all = Extend({tile}, &MmaSync::warps_m, {1, 2, 4});
  all = Extend(all, &MmaSync::warps_n, {1, 2, 4});
  return Filter(Extend(all, &MmaSync::warps_k, {1, 2, 4}),
                [](const MmaSync& p) { return IsWellFormed(p) && IsPlausibleWarps(p); });
}

std::vector<MmaSync> Schedules(const Target& target, const MmaSync& warps) {
  std::vector<MmaSync> all = Extend({warps}, &MmaSync::stages, {2, 3, 4, 5, 6});
  all = Extend(all, &MmaSync::split_cluster, {0, 1});
  all = Extend(all, &MmaSync::staged_store, {0, 1});
  all = Extend(all, &MmaSync::raster_group, {1, 8});
  all = Extend(all, &MmaSync::ctas_per_sm, {1, 2, 3});
  const bool early = target.compute_capability >= 90;
  for (MmaSync& p : all) {
    p.early_reduce = early && p.splits > 1 && !p.split_cluster;
    p.overlap = target.overlap && early ? 2 : 0;
  }
  return all;
}

// ---- source and plan ---------------------------------------------------------------------------

constexpr const char* kEdgeNames[] = {"kExact", "kAligned", "kUnaligned"};

bool UsesWorkspace(const MmaSync& p) { return p.splits > 1 && !p.split_cluster; }

void WriteMmaSyncConfig(std::ostream& s, const Problem& problem, const MmaSync& p) {
  const int64_t baked = p.baked;
  const char* split = p.splits == 1 ? "kNone" : p.split_cluster ? "kCluster" : "kWorkspace";
  s << "struct Config {\n"
    << "  static constexpr int kM = " << baked * problem.m << ", kN = " << baked * problem.n
    << ", kK = " << baked * problem.k << ";\n"
    << "  static constexpr bool kBColumnMajor = "
    << (problem.layout == Layout::kTN ? "true" : "false") << ";\n"
    << "  static constexpr family::Edge kEdge = family::Edge::"
    << kEdgeNames[static_cast<int>(EdgeOf(problem, p))] << ";\n"
    << "  static constexpr family::Epilogue kEpilogue = family::Epilogue::"
    << (p.staged_store ? "kStaged" : "kDirect") << ";\n"
    << "  static constexpr family::Split kSplit = family::Split::" << split << ";\n"
    << "  static constexpr int kBM = " << p.tile_m << ", kBN = " << p.tile_n
    << ", kBK = " << p.tile_k << ";\n"
    << "  static constexpr int kWarpsM = " << p.warps_m << ", kWarpsN = " << p.warps_n
    << ", kWarpsK = " << p.warps_k << ";\n"
    << "  static constexpr int kStages = " << p.stages << ", kSplits = " << p.splits
    << ", kRasterGroup = " << p.raster_group << ";\n"
    << "  static constexpr bool kBf16 = " << (problem.dtype == DType::kBF16)
    << ", kEarlyReduce = " << p.early_reduce << ";\n"
    << "  static constexpr int kOverlap = " << p.overlap << ";\n};\n"
    << "static_assert(family::SharedBytes<Config>() == " << MmaSyncSharedBytes(p)
    << ", \"as the launch plan says\");\n\n";
}

std::string MmaSyncSource(const Problem& problem, const MmaSync& p) {
  const bool workspace = UsesWorkspace(p);
  std::ostringstream s;
  s << "#include \"mma_sync.cuh\"\n\n"
    << "using warpsmith::hgemm::half_t;\n"
    << "namespace family = warpsmith::hgemm::mma_sync;\n\n";
  WriteMmaSyncConfig(s, problem, p);
  s << "extern \"C\" __global__ __launch_bounds__(family::Threads<Config>(), " << p.ctas_per_sm
    << ") void hgemm(\n    const half_t* a, const half_t* b, half_t* c, "
    << (workspace ? "float* partials, " : "") << "int m, int n, int k) {\n"
    << "  family::Run<Config>({a, b, c, " << (workspace ? "partials" : "nullptr")
    << ", m, n, k});\n}\n";
  if (workspace) {
    s << "\nextern \"C\" __global__ __launch_bounds__(256) void hgemm_reduce(\n"
      << "    const float* partials, half_t* c, int m, int n) {\n"
      << "  family::Reduce<Config>(partials, c, m, n);\n}\n";
  }
  return s.str();
}

Expression MmaSyncValidWhen(const Problem& problem, const MmaSync& p) {
  const auto divides = [](const char* size, int64_t by) {
    return std::string(size) + " % " + std::to_string(by) + " == 0";
  };
  if (p.baked) {
    return Expression::Literal("M == " + std::to_string(problem.m) + " && N == " +
                               std::to_string(problem.n) + " && K == " + std::to_string(problem.k));
  }
  switch (EdgeOf(problem, p)) {
    case Edge::kExact:
      return Expression::Literal(divides("M", p.tile_m) + " && " + divides("N", p.tile_n) + " && " +
                                 divides("K", p.tile_k));
    case Edge::kAligned:
      return Expression::Literal(divides("N", 8) + " && " + divides("K", 8));
    case Edge::kUnaligned:
      break;
  }
  return Expression::Constant(1);
}

std::array<Expression, 3> Along(Expression x) {
  return {std::move(x), Expression::Constant(1), Expression::Constant(1)};
}

int64_t MmaSyncSharedBytes(const Problem& problem, const MmaSync& p) {
  const int64_t spread = p.overlap == 2 ? SpreadSharedBytes(Ctas(problem, p)) : 0;
  return std::max(spread, MmaSyncSharedBytes(p));
}

LaunchOperation MmaSyncLaunch(const Problem& problem, const MmaSync& p) {
  const std::string grid = "ceil_div(M, " + std::to_string(p.tile_m) + ") * ceil_div(N, " +
                           std::to_string(p.tile_n) + ") * " + std::to_string(p.splits);
  LaunchOperation launch{
      .kernel = "hgemm",
      .grid = Along(Expression::Literal(grid)),
      .block = Along(Expression::Constant(MmaSyncThreads(p))),
      .cluster = Along(Expression::Constant(p.split_cluster ? p.splits : 1)),
      .shared_bytes = Expression::Constant(MmaSyncSharedBytes(problem, p)),
      .programmatic = p.overlap != 0,
      .nonportable_cluster = p.split_cluster && p.splits > 8,
      .arguments = {TensorArgument{"A"}, TensorArgument{"B"}, TensorArgument{"C"}},
  };
  if (UsesWorkspace(p)) launch.arguments.emplace_back(WorkspaceArgument{"partials"});
  for (const char* size : {"M", "N", "K"}) {
    launch.arguments.emplace_back(IntArgument{Expression::Literal(size)});
  }
  return launch;
}

LaunchOperation ReduceLaunch(const Problem& problem, const MmaSync& p) {
  const int64_t width = EdgeOf(problem, p) == Edge::kUnaligned ? 1 : 4;  // device kReduceWidth
  const std::string grid = "ceil_div(M * N, " + std::to_string(256 * width) + ")";
  return {
      .kernel = "hgemm_reduce",
      .grid = Along(Expression::Literal(grid)),
      .block = Along(Expression::Constant(256)),
      .cluster = Along(Expression::Constant(1)),
      .programmatic = p.early_reduce != 0,
      .arguments = {WorkspaceArgument{"partials"}, TensorArgument{"C"},
                    IntArgument{Expression::Literal("M")}, IntArgument{Expression::Literal("N")}},
  };
}

LaunchPlan MmaSyncPlan(const Problem& problem, const MmaSync& p) {
  LaunchPlan plan;
  plan.valid_when = MmaSyncValidWhen(problem, p);
  plan.operations.emplace_back(MmaSyncLaunch(problem, p));
  if (UsesWorkspace(p)) {
    const std::string bytes = "M * N * " + std::to_string(4 * p.splits);
    plan.workspaces.push_back({"partials", Expression::Literal(bytes)});
    plan.operations.emplace_back(ReduceLaunch(problem, p));
  }
  return plan;
}

}  // namespace

Config ToConfig(const MmaSync& p) { return ConfigOf<MmaSyncParameters>(p, kMmaSyncTable); }

Config LeastOfMmaSync() { return LeastOf<MmaSyncParameters>(kMmaSyncTable); }

MmaSyncParameters MmaSyncFromConfig(const Config& config) {
  return ParametersOf<MmaSyncParameters>(config, kMmaSyncTable);
}

int64_t MmaSyncThreads(const MmaSync& p) { return 32 * p.warps_m * p.warps_n * p.warps_k; }

int64_t MmaSyncSharedBytes(const MmaSync& p) {
  const int64_t ring = p.stages * (p.tile_m + p.tile_n) * p.tile_k * 2;
  const int64_t tile_f32 = p.tile_m * p.tile_n * 4;
  const int64_t staging =
      p.staged_store ? p.warps_m * p.warps_n * 16 * (p.tile_n / p.warps_n * 2 + 16) : 0;
  return std::max({ring, (p.warps_k - 1) * tile_f32, staging}) + (p.split_cluster ? tile_f32 : 0);
}

bool IsLegalMmaSync(const Problem& problem, const Target& target, const MmaSync& p) {
  constexpr int64_t kIntMax = (int64_t{1} << 31) - 1;
  if (target.compute_capability < 80 || std::max({problem.m, problem.n, problem.k}) > kIntMax) {
    return false;
  }
  if (!IsWellFormed(p) || Ctas(problem, p) > kIntMax || !IsLegalSplit(target, p)) return false;
  // Unaligned: whole chunks cannot be stored, and a thread stages its chunks in registers.
  const bool unaligned = EdgeOf(problem, p) == Edge::kUnaligned;
  if (CopyTurns(p) > (unaligned ? 10 : 32) || (unaligned && p.staged_store)) return false;
  return FitsTarget(problem, target, p);
}

std::vector<Config> MmaSyncConfigs(const Problem& problem, const Target& target) {
  std::vector<Config> configs;
  for (const MmaSync& tile : MmaSyncTiles(problem, target)) {
    for (const MmaSync& warps : Warps(tile)) {
      for (const MmaSync& p : Schedules(target, warps)) {
        if (IsLegalMmaSync(problem, target, p) && IsPlausibleMmaSync(problem, target, p)) {
          configs.push_back(ToConfig(p));
        }
      }
    }
  }
  return configs;
}

Candidate MakeMmaSync(const Problem& problem, const Config& config) {
  const MmaSync p = MmaSyncFromConfig(config);
  Candidate candidate;
  candidate.sources = DeviceSources(
      {"ptx.cuh", "mma_sync.cuh", "mma_sync_copy.cuh", "mma_sync_store.cuh", "mma_sync_tile.cuh"});
  candidate.entry = "hgemm.cu";
  candidate.sources[candidate.entry] = MmaSyncSource(problem, p);
  candidate.plan = MmaSyncPlan(problem, p);
  candidate.provenance.family = kMmaSyncName;
  candidate.provenance.config = config;
  return candidate;
}

}  // namespace warpsmith::hgemm
