// The plots of a catalogue's page, as SVG that has no script and takes its colours from the page's
// style, for light, dark and paper.
#ifndef WARPSMITH_REPORT_ANALYSIS_PLOTS_H_
#define WARPSMITH_REPORT_ANALYSIS_PLOTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hgemm/measurement_table.h"

namespace warpsmith::analysis {

struct LegendEntry {
  std::string text, colour;
};

// One shape's value, by its place in the legend.
struct MappedShape {
  hgemm::Problem problem;
  size_t entry = 0;
  std::string text;  // said beside the shape where the pointer rests
};

// How many shapes have each value, by floor(log2(MNK)): a row a value, a dot's area its count (but
// for the least dots, which must be seen).
std::string CountPlot(std::string_view label, const std::vector<LegendEntry>& legend,
                      const std::vector<MappedShape>& shapes);

// A map over M and N for each K. Empty where the sizes are too many for maps (more than 24 of M or
// N, more than 16 of K), where no map would have four shapes, and where they would be all but
// empty.
std::string ValueMaps(std::string_view label, const std::vector<MappedShape>& shapes,
                      const std::vector<LegendEntry>& legend);

struct PlottedRatio {
  hgemm::Problem problem;
  double log2_mnk = 0;
  hgemm::PairedRatio ratio;
};

// Ratios of `baseline`'s time to ours with their intervals over log2(MNK); what lies below 1 has a
// ground of its own.
std::string RatioPlot(std::string_view label, std::string_view baseline,
                      const std::vector<PlottedRatio>& ratios);

// For maps of ratios: red below 1, grey within 1 %, blue above.
std::vector<LegendEntry> RatioLegend();
size_t RatioEntry(double ratio);  // its place there

std::string LegendHtml(const std::vector<LegendEntry>& legend);

}  // namespace warpsmith::analysis

#endif  // WARPSMITH_REPORT_ANALYSIS_PLOTS_H_
