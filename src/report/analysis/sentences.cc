#include "report/analysis/sentences.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

#include "base/median.h"
#include "report/analysis/rank_correlation.h"

namespace warpsmith::analysis {
namespace {

constexpr std::array<std::string_view, 3> kSideNames = {"M", "N", "K"};

// "a", "a and b", "a, b and c"
std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

std::string PercentText(int part, int whole) {
  return std::to_string(std::lround(100.0 * part / whole)) + " %";
}

std::string CountText(int shapes) {
  return std::to_string(shapes) + (shapes == 1 ? " shape" : " shapes");
}

// "3 of 11 tiny (27 %), ...", of the classes that have shapes.
std::string ByClass(const ClassCounts& part, const ClassCounts& whole) {
  std::vector<std::string> texts;
  for (const hgemm::SizeClass size_class : hgemm::kSizeClasses) {
    const auto i = static_cast<size_t>(size_class);
    if (whole.of[i] == 0) continue;
    texts.push_back(std::to_string(part.of[i]) + " of " + std::to_string(whole.of[i]) + " " +
                    std::string(Name(size_class)) + " (" + PercentText(part.of[i], whole.of[i]) +
                    ")");
  }
  return Joined(texts);
}

std::string ValueText(const CountedValue& counted) {
  return counted.value ? counted.value->text : "none";
}

// The value that most shapes of the class have, or those that share the lead.
std::string LeaderOf(const CountedTrait& values, size_t size_class, int shapes) {
  constexpr size_t kMostLeaders = 2;
  int most = 0;
  std::vector<std::string> leaders;
  for (const CountedValue& counted : values) {
    const int count = counted.shapes.of[size_class];
    if (count == 0 || count < most) continue;
    if (count > most) leaders.clear();
    most = count;
    leaders.push_back(ValueText(counted));
  }
  if (leaders.size() > kMostLeaders) {
    return "none leads (" + std::to_string(leaders.size()) + " values have " +
           std::to_string(most) + " each)";
  }
  return Joined(leaders) + (leaders.size() > 1 ? " (each " : " (") + std::to_string(most) + " of " +
         std::to_string(shapes) + ")";
}

std::string Leaders(const Chapter& chapter, const CountedTrait& values) {
  if (values.size() == 1) {
    const std::string all = std::to_string(chapter.counts.all);
    return (chapter.counts.all == 1 ? "The only shape" : "Every one of the " + all + " shapes") +
           " has: " + ValueText(values.front()) + ".";
  }
  std::vector<std::string> texts;
  for (const hgemm::SizeClass size_class : hgemm::kSizeClasses) {
    const auto i = static_cast<size_t>(size_class);
    if (chapter.counts.of[i] == 0) continue;
    texts.push_back(std::string(Name(size_class)) +
                    " shapes: " + LeaderOf(values, i, chapter.counts.of[i]));
  }
  std::string text = "Most frequent by class: ";
  for (size_t i = 0; i < texts.size(); ++i) text += (i > 0 ? "; " : "") + texts[i];
  return text + ".";
}

// "M 512, N 1024, K 8192"
std::string MedianSizes(const std::vector<const StudiedShape*>& shapes) {
  std::string text;
  for (size_t side = 0; side < kSideNames.size(); ++side) {
    std::vector<double> values;
    for (const StudiedShape* shape : shapes) values.push_back(SizesOf(shape->problem)[side]);
    text += (side > 0 ? ", " : "") + std::string(kSideNames[side]) + " " +
            NumberText(values.empty() ? 0 : Median(values));
  }
  return text;
}

// Who uses what the trait offers, and on shapes of what sizes.
void AddUse(const Chapter& chapter, size_t trait, std::vector<std::string>& sentences) {
  const Trait& what = Traits()[trait];
  if (what.use.empty()) return;
  ClassCounts use;
  std::vector<const StudiedShape*> users, others;
  for (const StudiedShape& shape : chapter.shapes) {
    const auto& value = shape.values[trait];
    const bool uses = value && value->order > what.plain;
    if (uses) use.Add(shape.size_class);
    (uses ? users : others).push_back(&shape);
  }
  sentences.push_back("Kernels that " + std::string(what.use) + ": " +
                      ShareText(use.all, chapter.counts.all) + "; by class " +
                      ByClass(use, chapter.counts) + ".");
  if (users.empty() || others.empty()) return;
  sentences.push_back("The median shape of these: " + MedianSizes(users) +
                      "; of the others: " + MedianSizes(others) + ".");
}

std::string SignedText(double correlation) {
  char text[16];
  std::snprintf(text, sizeof text, "%+.2f", correlation);
  return text;
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The quantity's mean over the shapes where a side has its least, and its greatest value.
std::string MeanAtEnds(const Chapter& chapter, const Quantity& quantity, size_t side) {
  std::map<double, std::vector<double>> by_size;
  for (const StudiedShape& shape : chapter.shapes) {
    const auto value = quantity.of(shape.kernel);
    if (value) by_size[SizesOf(shape.problem)[side]].push_back(*value);
  }
  const auto at = [&](const std::pair<const double, std::vector<double>>& end) {
    return NumberText(MeanOf(end.second)) + " at " + std::string(kSideNames[side]) + " = " +
           NumberText(end.first) + " (" + CountText(static_cast<int>(end.second.size())) + ")";
  };
  return "on average " + at(*by_size.begin()) + ", " + at(*by_size.rbegin());
}

// Of the first `count` sizes the one with the strongest correlation, either way.
size_t StrongestOf(const QuantityTrend& trend, size_t count) {
  size_t strongest = 0;
  const auto strength = [&](size_t i) { return std::abs(trend.correlation[i].value_or(0)); };
  for (size_t i = 1; i < count; ++i) {
    if (strength(i) > strength(strongest)) strongest = i;
  }
  return strongest;
}

void AddTrend(const Chapter& chapter, const QuantityTrend& trend,
              std::vector<std::string>& sentences) {
  constexpr double kWeak = 0.3;
  const size_t strongest = StrongestOf(trend, kSizeNames.size());
  const std::optional<double> correlation = trend.correlation[strongest];
  if (!correlation) return;
  const std::string name(trend.quantity->name), size(kSizeNames[strongest]);
  const double strength = std::abs(*correlation);
  if (strength < kWeak || strength < ChanceCorrelation(trend.shapes)) {
    sentences.push_back("No size says much about " + name + ": the strongest rank correlation is " +
                        SignedText(*correlation) + " over " + CountText(trend.shapes) + ", with " +
                        size + (strength < kWeak ? "." : "; so few may have it by chance."));
    return;
  }
  sentences.push_back("Of the sizes " + size + " goes most with " + name + ": rank correlation " +
                      SignedText(*correlation) + " over " + CountText(trend.shapes) + "; " +
                      MeanAtEnds(chapter, *trend.quantity, StrongestOf(trend, kSideNames.size())) +
                      ".");
}

std::string FamilySentence(const Chapter& chapter) {
  std::vector<std::string> families;
  for (const CountedValue& counted : chapter.traits.front()) {
    families.push_back(ValueText(counted) + " of " + std::to_string(counted.shapes.all));
  }
  std::vector<std::string> classes;
  for (const hgemm::SizeClass size_class : hgemm::kSizeClasses) {
    const int count = chapter.counts.of[static_cast<size_t>(size_class)];
    if (count > 0) classes.push_back(std::to_string(count) + " " + std::string(Name(size_class)));
  }
  return CountText(chapter.counts.all) + ": " + Joined(classes) + ". The best kernel's family is " +
         Joined(families) + ".";
}

std::string ChoiceSentence(const Chapter& chapter) {
  ClassCounts to_cublaslt;
  for (const StudiedShape& shape : chapter.shapes) {
    if (shape.choice == hgemm::Choice::kCublasLt) to_cublaslt.Add(shape.size_class);
  }
  return "The guard leaves " + ShareText(to_cublaslt.all, chapter.counts.all) +
         " to cuBLASLt; by class " + ByClass(to_cublaslt, chapter.counts) +
         ". What follows describes the best kernel of every shape, also of these.";
}

// Of one mode's ratios; empty where no shape has one.
std::string RatioSentence(const Chapter& chapter, Mode mode, Ratios StudiedShape::*which,
                          const std::string& who) {
  std::vector<double> ratios;
  const StudiedShape* worst = nullptr;
  int below = 0, slower = 0, faster = 0;
  for (const StudiedShape& shape : chapter.shapes) {
    const auto ratio = (shape.*which).find(mode);
    if (ratio == (shape.*which).end()) continue;
    ratios.push_back(ratio->second.value);
    below += ratio->second.value < 1 ? 1 : 0;
    slower += ratio->second.interval.hi < 1 ? 1 : 0;
    faster += ratio->second.interval.lo > 1 ? 1 : 0;
    if (!worst || ratio->second.value < (worst->*which).at(mode).value) worst = &shape;
  }
  if (!worst) return "";
  const int shapes = static_cast<int>(ratios.size());
  return who + " (" + ModeTitle(mode) + "): geometric mean " + RatioText(*Geomean(ratios)) +
         " over " + CountText(shapes) + "; shown faster than " + BaselineText(chapter) + " on " +
         std::to_string(faster) + ", shown slower on " + std::to_string(slower) +
         ", the ratio itself below 1 on " + ShareText(below, shapes) + "; the worst is " +
         RatioText((worst->*which).at(mode).value) + " at " + hgemm::SizesText(worst->problem) +
         ".";
}

}  // namespace

std::string ShareText(int part, int whole) {
  if (whole == 0) return "no shapes";
  return std::to_string(part) + " of " + std::to_string(whole) + " shapes (" +
         PercentText(part, whole) + ")";
}

std::string NumberText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, std::abs(value) >= 1000 ? "%.0f" : "%.4g", value);
  return text;
}

std::string RatioText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

std::string ModeTitle(Mode mode) {
  switch (mode) {
    case Mode::kDeviceHot:
      return "device, hot L2";
    case Mode::kDeviceCold:
      return "device, cold L2";
    case Mode::kOffline:
      return "offline, back to back";
    case Mode::kServer:
      return "server, single calls";
    case Mode::kWall:
      break;
  }
  return std::string(Name(mode));
}

std::vector<std::string> Overview(const Chapter& chapter) {
  std::vector<std::string> sentences = {FamilySentence(chapter), ChoiceSentence(chapter)};
  for (const auto& [which, who] :
       {std::pair(&StudiedShape::library, "The library, guard and dispatch included"),
        std::pair(&StudiedShape::alone, "Kernels alone")}) {
    const std::string sentence = RatioSentence(chapter, Mode::kDeviceHot, which, who);
    if (!sentence.empty()) sentences.push_back(sentence);
  }
  const auto screened = chapter.levels.find(std::string(hgemm::kScreenedLevel));
  if (!chapter.has_comparison && screened != chapter.levels.end()) {
    sentences.push_back("The ratios of " + ShareText(screened->second, chapter.counts.all) +
                        " were screened while searching, which flatters the best of many; a "
                        "comparison of the finished catalogue does not.");
  }
  if (chapter.has_comparison) {
    sentences.push_back("Ratios are the comparison's, which measured " +
                        ShareText(chapter.compared, chapter.counts.all) +
                        " with the catalogue's kernel, and " +
                        std::to_string(chapter.other_kernel) + " with another one.");
  }
  return sentences;
}

std::vector<std::string> SentencesOf(const Chapter& chapter, size_t trait) {
  std::vector<std::string> sentences = {Leaders(chapter, chapter.traits[trait])};
  AddUse(chapter, trait, sentences);
  for (const QuantityTrend& trend : chapter.trends) {
    if (trend.quantity->trait == Traits()[trait].name) AddTrend(chapter, trend, sentences);
  }
  return sentences;
}

}  // namespace warpsmith::analysis
