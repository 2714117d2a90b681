// A catalogue's row for tests.
#ifndef WARPSMITH_HGEMM_TESTS_CATALOGUE_H_
#define WARPSMITH_HGEMM_TESTS_CATALOGUE_H_

#include <string>

#include "hgemm/catalogue.h"

namespace warpsmith::hgemm {

// Of m x 128 x 256, certified.
inline CatalogueRow SampleRow(int64_t m, double ratio,
                              const std::string& date = "2026-11-21T11:00:00Z") {
  CatalogueRow row;
  row.problem = {m, 128, 256};
  row.device = "NVIDIA H200";
  row.kernel = {"tiny", {{"warp_m", 16}, {"warp_n", 8}}};
  row.candidate = std::string(64, 'a');
  row.plan_id = std::string(64, 'b');
  row.artifact = std::string(64, 'c');
  row.results = {
      {Mode::kDeviceHot, "cublaslt-auto", 2.0, 2.0 * ratio, ratio, {ratio - 0.01, ratio + 0.01}},
      {Mode::kServer, "cublaslt-auto", 9.5, 10.0, 1.0526, {0.99, 1.1}}};
  row.choice = Guarded(row.results);
  row.architecture = "sm_90a";
  row.driver = "580.159.04";
  row.toolkit = "nvrtc 13.0";
  row.library = "cuBLASLt 13.1.0";
  row.level = "certified";
  row.date = date;
  return row;
}

// The text with the first `from`, which it must hold, exchanged.
inline std::string With(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_TESTS_CATALOGUE_H_
