// What cuBLASLt's autotuning chose for the shapes of a catalogue.
#ifndef WARPSMITH_TOOLS_LT_CHOICES_H_
#define WARPSMITH_TOOLS_LT_CHOICES_H_

#include <map>
#include <string>
#include <tuple>

#include "hgemm/catalogue.h"
#include "judge/baseline/gemm_baseline.h"

namespace warpsmith::cli {

// Reads each device's, driver's and library's choices once.
class LtChoices {
 public:
  // The algorithm for the row's callers, as cuda::ToHex: that of its layout, or of the faster
  // layout where that is the same; empty where none is known.
  std::string AlgorithmOf(const hgemm::CatalogueRow& row);
  // Whether the bar is cuBLASLt's in the row's layout; false where that is not known.
  bool BarIsOwn(const hgemm::CatalogueRow& row);

 private:
  using Choices = std::map<std::string, baseline::GemmBaselineChoice>;
  const baseline::GemmBaselineChoice* Find(const hgemm::CatalogueRow& row, bool of_its_layout);

  std::map<std::tuple<std::string, std::string, std::string>, Choices> of_site_;
};

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_LT_CHOICES_H_
