#include "report/analysis/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "report/page_template.h"

namespace warpsmith::analysis {
namespace {

using report::EscapeHtml;

std::string Attribute(std::string_view name, std::string_view value) {
  if (value.empty()) return "";
  return " " + std::string(name) + "=\"" + EscapeHtml(value) + "\"";
}

std::string Number(std::string_view name, double value) { return Attribute(name, Pixels(value)); }

// An element that shows `tip`.
std::string Tipped(std::string_view element, const std::string& attributes, std::string_view tip) {
  const std::string open = "<" + std::string(element) + attributes;
  if (tip.empty()) return open + "/>";
  return open + "><title>" + EscapeHtml(tip) + "</title></" + std::string(element) + ">";
}

struct Rgb {
  int red, green, blue;
};

std::string HexText(const Rgb& colour) {
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", colour.red & 255, colour.green & 255,
                colour.blue & 255);
  return text;
}

int Between(int from, int to, double part) {
  return static_cast<int>(std::lround(from + (to - from) * part));
}

// Even steps of lightness from violet over blue and green to yellow; both ends stand out from a
// white and from a dark card.
constexpr std::array<Rgb, 6> kRamp = {Rgb{91, 53, 150},  Rgb{58, 98, 178},  Rgb{33, 138, 160},
                                      Rgb{56, 170, 120}, Rgb{150, 196, 62}, Rgb{240, 190, 40}};

// Okabe and Ito's, then darker: as in the reports.
constexpr std::array<std::string_view, 12> kHues = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                    "#56b4e9", "#d55e00", "#8a6fd1", "#9aa520",
                                                    "#5b7f95", "#b3742f", "#3f9c8f", "#a85c84"};

}  // namespace

std::string Pixels(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  std::string pixels = text;
  if (pixels.ends_with(".0")) pixels.resize(pixels.size() - 2);
  return pixels == "-0" ? "0" : pixels;
}

std::string Drawing(Extent size, std::string_view label, std::string_view contents) {
  const std::string width = Pixels(size.width), height = Pixels(size.height);
  return "<svg role=\"img\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + width + " " +
         height + "\" width=\"" + width + "\" height=\"" + height + "\"" +
         Attribute("aria-label", label) + ">\n" + std::string(contents) + "</svg>\n";
}

std::string Text(At at, std::string_view style, std::string_view text) {
  return "<text" + Number("x", at.x) + Number("y", at.y) + Attribute("class", style) + ">" +
         EscapeHtml(text) + "</text>\n";
}

std::string TurnedText(At at, std::string_view style, std::string_view text) {
  return "<g transform=\"translate(" + Pixels(at.x) + " " + Pixels(at.y) + ") rotate(-90)\">" +
         Text({0, 0}, style, text) + "</g>\n";
}

std::string Line(At from, At to, std::string_view style) {
  return "<line" + Number("x1", from.x) + Number("y1", from.y) + Number("x2", to.x) +
         Number("y2", to.y) + Attribute("class", style) + "/>\n";
}

std::string Box(At corner, Extent size, std::string_view style, std::string_view fill,
                std::string_view tip) {
  return Tipped("rect",
                Number("x", corner.x) + Number("y", corner.y) + Number("width", size.width) +
                    Number("height", size.height) + Attribute("class", style) +
                    Attribute("fill", fill),
                tip) +
         "\n";
}

std::string Dot(At centre, double radius, std::string_view style, std::string_view fill,
                std::string_view tip) {
  return Tipped("circle",
                Number("cx", centre.x) + Number("cy", centre.y) + Number("r", radius) +
                    Attribute("class", style) + Attribute("fill", fill),
                tip) +
         "\n";
}

std::vector<std::string> Shades(size_t count) {
  std::vector<std::string> shades;
  for (size_t i = 0; i < count; ++i) {
    const double along =
        count < 2 ? 1
                  : static_cast<double>(i) * (kRamp.size() - 1) / static_cast<double>(count - 1);
    const size_t step = std::min(static_cast<size_t>(along), kRamp.size() - 2);
    const double part = along - static_cast<double>(step);
    const Rgb &from = kRamp[step], &to = kRamp[step + 1];
    shades.push_back(HexText({Between(from.red, to.red, part), Between(from.green, to.green, part),
                              Between(from.blue, to.blue, part)}));
  }
  return shades;
}

std::vector<std::string> Hues(size_t count) {
  std::vector<std::string> hues;
  for (size_t i = 0; i < count; ++i) hues.emplace_back(kHues[i % kHues.size()]);
  return hues;
}

}  // namespace warpsmith::analysis
