// A comparison for tests: what a bench of a few shapes could have written.
#ifndef WARPSMITH_HGEMM_TESTS_COMPARISON_H_
#define WARPSMITH_HGEMM_TESTS_COMPARISON_H_

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "hgemm/measurement_table.h"
#include "hgemm/table_text.h"

namespace warpsmith::hgemm {

inline MeasurementTerms SampleTerms() {
  return {"NVIDIA H200", "TN",   "f16",           "libmine.so " + std::string(64, '1'),
          "none",        "none", "j1/screened/r7"};
}

inline MeasurementSession SampleSession(const std::string& date = "2026-11-22T01:00:00Z") {
  return {date,    "580.159.04",   "nvrtc 13.0", "cuBLASLt 13.1.0",
          "0.1.0", "GPU-1a2b3c4d", "0123abc",    "warpsmith hgemm bench --against lib.so; x"};
}

inline PairedRatio Ratio(double value, double half_width = 0.004) {
  return {value, {value * (1 - half_width), value * (1 + half_width)}};
}

// Kernel and library are `ratio` times as fast as cuBLASLt in each mode.
inline ShapeMeasurement SampleShape(const Problem& problem, double ratio) {
  ShapeMeasurement shape;
  shape.problem = problem;
  shape.choice = ratio >= 1 ? "tiny warp_m=16 warp_n=8" : "cublaslt";
  shape.roofline_us = 0.25;
  for (size_t i = 0; i < kComparedModes.size(); ++i) {
    shape.modes[i] = {kComparedModes[i], 2, 2.5, 2 * ratio, Ratio(ratio), Ratio(ratio)};
  }
  return shape;
}

inline MeasurementTable SampleTable() {
  return {SampleTerms(),
          {SampleSession()},
          {SampleShape({64, 64, 64}, 1.5), SampleShape({64, 128, 64}, 0.9)}};
}

// A table's text as the version before wrote it: without the lines that tell of those above, so
// that it may be edited.
inline std::string OldText(const std::string& text) {
  std::string old;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.find(" lines above, sha256 ") == line.npos) old += std::string(line) + "\n";
  }
  old.pop_back();
  --old[old.find('\n') - 1];
  return old;
}

// Each text that lacks one line of `text`, or has another word in one cell of it (cells are parted
// by commas, semicolons, spaces and =).
inline std::vector<std::string> Spoiled(const std::string& text) {
  std::vector<std::string> spoiled;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    spoiled.push_back(text.substr(0, begin) + text.substr(end));
    for (size_t cell = begin; cell < end;) {
      const size_t after = std::min(text.find_first_of(",; =\n", cell), end - 1);
      for (const char* other : {"", "x", "-1", "1e999"}) {
        spoiled.push_back(text.substr(0, cell) + other + text.substr(after));
      }
      cell = after + 1;
    }
    begin = end;
  }
  return spoiled;
}

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_TESTS_COMPARISON_H_
