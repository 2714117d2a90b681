// The catalogue: which kernel each shape gets, and what shows that it should. Text, one row a
// shape, so that two of them can be compared line by line and merged. Format:
// docs/files.md.
#ifndef WARPSMITH_HGEMM_CATALOGUE_H_
#define WARPSMITH_HGEMM_CATALOGUE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"
#include "core/protocol.h"
#include "core/space.h"
#include "core/verdict.h"
#include "hgemm/family.h"

namespace warpsmith::hgemm {

inline constexpr int kCatalogueVersion = 1;

// A row's level. The results of a compared row are a comparison's: more rounds than screening has
// and every mode, but one process and no audits, which certifying has.
inline constexpr std::string_view kScreenedLevel = "screened";
inline constexpr std::string_view kComparedLevel = "compared";
inline constexpr std::string_view kCertifiedLevel = "certified";

// In place of a cubin's hash, where the results are of a kernel whose cubin no one kept.
inline constexpr std::string_view kArtifactNotKept =
    "0000000000000000000000000000000000000000000000000000000000000000";

// What the shape's callers are best served with.
enum class Choice : uint8_t { kKernel, kCublasLt };
std::string_view Name(Choice choice);  // "kernel", "cublaslt"

// A baseline's name: cuBLASLt as the library runs it for this row's callers, in their layout. The
// bar is the faster of both layouts, and theirs may be the other one.
inline constexpr std::string_view kFallback = "fallback";

// The kernel beside one baseline in one mode. ratio = baseline time / kernel time.
struct CatalogueResult {
  Mode mode = Mode::kDeviceHot;
  std::string baseline;  // "cublaslt-auto"
  double kernel_us = 0, baseline_us = 0, ratio = 0;
  Interval interval;
};

struct CatalogueRow {
  Problem problem;
  std::string device;  // "NVIDIA H200"
  Choice choice = Choice::kCublasLt;
  Point kernel;                               // family and configuration
  std::string candidate, plan_id, artifact;   // SHA-256 each: sources and plan; plan; cubin
  std::vector<CatalogueResult> results;       // from 1
  std::string architecture, driver, toolkit;  // "sm_90a", "580.95", "nvrtc 13.0"
  std::string library;                        // the baselines': "cuBLASLt 13.1.0"
  std::string level;                          // kScreenedLevel, ...
  std::string date;                           // UTC, "2026-11-21T11:01:41Z"
};

struct Catalogue {
  std::vector<CatalogueRow> rows;  // in the order of their keys, no key twice
};

// What a catalogue holds one row of.
using CatalogueKey = std::pair<Problem, std::string_view>;
inline CatalogueKey KeyOf(const CatalogueRow& row) { return {row.problem, row.device}; }

// "64x128x256-TN f16 NVIDIA H200": the key, for people.
std::string KeyText(const CatalogueRow& row);

// The guard, max(kernel, baseline): the kernel, if its ratio is at least 0.99 in every mode and 1
// in the geometric mean of the modes that were measured; of the hot graph the smaller of the paired
// ratio and that of the medians. One mode but the hot graph may be below 0.99 if it cannot tell:
// its interval holds 1 and is wider than 2 % to each side. Two such modes, and it is the baseline
// after all. Only results beside one baseline count: the fallback where there are any, else the
// first.
Choice Guarded(std::span<const CatalogueResult> results);

// The first of the results that Guarded looks at; `results` must not be empty.
const CatalogueResult& Deciding(std::span<const CatalogueResult> results);

// The row chose otherwise than its results say, and how that comes about.
bool IsAgainstTheRule(const CatalogueRow& row);
inline constexpr std::string_view kAgainstTheRule =
    "chosen against the rule: by hand, by 'guard --strict', or by another version";

// `source` (a file's name) goes into errors: kBadInput with the line, kVersion for another version.
Result<Catalogue> ParseCatalogue(std::string_view source, std::string_view text);

// What ParseCatalogue reads. kBadInput where a text of a row would break the format.
Result<std::string> ToText(const Catalogue& catalogue);
// SHA-256 of ToText without the line that tells of the others: comparisons name their catalogue by
// it, since notes and the order of rows do not matter to it. kBadInput as there.
Result<std::string> CatalogueHash(const Catalogue& catalogue);
std::string RowText(const CatalogueRow& row);  // its line there, without the line's end
// With as many digits as a row of the text has, so that what is chosen by them is chosen by what is
// read back.
std::vector<CatalogueResult> AsWritten(std::vector<CatalogueResult> results);

// Of two rows for one shape: compared ones are surer than certified ones, those than screened ones,
// so that only a comparison takes back what a comparison decided. Then comes, of rows that were not
// compared, a choice against the rule; then the greater lower bound of the first result; then the
// later date; then, of compared rows too, a choice against the rule.
bool IsSurer(const CatalogueRow& one, const CatalogueRow& other);

// Of rows with one key the surest stays. Neither the order of `parts` matters nor whether they are
// merged at once.
Catalogue Merge(std::span<const Catalogue> parts);

// The row of a problem, or null. `device`: empty means any.
const CatalogueRow* Find(const Catalogue& catalogue, const Problem& problem,
                         std::string_view device = {});

// Why the row chose as it did, in several lines for a person.
std::string Explain(const CatalogueRow& row);

// "wgmma stages=4 tile_k=64": what PointName (core/space.h) writes.
Result<Point> PointFromName(std::string_view text);

// --- What this program makes of a catalogue's kernels: not always what was measured, since device
// code changes.

std::string PlanId(const LaunchPlan& plan);  // SHA-256 of its JSON

// Does the row's configuration become other sources, flags or another plan than the row's?
// kBadInput: a kernel that this program does not know.
Result<bool> HasChanged(const CatalogueRow& row);

// Rows whose kernels have changed get the hashes of what is built now, and kArtifactNotKept;
// others, and those that are not known here, stay as they are.
Catalogue AsBuiltNow(Catalogue catalogue);

// Of each configuration that the catalogue chose, apart by layout and element type, the row with
// the least M * N * K; the least first.
std::vector<CatalogueRow> OneOfEachConfiguration(const Catalogue& catalogue);

// --- What won on shapes nearby, as points of another shape's space: where a cost model ranks
// wrongly, neighbours know better.

// Of the problem's layout and type, on whatever device, the best kernels of the shapes nearest to
// it (sums of factors of two in M and N, half as much in K; at most three away), its own included,
// the nearest first. Also of M and N exchanged, with rows and columns of their tiles exchanged.
// Points of `space`, none twice, as many as `most` or the problem's own, whichever are more. A
// kernel that `space` does not hold stands for the point of its family that differs least from it:
// only in depth of the ring, order and rounds of tiles, warps of the producer, and how it stores
// and overlaps.
std::vector<Point> LikeWinnersNearby(const Catalogue& catalogue, const Problem& problem,
                                     const Space& space, size_t most);

// The space with the problem's own kernels by the catalogue at its end, those of whatever device
// that are legal on the target: a space leaves out what is seldom worth a look, and what won may be
// that.
Space WithOwnWinners(const Catalogue& catalogue, const Problem& problem, const Target& target,
                     const Space& space);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_CATALOGUE_H_
