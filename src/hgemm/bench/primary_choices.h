// The primary baseline of each shape: chosen in each mode and kept on disk, and what was kept for
// the shapes of a catalogue.
#ifndef WARPSMITH_HGEMM_BENCH_PRIMARY_CHOICES_H_
#define WARPSMITH_HGEMM_BENCH_PRIMARY_CHOICES_H_

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "hgemm/bench/options.h"
#include "hgemm/catalogue.h"
#include "judge/baseline/gemm_baseline.h"
#include "task/hgemm_task.h"

namespace warpsmith::hgemm {

struct Primaries {
  task::HgemmShape shape;
  judge::ModeChoices choices;
};

// The bars of the shapes of `hgemm bench --choose`, in every mode. Choices are kept on disk as they
// are made: the same command goes on with what is missing. Progress is said on stderr.
Result<std::vector<Primaries>> ChoosePrimaries(search::Machine& machine,
                                               const BenchOptions& options);

// A row a mode, with the columns kPrimaryColumns; and all of them as a JSON document.
inline constexpr std::string_view kPrimaryColumns =
    "m,n,k,dtype,mode,call,us,listed_us,tried,contest\n";
std::string RowsOf(const Primaries& primaries, const std::string& dtype);
nlohmann::json JsonOf(const std::vector<Primaries>& all);

// Reads each device's, driver's and library's choices once.
class LtChoices {
 public:
  // The algorithm for the row's callers, as cuda::ToHex: that of its layout, or of the faster
  // layout where that is the same; empty where none is known.
  std::string AlgorithmOf(const CatalogueRow& row);
  // Whether the bar is cuBLASLt's in the row's layout; false where that is not known.
  bool PrimaryIsOwn(const CatalogueRow& row);

 private:
  using Choices = std::map<std::string, baseline::GemmBaselineChoice>;
  const baseline::GemmBaselineChoice* Find(const CatalogueRow& row, bool of_its_layout);

  std::map<std::tuple<std::string, std::string, std::string>, Choices> of_site_;
};

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_PRIMARY_CHOICES_H_
