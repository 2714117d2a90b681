#include "report/analysis/kernel_traits.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>

namespace warpsmith::analysis {
namespace {

using Value = std::optional<TraitValue>;

std::optional<double> Get(const Point& point, std::string_view name) {
  const auto entry = point.config.find(name);
  if (entry == point.config.end()) return std::nullopt;
  return static_cast<double>(entry->second);
}

double GetOr(const Point& point, std::string_view name, double otherwise) {
  return Get(point, name).value_or(otherwise);
}

// The product of those that the family has; nullopt where it has none of them.
std::optional<double> ProductOf(const Point& point, std::initializer_list<std::string_view> names) {
  std::optional<double> product;
  for (const std::string_view name : names) {
    if (const auto value = Get(point, name)) product = product.value_or(1) * *value;
  }
  return product;
}

// Of any size: a file's numbers may multiply to more than an integer holds.
std::string Whole(double value) {
  char text[512];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

Value Counted(std::optional<double> count) {
  if (!count) return std::nullopt;
  return TraitValue{Whole(*count), *count};
}

std::optional<double> TileRows(const Point& point) {
  return point.config.contains("tile_m") ? Get(point, "tile_m")
                                         : ProductOf(point, {"warp_m", "tile_warps_m"});
}

std::optional<double> TileColumns(const Point& point) {
  return point.config.contains("tile_n") ? Get(point, "tile_n")
                                         : ProductOf(point, {"warp_n", "tile_warps_n"});
}

// Family tiny has no tile_k: it loads `unroll` blocks of 32 at a time.
std::optional<double> KBlock(const Point& point) {
  if (const auto tile_k = Get(point, "tile_k")) return tile_k;
  const auto unroll = Get(point, "unroll");
  if (!unroll) return std::nullopt;
  return 32 * *unroll;
}

std::optional<double> Stages(const Point& point) { return Get(point, "stages"); }

std::optional<double> RingKib(const Point& point) {
  const auto rows = TileRows(point), columns = TileColumns(point);
  const auto stages = Stages(point), k_block = KBlock(point);
  if (!rows || !columns || !stages || !k_block) return std::nullopt;
  constexpr double kElementBytes = 2;
  return *stages * *k_block * (*rows + *columns) * kElementBytes / 1024;
}

std::optional<double> CtasSharingK(const Point& point) {
  return ProductOf(point, {"splits", "slices", "cluster_slices"});
}

std::optional<double> WarpsSharingK(const Point& point) {
  return ProductOf(point, {"slice_warps", "warps_k"});
}

std::optional<double> TilesOfCluster(const Point& point) {
  return ProductOf(point, {"cluster_m", "cluster_n"});
}

Value FamilyOf(const Point& point) {
  constexpr std::string_view kKnown[] = {"tiny", "mma_sync", "wgmma"};
  const auto place = std::find(std::begin(kKnown), std::end(kKnown), point.family);
  return TraitValue{point.family, static_cast<double>(place - std::begin(kKnown))};
}

Value TileOf(const Point& point) {
  const auto rows = TileRows(point), columns = TileColumns(point);
  if (!rows || !columns) return std::nullopt;
  // By area, then by rows: no tile has 2^20 of them.
  return TraitValue{Whole(*rows) + " x " + Whole(*columns), *rows * *columns + *rows / 0x1p20};
}

Value WhereKMeets(const Point& point) {
  const bool over_workspace =
      GetOr(point, "slices", 1) > 1 ||
      (GetOr(point, "splits", 1) > 1 && GetOr(point, "split_cluster", 1) == 0);
  const bool in_cluster = GetOr(point, "cluster_slices", 1) > 1 ||
                          (GetOr(point, "splits", 1) > 1 && GetOr(point, "split_cluster", 1) != 0);
  const bool in_cta = WarpsSharingK(point).value_or(1) > 1;
  std::string text;
  const auto add = [&](bool is_so, std::string_view where) {
    if (is_so) text += (text.empty() ? "" : " + ") + std::string(where);
  };
  add(in_cta, "warps");
  add(in_cluster, "cluster");
  add(over_workspace, "second kernel");
  const double order = (in_cta ? 1 : 0) + (in_cluster ? 2 : 0) + (over_workspace ? 4 : 0);
  return TraitValue{text.empty() ? "not shared" : text, order};
}

Value ClusterOf(const Point& point) {
  const auto rows = Get(point, "cluster_m"), columns = Get(point, "cluster_n");
  if (!rows || !columns) return std::nullopt;
  return TraitValue{Whole(*rows) + " x " + Whole(*columns), *rows * *columns + *rows / 0x1p20};
}

Value TurnsOf(const Point& point) {
  if (GetOr(point, "persistent", 0) == 0) return TraitValue{"a CTA a tile", 0};
  const bool in_turns = GetOr(point, "ping_pong", 0) != 0;
  const bool even = GetOr(point, "even_rounds", 0) != 0;
  return TraitValue{std::string(in_turns ? "persistent, ping-pong" : "persistent") +
                        (even ? ", even rounds" : ""),
                    1.0 + (even ? 1 : 0) + (in_turns ? 2 : 0)};
}

Value RasterOf(const Point& point) {
  const auto group = Get(point, "raster_group");
  if (!group) return std::nullopt;
  const auto along_m = Get(point, "raster_along_m");
  if (!along_m) return TraitValue{"groups of " + Whole(*group), 4 * *group};
  return TraitValue{"groups of " + Whole(*group) + (*along_m != 0 ? ", along M" : ", along N"),
                    4 * *group + 1 + *along_m};
}

Value OverlapOf(const Point& point) {
  const auto overlap = Get(point, "overlap");
  if (!overlap) return std::nullopt;
  if (*overlap == 0) return TraitValue{"0: after it", 0};
  if (*overlap == 1) return TraitValue{"1: early", 1};
  return TraitValue{Whole(*overlap) + ": early, lets next in", *overlap};
}

Value StoreOf(const Point& point) {
  const bool streamed = GetOr(point, "stream_c", 0) != 0;
  const bool by_tma = GetOr(point, "tma_store", 0) != 0;
  const bool staged = GetOr(point, "staged_store", 0) != 0;
  std::string text = by_tma ? "TMA" : staged ? "shared memory" : "registers";
  if (streamed) text += ", leaves L2 first";
  return TraitValue{text, (streamed ? 1.0 : 0.0) + (by_tma ? 4 : staged ? 2 : 0)};
}

constexpr Trait kTraits[] = {
    {"family", "Kernel family", "Which of the kernel templates the configuration is of.", "", 0,
     false, FamilyOf},
    {"tile", "Tile of a CTA", "Rows and columns of C that one CTA works on at a time.", "", 0, true,
     TileOf},
    {"k-block", "k-block",
     "Steps of K that are fetched together: a stage of the ring, or what is in flight to "
     "registers.",
     "", 0, true, [](const Point& point) { return Counted(KBlock(point)); }},
    {"stages", "Stages", "k-blocks in the ring of shared memory, loaded ahead of the products.", "",
     0, true, [](const Point& point) { return Counted(Stages(point)); }},
    {"split", "CTAs that share K", "A tile's K is divided between so many CTAs, summed in order.",
     "share a tile's K between CTAs", 1, true,
     [](const Point& point) { return Counted(CtasSharingK(point)); }},
    {"meeting", "Where the parts of K meet",
     "In a CTA between warps, in a cluster's shared memory, or in global memory, where a second "
     "kernel adds.",
     "share K in one way or another", 0, false, WhereKMeets},
    {"cluster", "Cluster", "Tiles along M and N whose CTAs receive the same operands by multicast.",
     "share loads in a cluster", 1.5, true, ClusterOf},
    {"turns", "Persistence and turns",
     "Whether CTAs walk over several tiles, and whether two warpgroups take turns at multiplying "
     "and storing.",
     "are persistent", 0, false, TurnsOf},
    {"raster", "Raster (block swizzle)",
     "The order of tiles: how many are walked side by side, and along which side of C, for reuse "
     "in L2.",
     "", 0, true, RasterOf},
    {"overlap", "Overlap with the launch ahead",
     "Whether a launch takes its place on the SMs before the one ahead of it has ended (1), and "
     "once "
     "that has ended lets the next one take its place (2).",
     "begin before the launch ahead has ended", 0, true, OverlapOf},
    {"store", "Store of C", "How results leave the registers.", "do more than store from registers",
     0, false, StoreOf}};

constexpr Quantity kQuantities[] = {
    {"tile rows", "tile", TileRows},
    {"tile columns", "tile", TileColumns},
    {"tile area", "tile",
     [](const Point& p) -> std::optional<double> {
       const auto rows = TileRows(p), columns = TileColumns(p);
       if (!rows || !columns) return std::nullopt;
       return *rows * *columns;
     }},
    {"tile rows / columns", "tile",
     [](const Point& p) -> std::optional<double> {
       const auto rows = TileRows(p), columns = TileColumns(p);
       if (!rows || !columns || *columns <= 0) return std::nullopt;
       return *rows / *columns;
     }},
    {"k-block", "k-block", KBlock},
    {"stages", "stages", Stages},
    {"ring, KiB", "stages", RingKib},
    {"CTAs that share K", "split", CtasSharingK},
    {"warps that share K", "meeting", WarpsSharingK},
    {"tiles of a cluster", "cluster", TilesOfCluster},
    {"persistent (1) or not (0)", "turns", [](const Point& p) { return Get(p, "persistent"); }},
    {"raster group", "raster", [](const Point& p) { return Get(p, "raster_group"); }},
    {"overlap", "overlap", [](const Point& p) { return Get(p, "overlap"); }}};

}  // namespace

std::span<const Trait> Traits() { return kTraits; }
std::span<const Quantity> Quantities() { return kQuantities; }

}  // namespace warpsmith::analysis
