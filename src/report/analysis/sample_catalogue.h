// A catalogue for tests: a row a shape, with kernels whose parameters follow the shape's sizes.
#ifndef WARPSMITH_REPORT_ANALYSIS_SAMPLE_CATALOGUE_H_
#define WARPSMITH_REPORT_ANALYSIS_SAMPLE_CATALOGUE_H_

#include <string>

#include "hgemm/catalogue.h"
#include "hgemm/test_catalogue.h"

namespace warpsmith::analysis {

inline hgemm::CatalogueRow SampleRow(const hgemm::Problem& problem, const Point& kernel,
                                     double ratio) {
  hgemm::CatalogueRow row = hgemm::SampleRow(problem.m, ratio, "2026-11-22T00:06:43Z");
  row.problem = problem;
  row.choice = ratio >= 1 ? hgemm::Choice::kKernel : hgemm::Choice::kCublasLt;
  row.kernel = kernel;
  row.results = {
      {Mode::kDeviceHot, "cublaslt-auto", 2, 2 * ratio, ratio, {ratio * 0.99, ratio * 1.01}}};
  row.level = "screened";
  return row;
}

inline Point TinyPoint(int64_t cluster_slices) {
  return {"tiny",
          {{"cluster_slices", cluster_slices},
           {"overlap", 2},
           {"slice_warps", 4},
           {"tile_warps_m", 2},
           {"tile_warps_n", 1},
           {"unroll", 2},
           {"warp_m", 16},
           {"warp_n", 8}}};
}

inline Point WgmmaPoint(int64_t tile_m, int64_t stages, int64_t slices) {
  return {"wgmma",
          {{"cluster_m", 2},
           {"cluster_n", 1},
           {"even_rounds", 1},
           {"overlap", 0},
           {"persistent", slices > 1 ? 0 : 1},
           {"ping_pong", 0},
           {"raster_along_m", 1},
           {"raster_group", 8},
           {"slices", slices},
           {"splits", 1},
           {"stages", stages},
           {"stream_c", 0},
           {"tile_k", 64},
           {"tile_m", tile_m},
           {"tile_n", 256},
           {"tma_store", 1}}};
}

// M and K from 64 to 4096, N = 256: 16 shapes. Stages rise with K, tiles with M; K = 4096 is split.
inline hgemm::Catalogue SampleCatalogue() {
  hgemm::Catalogue catalogue;
  for (const int64_t m : {64, 256, 1024, 4096}) {
    for (const int64_t k : {64, 256, 1024, 4096}) {
      const bool is_tiny = m == 64;
      const Point kernel = is_tiny ? TinyPoint(k == 4096 ? 8 : 1)
                                   : WgmmaPoint(m / 4, k / 512 + 2, k == 4096 ? 4 : 1);
      catalogue.rows.push_back(SampleRow({m, 256, k}, kernel, m == 4096 ? 0.97 : 1.25));
    }
  }
  return catalogue;
}

}  // namespace warpsmith::analysis

#endif  // WARPSMITH_REPORT_ANALYSIS_SAMPLE_CATALOGUE_H_
