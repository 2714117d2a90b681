#include "hgemm/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "embedded/hgemm_cost_model.h"
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

// How a configuration divides its problem.
struct Division {
  int64_t tile_m = 1, tile_n = 1, tile_k = 1;  // of a CTA, elements; tile_k: between two waits
  int64_t ctas = 1;
  int64_t cluster = 1;       // CTAs that must start together within one GPC
  int64_t parts = 1;         // K ranges of a tile that different CTAs add up
  int64_t threads = 32;      // of a CTA
  int64_t registers = 32;    // of a thread, estimated
  int64_t shared_bytes = 0;  // of a CTA
  int64_t stages = 1;        // k-blocks that are loaded ahead
  int64_t columns = 8;       // of one matrix instruction
  int64_t fetched_rows = 0;  // of A and B that a CTA asks L2 for, without what multicast brings
  int64_t kernels = 1;       // that one product launches
  int64_t family = 0;        // its number, as trees know it
};

Division TinyDivision(const Problem& problem, const Config& config) {
  const TinyParameters p = TinyFromConfig(config);
  const int64_t fragments = p.warp_m / 16 * (p.warp_n / 8);
  Division w;
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

Division MmaSyncDivision(const Problem& problem, const Config& config) {
  const MmaSyncParameters p = MmaSyncFromConfig(config);
  const int64_t rows = p.tile_m / p.warps_m / 16, columns = p.tile_n / p.warps_n / 8;
  Division w;
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

Division WgmmaDivision(const Problem& problem, const Config& config) {
  const WgmmaParameters p = WgmmaFromConfig(config);
  Division w;
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

struct FamilyDivision {
  std::string_view family;
  Division (*divide)(const Problem&, const Config&);
};
constexpr std::array<FamilyDivision, 3> kDivisions = {
    {{"tiny", TinyDivision}, {"mma_sync", MmaSyncDivision}, {"wgmma", WgmmaDivision}}};

// nullopt for a family that this program does not know.
std::optional<Division> DivisionOf(const Problem& problem, const Point& point) {
  for (size_t i = 0; i < kDivisions.size(); ++i) {
    if (kDivisions[i].family != point.family) continue;
    Division division = kDivisions[i].divide(problem, point.config);
    division.family = static_cast<int64_t>(i);
    return division;
  }
  return std::nullopt;
}

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
  Context(const Problem& of, const Target& target, const Division& w) : problem(of), work(w) {
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
  const Division& work;
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

std::span<const std::string> FeatureNames() { return AllColumns().names; }

std::vector<float> FeaturesOf(const Problem& problem, const Target& target, const Point& point) {
  const std::optional<Division> work = DivisionOf(problem, point);
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

// Gradient-boosted regression trees: the prediction is the sum of the leaves that the features lead
// to.
class TreeModel {
 public:
  // `known`: the features that this program computes, in their order.
  static Result<TreeModel> From(const JsonReader& root, std::span<const std::string> known);

  // `features`: as many as `known` had.
  double Predict(std::span<const float> features) const;

 private:
  struct Node {
    int32_t feature = -1;  // -1: a leaf
    int32_t left = 0, right = 0;
    double number = 0;  // the threshold of an inner node, the value of a leaf
  };
  // `places`: where each feature that the file names lies among those of this program.
  Status Add(const JsonReader& tree, std::span<const int32_t> places);

  std::vector<Node> nodes_;     // of all trees
  std::vector<int32_t> roots_;  // each tree's first node
};

namespace {

bool Has(const Point& point, std::string_view parameter, int64_t at_least) {
  const auto found = point.config.find(parameter);
  return found != point.config.end() && found->second >= at_least;
}

}  // namespace

Result<CostModel> CostModel::Parse(std::string_view source, std::string_view text) {
  const nlohmann::json document = TRY(ParseJson(source, text));
  const JsonReader root(std::string(source), document);
  auto trees = std::make_shared<const TreeModel>(TRY(TreeModel::From(root, FeatureNames())));
  const JsonReader best = root.At("best_us");
  const BestUs best_us{TRY(best.At("fixed_us").Number()),
                       TRY(best.At("us_per_giga_product").Number()),
                       TRY(best.At("us_per_megabyte").Number())};
  const auto [lowest, highest] =
      std::minmax({best_us.fixed, best_us.per_giga_product, best_us.per_megabyte});
  if (!(lowest >= 0) || !(highest > 0) || !std::isfinite(highest)) {
    return best.Bad("expected three times from 0, not all of them 0");
  }
  return CostModel(std::move(trees), best_us);
}

const CostModel& CostModel::BuiltIn() {
  static const CostModel model = [] {
    const EmbeddedFile& file = embedded::HgemmCostModel().front();
    Result<CostModel> parsed = Parse(file.path, file.contents);
    CHECK(parsed.ok());  // a test reads it
    return *std::move(parsed);
  }();
  return model;
}

double CostModel::PredictUs(const Problem& problem, const Target& target,
                            const Point& point) const {
  const std::vector<float> features = FeaturesOf(problem, target, point);
  if (features.empty()) return std::numeric_limits<double>::infinity();
  const auto m = static_cast<double>(problem.m), n = static_cast<double>(problem.n),
             k = static_cast<double>(problem.k);
  const double best_us = best_.fixed + best_.per_giga_product * (m * n * k / 1e9) +
                         best_.per_megabyte * (2 * (m * k + k * n + m * n) / 1e6);
  return best_us * std::exp(trees_->Predict(features));
}

double PredictUs(const Problem& problem, const Target& target, const Point& point) {
  return CostModel::BuiltIn().PredictUs(problem, target, point);
}

std::string ArmOf(const Problem& problem, const Point& point) {
  const std::optional<Division> work = DivisionOf(problem, point);
  if (!work) return point.family;
  std::string arm =
      point.family + " " + std::to_string(work->tile_m) + "x" + std::to_string(work->tile_n);
  if (Has(point, "slices", 2)) arm += " sliced";
  if (Has(point, "ping_pong", 1)) arm += " in turns";
  if (Has(point, "direct_load", 1)) arm += " direct";
  return arm;
}

namespace {

Error OfAnotherVersion(Error error) {
  error.code = ErrorCode::kVersion;
  return error;
}

// For each name of the file the place of that feature in this program.
Result<std::vector<int32_t>> PlacesOf(const JsonReader& names, std::span<const std::string> known) {
  std::vector<int32_t> places;
  for (const JsonReader& item : TRY(names.Items())) {
    const std::string name = TRY(item.String());
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      return OfAnotherVersion(item.Bad(
          "expected a feature that 'warpsmith hgemm features' names, found '" + name + "'"));
    }
    places.push_back(static_cast<int32_t>(found - known.begin()));
  }
  return places;
}

// One of a tree's arrays. There are tens of thousands of numbers, too many for a reader each.
Result<std::vector<double>> Numbers(const JsonReader& column) {
  if (column.json() == nullptr || !column.json()->is_array()) {
    return column.Bad("expected an array of numbers");
  }
  std::vector<double> numbers;
  for (const nlohmann::json& item : *column.json()) {
    if (!item.is_number()) return column.Bad("expected an array of numbers");
    numbers.push_back(item.get<double>());
  }
  return numbers;
}

// As an index from `lowest` to below `end`.
std::optional<int32_t> IndexIn(double number, size_t lowest, size_t end) {
  if (!(number >= static_cast<double>(lowest)) || !(number < static_cast<double>(end))) {
    return std::nullopt;
  }
  return static_cast<int32_t>(number);
}

}  // namespace

Status TreeModel::Add(const JsonReader& tree, std::span<const int32_t> places) {
  const std::vector<double> features = TRY(Numbers(tree.At("feature")));
  const std::vector<double> thresholds = TRY(Numbers(tree.At("threshold")));
  const std::vector<double> left = TRY(Numbers(tree.At("left")));
  const std::vector<double> right = TRY(Numbers(tree.At("right")));
  const std::vector<double> values = TRY(Numbers(tree.At("value")));
  const size_t size = features.size();
  if (size == 0 || thresholds.size() != size || left.size() != size || right.size() != size ||
      values.size() != size) {
    return tree.Bad("expected five arrays of one length, of at least one node");
  }
  const auto first = static_cast<int32_t>(nodes_.size());
  roots_.push_back(first);
  for (size_t i = 0; i < size; ++i) {
    Node& node = nodes_.emplace_back();
    if (features[i] < 0) {
      node.number = values[i];
      continue;
    }
    // Children come after their parent, so that no path is a circle.
    const auto place = IndexIn(features[i], 0, places.size());
    const auto to_left = IndexIn(left[i], i + 1, size), to_right = IndexIn(right[i], i + 1, size);
    if (!place || !to_left || !to_right) {
      return tree.Bad("node " + std::to_string(i) +
                      ": expected one of \"features\" and two nodes that come later");
    }
    node.feature = places[static_cast<size_t>(*place)];
    node.number = thresholds[i];
    node.left = first + *to_left;
    node.right = first + *to_right;
  }
  return {};
}

Result<TreeModel> TreeModel::From(const JsonReader& root, std::span<const std::string> known) {
  if (TRY(root.At("schema").String()) != "warpsmith.cost-model") {
    return root.At("schema").Bad("expected \"warpsmith.cost-model\"");
  }
  if (TRY(root.At("version").Int()) != 1) {
    return OfAnotherVersion(root.At("version").Bad("expected 1"));
  }
  const std::vector<int32_t> places = TRY(PlacesOf(root.At("features"), known));
  TreeModel model;
  for (const JsonReader& tree : TRY(root.At("trees").Items())) TRY(model.Add(tree, places));
  return model;
}

double TreeModel::Predict(std::span<const float> features) const {
  double sum = 0;
  for (const int32_t root : roots_) {
    const Node* node = &nodes_[static_cast<size_t>(root)];
    while (node->feature >= 0) {
      const bool left = features[static_cast<size_t>(node->feature)] <= node->number;
      node = &nodes_[static_cast<size_t>(left ? node->left : node->right)];
    }
    sum += node->number;
  }
  return sum;
}

}  // namespace warpsmith::hgemm
