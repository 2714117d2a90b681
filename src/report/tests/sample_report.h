// A report with everything in it, for tests of the outputs. The figures are made up, and some
// strings are what a hostile candidate would like to see in a page.
#ifndef WARPSMITH_REPORT_TESTS_SAMPLE_REPORT_H_
#define WARPSMITH_REPORT_TESTS_SAMPLE_REPORT_H_

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "report/run_report.h"

namespace warpsmith::report {

inline constexpr std::string_view kHostileText =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"'{{data}}\x1b[31m\xff";

inline ShapeReport SampleShape(int64_t m, int64_t n, int64_t k, double primary_us, double ratio) {
  ShapeReport shape;
  shape.task = "hgemm";
  shape.workload = "gemm";
  shape.sizes = {{"M", m}, {"N", n}, {"K", k}};
  shape.evaluations = 200;
  shape.passed = 171;
  shape.gpu_seconds = 31.4;
  double best = 0.3 * ratio;
  for (int64_t evaluations = 1; evaluations < 120; evaluations = evaluations * 3 / 2 + 1) {
    shape.progress.push_back({evaluations, best});
    best += (ratio - best) * 0.45;
  }
  shape.progress.push_back({150, ratio});
  const double width = 0.004 + 0.02 / (1 + primary_us);
  const double roofline_us = std::max(2.0 * static_cast<double>(m * n * k) / 989e6,
                                      2.0 * static_cast<double>(m * k + k * n + m * n) / 5.5e6);
  for (const auto& [mode, scale] :
       {std::pair(Mode::kDeviceHot, 1.0), std::pair(Mode::kServer, 1.6)}) {
    const double r = mode == Mode::kServer ? std::sqrt(ratio) : ratio;
    const Finding finding = r - width > 1.01   ? Finding::kFaster
                            : r + width < 0.99 ? Finding::kSlower
                                               : Finding::kSame;
    shape.winners.push_back({.mode = mode,
                             .level = Level::kCertified,
                             .config = "wgmma bm=128 bn=256 cluster=2 raster=8 splits=1 stages=4",
                             .primary = "cublaslt-auto",
                             .ours_us = scale * primary_us / r,
                             .primary_us = scale * primary_us,
                             .ratio = r,
                             .interval = {r - width, r + width},
                             .finding = finding,
                             .roofline_us = roofline_us,
                             .aa_noise = 0.0021,
                             .below_roofline = false});
    for (const auto& [name, slower] :
         {std::pair("cublaslt-auto", 1.0), std::pair("cublaslt-heuristic", 1.04),
          std::pair("cublas", 1.07), std::pair("torch", 1.11)}) {
      shape.baselines.push_back({name, mode, scale * slower * primary_us});
    }
  }
  shape.failures = {{"compile-failed", "ptxas: too many resources requested for launch", m % 7 + 4},
                    {"incorrect", "detector bound: error 0.25 over 0.031 at element 17", m % 5 + 3},
                    {"run-failed", std::string(kHostileText), m % 3 + 1},
                    {"timed-out", "no answer to 'measure' within 10000 ms", 2}};
  return shape;
}

inline RunReport SampleReport() {
  RunReport report{
      .title = "HGEMM on an H200: 12 shapes", .origin = {}, .shapes = {}, .proposers = {}};
  report.origin = {.device = "NVIDIA H200",
                   .driver = "580.95",
                   .toolkit = "nvrtc 13.0",
                   .baseline_library = "cuBLASLt 13.1.0",
                   .date = "2026-11-21T10:00:00Z",
                   .command = "warpsmith hgemm tune --budget evals=200",
                   .recording = "h200-hgemm.wsrec",
                   .program = "warpsmith 0.1.0"};
  for (const auto& [m, n, k, us, ratio] :
       {std::tuple(64, 64, 64, 2.02, 1.52), std::tuple(64, 256, 128, 2.11, 1.41),
        std::tuple(128, 128, 128, 2.1, 1.37), std::tuple(128, 512, 1024, 3.6, 1.18),
        std::tuple(256, 256, 256, 2.3, 1.21), std::tuple(512, 512, 512, 3.4, 1.12),
        std::tuple(64, 4096, 4096, 12.4, 1.06), std::tuple(1024, 1024, 1024, 7.9, 1.004),
        std::tuple(2048, 2048, 2048, 27.1, 0.94), std::tuple(4096, 4096, 64, 11.8, 1.09),
        std::tuple(4096, 4096, 4096, 204.0, 0.91), std::tuple(8192, 8192, 8192, 1630.0, 0.893)}) {
    report.shapes.push_back(SampleShape(m, n, k, us, ratio));
    for (const double fraction : {0.95, 0.99}) {
      const double scale = (fraction > 0.97 ? 3 : 1) * (1 + 40 / us);
      const std::string space =
          "hgemm-" + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + "-TN";
      report.proposers.push_back(
          {space, "random", fraction, 18 * scale, 41 * scale, 77 * scale, 100});
      report.proposers.push_back(
          {space, "local", fraction, 11 * scale, 24 * scale, 39 * scale, 100});
      report.proposers.push_back({space, "guided", fraction, 3 * scale, 5 * scale, 9 * scale, 100});
    }
  }
  report.shapes.front().winners.front().config = kHostileText;
  return report;
}

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_TESTS_SAMPLE_REPORT_H_
