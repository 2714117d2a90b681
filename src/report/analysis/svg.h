// SVG elements as text. Coordinates are in pixels, written with one decimal.
#ifndef WARPSMITH_REPORT_ANALYSIS_SVG_H_
#define WARPSMITH_REPORT_ANALYSIS_SVG_H_

#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::analysis {

struct At {
  double x = 0, y = 0;
};
struct Extent {
  double width = 0, height = 0;
};

std::string Pixels(double value);

// A whole drawing of that size, which shrinks with the page. `label` says what it shows.
std::string Drawing(Extent size, std::string_view label, std::string_view contents);

// `style`: a class of plots.css, which gives size, colour and where the text is anchored.
std::string Text(At at, std::string_view style, std::string_view text);
std::string TurnedText(At at, std::string_view style, std::string_view text);  // upwards
std::string Line(At from, At to, std::string_view style);

// `tip` is shown where the pointer rests; empty: nothing is. `fill` is a colour or empty.
std::string Box(At corner, Extent size, std::string_view style, std::string_view fill,
                std::string_view tip);
std::string Dot(At centre, double radius, std::string_view style, std::string_view fill,
                std::string_view tip);

// `count` colours that tell from each other in light and dark: from dark to bright where the order
// means something, else of different hues.
std::vector<std::string> Shades(size_t count);
std::vector<std::string> Hues(size_t count);

}  // namespace warpsmith::analysis

#endif  // WARPSMITH_REPORT_ANALYSIS_SVG_H_
