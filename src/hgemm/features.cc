#include "hgemm/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "hgemm/family_parts.h"
#include "hgemm/mma_sync_family.h"
#include "hgemm/tiny_family.h"
#include "hgemm/wgmma_family.h"

namespace warpsmith::hgemm {
namespace {

// Of an SM of sm_90; the CUDA programming guide's table of technical specifications.
constexpr int64_t kSmSharedBytes = 233472, kSmRegisters = 65536, kSmThreads = 2048, kSmCtas = 32;
constexpr int64_t kReservedSharedBytes = 1024;  // of every CTA
constexpr int64_t kMostRegisters = 255;
constexpr double kBytes = 2;  // of an element

Workload TinyWorkload(const Problem& problem, const Config& config) {
  const TinyParameters p = TinyFromConfig(config);
  const int64_t fragments = p.warp_m / 16 * (p.warp_n / 8);
  Workload w;
  w.tile_m = p.warp_m * p.tile_warps_m;
  w.tile_n = p.warp_n * p.tile_warps_n;
  w.tile_k = 32 * p.unroll * p.slice_warps;
  w.ctas = std::max<int64_t>(1, TinyCtas(problem, p));
  w.cluster = w.parts = p.cluster_slices;
  w.threads = TinyThreads(p);
  w.registers = 40 + fragments * 4 * p.accumulators + p.unroll * (p.warp_m + p.warp_n);
  w.fetched_rows = w.tile_m + w.tile_n;
  return w;
}

Workload MmaSyncWorkload(const Problem& problem, const Config& config) {
  const MmaSyncParameters p = MmaSyncFromConfig(config);
  const int64_t rows = p.tile_m / p.warps_m / 16, columns = p.tile_n / p.warps_n / 8;
  Workload w;
  w.tile_m = p.tile_m;
  w.tile_n = p.tile_n;
  w.tile_k = p.tile_k;
  w.ctas = CeilDiv(problem.m, p.tile_m) * CeilDiv(problem.n, p.tile_n) * p.splits;
  w.cluster = p.split_cluster ? p.splits : 1;
  w.parts = p.splits;
  w.threads = MmaSyncThreads(p);
  w.registers = 48 + 4 * rows * columns + 2 * (4 * rows + 2 * columns);
  w.shared_bytes = MmaSyncSharedBytes(p);
  w.stages = p.stages;
  w.fetched_rows = p.tile_m + p.tile_n;
  w.kernels = p.splits > 1 && !p.split_cluster ? 2 : 1;
  return w;
}

Workload WgmmaWorkload(const Problem& problem, const Config& config) {
  const WgmmaParameters p = WgmmaFromConfig(config);
  Workload w;
  w.tile_m = p.tile_m;
  w.tile_n = p.tile_n;
  w.tile_k = p.tile_k;
  w.ctas = CeilDiv(CeilDiv(problem.m, p.tile_m), p.cluster_m) * p.cluster_m *
           CeilDiv(CeilDiv(problem.n, p.tile_n), p.cluster_n) * p.cluster_n * WgmmaParts(p);
  w.cluster = WgmmaClusterSize(p);
  w.parts = WgmmaParts(p);
  w.threads = WgmmaThreads(p);
  w.registers = 40 + WgmmaAccumulators(p);
  w.shared_bytes = WgmmaSharedBytes(p);
  w.stages = p.stages;
  w.columns = WgmmaWarpgroupColumns(p);
  w.fetched_rows = CeilDiv(p.tile_m, p.cluster_n) + CeilDiv(p.tile_n, p.cluster_m);
  w.kernels = p.slices > 1 ? 2 : 1;
  return w;
}

struct FamilyWorkload {
  std::string_view family;
  Workload (*workload)(const Problem&, const Config&);
};
constexpr std::array<FamilyWorkload, 3> kWorkloads = {
    {{"tiny", TinyWorkload}, {"mma_sync", MmaSyncWorkload}, {"wgmma", WgmmaWorkload}}};

// Nominal rates of one SM of an H100 or H200 a cycle, from their data sheets. They set bounds of
// one configuration against each other; what the device really reaches is for the trees to learn.
constexpr double kProductsPerCycle = 2048;  // of the tensor cores
constexpr double kL2BytesPerCycle = 64;     // that arrive in an SM
constexpr double kStoreBytesPerCycle = 32;  // that leave an SM
constexpr double kHbmBytesPerCycle = 2400;  // of the whole device
constexpr double kStartCycles = 1000;       // of a kernel's first loads and last stores

double Double(int64_t value) { return static_cast<double>(value); }
double Log2(double value) { return std::log2(std::max(value, 1.0)); }
double Log2(int64_t value) { return Log2(Double(value)); }

// What the derived features are computed from. Bytes, elements and products of multiply-adds.
struct Context {
  Context(const Problem& of, const Target& target, const Workload& w) : problem(of), work(w) {
    sms = std::max(1, target.sm_count);
    const int64_t registers = std::min(w.registers, kMostRegisters);
    resident =
        std::max<int64_t>(1, std::min({kSmRegisters / std::max<int64_t>(1, registers * w.threads),
                                       kSmSharedBytes / (w.shared_bytes + kReservedSharedBytes),
                                       kSmThreads / std::max<int64_t>(1, w.threads), kSmCtas}));
    busiest = CeilDiv(w.ctas, sms);
    elements_of_c = Double(of.m) * Double(of.n);
    products = elements_of_c * Double(of.k);
    operand_bytes = kBytes * Double(of.k) * (Double(of.m) + Double(of.n));
    tile_elements = Double(w.tile_m) * Double(w.tile_n);
    part_of_k = Double(of.k) / Double(w.parts);
    blocks = part_of_k / Double(w.tile_k);
    fetched_bytes = kBytes * Double(w.fetched_rows) * part_of_k;
    tensor_cycles = Double(busiest) * tile_elements * part_of_k / kProductsPerCycle;
    load_cycles = Double(busiest) * fetched_bytes / kL2BytesPerCycle;
    hbm_cycles = (operand_bytes + kBytes * elements_of_c) / kHbmBytesPerCycle;
    store_cycles = kBytes * elements_of_c / Double(std::min(w.ctas, sms)) / kStoreBytesPerCycle;
    bound_cycles = std::max({tensor_cycles, load_cycles, hbm_cycles});
  }
  // Rows of A and columns of B that CTAs which run together read, if their tiles make a square.
  double PatchRows() const {
    const double elements =
        Double(std::min(work.ctas, sms * resident)) / Double(work.parts) * tile_elements;
    const double rows = std::min(std::sqrt(elements), Double(problem.m));
    return rows + elements / rows;
  }
  int64_t Rounds() const { return CeilDiv(busiest, resident); }
  // What no configuration can do without.
  double FloorCycles() const {
    return std::max(products / Double(sms) / kProductsPerCycle, hbm_cycles);
  }

  const Problem& problem;
  const Workload& work;
  int64_t sms, resident;                          // SMs of the device; CTAs that fit on one
  int64_t busiest;                                // CTAs of the SM that has the most
  double elements_of_c, products, operand_bytes;  // of the problem
  double tile_elements, part_of_k, blocks, fetched_bytes;                     // of a CTA
  double tensor_cycles, load_cycles, hbm_cycles, store_cycles, bound_cycles;  // of the busiest SM
};

struct Derived {
  std::string_view name;
  double (*value)(const Context&);
};
using C = const Context&;
constexpr std::array kDerived = {
    // The problem.
    Derived{"log2_m", [](C c) { return Log2(c.problem.m); }},
    Derived{"log2_n", [](C c) { return Log2(c.problem.n); }},
    Derived{"log2_k", [](C c) { return Log2(c.problem.k); }},
    Derived{"log2_elements_of_c", [](C c) { return Log2(c.elements_of_c); }},
    Derived{"log2_operand_bytes", [](C c) { return Log2(c.operand_bytes); }},
    Derived{"log2_products", [](C c) { return Log2(c.products); }},
    Derived{"row_major_b", [](C c) { return c.problem.layout == Layout::kNN ? 1.0 : 0.0; }},
    // A CTA.
    Derived{"family", [](C c) { return Double(c.work.family); }},
    Derived{"cta_m", [](C c) { return Double(c.work.tile_m); }},
    Derived{"cta_n", [](C c) { return Double(c.work.tile_n); }},
    Derived{"cta_elements", [](C c) { return c.tile_elements; }},
    Derived{"cluster", [](C c) { return Double(c.work.cluster); }},
    Derived{"parts_of_k", [](C c) { return Double(c.work.parts); }},
    Derived{"threads", [](C c) { return Double(c.work.threads); }},
    Derived{"registers", [](C c) { return Double(c.work.registers); }},
    Derived{"shared_bytes", [](C c) { return Double(c.work.shared_bytes); }},
    Derived{"instruction_columns", [](C c) { return Double(c.work.columns); }},
    Derived{"kernels", [](C c) { return Double(c.work.kernels); }},
    Derived{"blocks_per_cta", [](C c) { return c.blocks; }},
    Derived{"blocks_per_stage", [](C c) { return c.blocks / Double(c.work.stages); }},
    Derived{"products_per_byte",
            [](C c) { return c.tile_elements * c.part_of_k / c.fetched_bytes; }},
    // How CTAs fill the device.
    Derived{"resident_ctas", [](C c) { return Double(c.resident); }},
    Derived{"ctas_per_sm_of_device", [](C c) { return Double(c.work.ctas) / Double(c.sms); }},
    Derived{"busiest_sm_ctas", [](C c) { return Double(c.busiest); }},
    Derived{"rounds", [](C c) { return Double(c.Rounds()); }},
    Derived{"idle_share", [](C c) { return 1 - Double(c.work.ctas) / Double(c.busiest * c.sms); }},
    Derived{"wasted_share",  // of tiles that reach over the edges of C
            [](C c) {
              return 1 - c.elements_of_c * Double(c.work.parts) /
                             (Double(c.work.ctas) * c.tile_elements);
            }},
    Derived{"blocks_in_turn", [](C c) { return c.blocks * Double(c.Rounds()); }},
    Derived{"log2_blocks_of_busiest_sm", [](C c) { return Log2(c.blocks * Double(c.busiest)); }},
    // What moves.
    Derived{"log2_busiest_sm_products",
            [](C c) { return Log2(c.tensor_cycles * kProductsPerCycle); }},
    Derived{"log2_busiest_sm_bytes", [](C c) { return Log2(c.load_cycles * kL2BytesPerCycle); }},
    Derived{"log2_fetched_bytes", [](C c) { return Log2(c.fetched_bytes * Double(c.work.ctas)); }},
    Derived{"log2_bytes_in_flight",
            [](C c) {
              const int64_t resident = std::min(c.resident, c.busiest);
              return Log2(kBytes * Double(resident * c.work.stages) *
                          Double(c.work.tile_k * (c.work.tile_m + c.work.tile_n)));
            }},
    Derived{"log2_partial_sum_bytes",
            [](C c) { return Log2(4 * c.elements_of_c * Double(c.work.parts - 1)); }},
    Derived{"log2_patch_bytes",
            [](C c) { return Log2(kBytes * c.PatchRows() * c.part_of_k * Double(c.work.parts)); }},
    // Bounds, beside each other and beside what the problem needs at least.
    Derived{"log2_excess_products",
            [](C c) {
              return std::log2(c.tensor_cycles * kProductsPerCycle * Double(c.sms) / c.products);
            }},
    Derived{"log2_excess_bytes",
            [](C c) { return std::log2(c.fetched_bytes * Double(c.work.ctas) / c.operand_bytes); }},
    Derived{"log2_tensor_over_load",
            [](C c) { return std::log2(c.tensor_cycles / c.load_cycles); }},
    Derived{"log2_tensor_over_hbm",
            [](C c) { return std::log2((c.tensor_cycles + 1) / (c.hbm_cycles + 1)); }},
    Derived{"log2_cycles",
            [](C c) {
              const double starts = kStartCycles * Double(c.Rounds());
              return std::log2(c.bound_cycles + c.store_cycles + starts);
            }},
    Derived{"log2_cycles_over_floor",
            [](C c) {
              return std::log2((c.bound_cycles + c.store_cycles + kStartCycles) /
                               (c.FloorCycles() + kStartCycles));
            }},
};

// A parameter's name, and its place among the features.
struct Columns {
  std::vector<std::string> names;
  std::map<std::string, size_t, std::less<>> of_parameter;
};

const Columns& AllColumns() {
  static const Columns columns = [] {
    Columns made;
    for (const Derived& derived : kDerived) made.names.emplace_back(derived.name);
    std::set<std::string> parameters;
    for (const Family& family : Families()) {
      for (const auto& [name, value] : family.defaults()) parameters.insert(name);
    }
    for (const std::string& name : parameters) {
      made.of_parameter.emplace(name, made.names.size());
      made.names.push_back(name);
    }
    return made;
  }();
  return columns;
}

}  // namespace

std::optional<Workload> WorkloadOf(const Problem& problem, const Point& point) {
  for (size_t i = 0; i < kWorkloads.size(); ++i) {
    if (kWorkloads[i].family != point.family) continue;
    Workload workload = kWorkloads[i].workload(problem, point.config);
    workload.family = static_cast<int64_t>(i);
    return workload;
  }
  return std::nullopt;
}

std::span<const std::string> FeatureNames() { return AllColumns().names; }

std::vector<float> FeaturesOf(const Problem& problem, const Target& target, const Point& point) {
  const std::optional<Workload> work = WorkloadOf(problem, point);
  if (!work) return {};
  const Columns& columns = AllColumns();
  const Context context(problem, target, *work);
  std::vector<float> features(columns.names.size(), -1);
  for (size_t i = 0; i < kDerived.size(); ++i) {
    features[i] = static_cast<float>(kDerived[i].value(context));
  }
  for (const auto& [name, value] : WithAllParameters(point).config) {
    const auto found = columns.of_parameter.find(name);
    if (found != columns.of_parameter.end()) features[found->second] = static_cast<float>(value);
  }
  return features;
}

}  // namespace warpsmith::hgemm
