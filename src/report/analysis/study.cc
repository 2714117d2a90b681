#include "report/analysis/study.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "hgemm/family.h"
#include "report/analysis/rank_correlation.h"

namespace warpsmith::analysis {
namespace {

using hgemm::CatalogueRow;
using hgemm::MeasurementTable;
using hgemm::ShapeMeasurement;

// The row's shape in the comparison, if it was measured on the row's device.
const ShapeMeasurement* ComparedShape(const CatalogueRow& row,
                                      const std::optional<MeasurementTable>& comparison) {
  if (!comparison || comparison->terms.device != row.device) return nullptr;
  return hgemm::Find(*comparison, row.problem);
}

// A comparison says which kernel it measured, but for shapes that it leaves to cuBLASLt.
bool IsOfKernel(const ShapeMeasurement& shape, const CatalogueRow& row) {
  if (shape.choice == Name(hgemm::Choice::kCublasLt)) return true;
  const auto kernel = hgemm::PointFromName(shape.choice);
  return kernel.ok() && hgemm::IsSameKernel(*kernel, row.kernel);
}

StudiedShape ShapeOf(const CatalogueRow& row) {
  StudiedShape shape;
  shape.problem = row.problem;
  shape.size_class = hgemm::ClassOf(row.problem);
  shape.log2_mnk = std::log2(static_cast<double>(row.problem.m)) +
                   std::log2(static_cast<double>(row.problem.n)) +
                   std::log2(static_cast<double>(row.problem.k));
  shape.choice = row.choice;
  shape.kernel = row.kernel;
  for (const Trait& trait : Traits()) shape.values.push_back(trait.of(row.kernel));
  return shape;
}

// Of the first baseline, as they stand in the catalogue.
void TakeRatios(const CatalogueRow& row, StudiedShape& shape) {
  for (const hgemm::CatalogueResult& result : row.results) {
    if (result.baseline != row.results.front().baseline) continue;
    shape.alone[result.mode] = {result.ratio, result.interval};
  }
}

void TakeRatios(const ShapeMeasurement& compared, StudiedShape& shape) {
  for (const hgemm::ModeComparison& mode : compared.modes) {
    shape.alone[mode.mode] = mode.kernel;
    shape.library[mode.mode] = mode.library;
  }
}

void NoteDate(const std::string& date, Origin& origin) {
  if (origin.first_date.empty() || date < origin.first_date) origin.first_date = date;
  origin.last_date = std::max(origin.last_date, date);
}

void Note(const CatalogueRow& row, Origin& origin) {
  origin.drivers.insert(row.driver);
  origin.toolkits.insert(row.toolkit);
  origin.libraries.insert(row.library);
  if (!row.results.empty()) origin.baselines.insert(row.results.front().baseline);
  NoteDate(row.date, origin);
}

void Note(const hgemm::MeasurementSession& session, Origin& origin) {
  origin.drivers.insert(session.driver);
  origin.toolkits.insert(session.toolkit);
  origin.libraries.insert(session.baseline);
  origin.baselines.insert(std::string(hgemm::kPrimary));
  NoteDate(session.date, origin);
}

void AddRow(const CatalogueRow& row, const std::optional<MeasurementTable>& comparison,
            Chapter& chapter) {
  StudiedShape shape = ShapeOf(row);
  const ShapeMeasurement* compared = ComparedShape(row, comparison);
  if (!comparison) {
    TakeRatios(row, shape);
  } else if (compared != nullptr) {
    const bool is_of_kernel = IsOfKernel(*compared, row);
    (is_of_kernel ? chapter.compared : chapter.other_kernel) += 1;
    if (is_of_kernel) {
      TakeRatios(*compared, shape);
      Note(comparison->sessions[compared->session], chapter.compared_with);
    }
  }
  chapter.counts.Add(shape.size_class);
  chapter.shapes.push_back(std::move(shape));
  Note(row, chapter.tuned);
  ++chapter.levels[row.level];
}

CountedTrait CountTrait(const std::vector<StudiedShape>& shapes, size_t trait) {
  using Key = std::tuple<bool, double, std::string>;
  std::map<Key, std::pair<CountedValue, std::vector<double>>> values;
  for (const StudiedShape& shape : shapes) {
    const std::optional<TraitValue>& value = shape.values[trait];
    const Key key = value ? Key{true, value->order, value->text} : Key{false, 0, ""};
    auto& [counted, ratios] = values[key];
    counted.value = value;
    counted.shapes.Add(shape.size_class);
    const auto ratio = shape.alone.find(Mode::kDeviceHot);
    if (ratio != shape.alone.end()) ratios.push_back(ratio->second.value);
  }
  CountedTrait counted;
  for (auto& [key, entry] : values) {
    entry.first.geomean_alone = Geomean(entry.second);
    counted.push_back(std::move(entry.first));
  }
  return counted;
}

QuantityTrend TrendOf(const std::vector<StudiedShape>& shapes, const Quantity& quantity) {
  std::vector<double> values;
  std::array<std::vector<double>, kSizeNames.size()> sizes;
  for (const StudiedShape& shape : shapes) {
    const auto value = quantity.of(shape.kernel);
    if (!value) continue;
    values.push_back(*value);
    const Sizes of_shape = SizesOf(shape.problem);
    for (size_t i = 0; i < sizes.size(); ++i) sizes[i].push_back(of_shape[i]);
  }
  QuantityTrend trend{&quantity, static_cast<int>(values.size()), {}};
  for (size_t i = 0; i < sizes.size(); ++i) {
    trend.correlation[i] = RankCorrelation(sizes[i], values);
  }
  return trend;
}

void Finish(Chapter& chapter) {
  for (size_t i = 0; i < Traits().size(); ++i) {
    chapter.traits.push_back(CountTrait(chapter.shapes, i));
  }
  for (const Quantity& quantity : Quantities()) {
    chapter.trends.push_back(TrendOf(chapter.shapes, quantity));
  }
}

}  // namespace

void ClassCounts::Add(hgemm::SizeClass size_class) {
  ++of[static_cast<size_t>(size_class)];
  ++all;
}

Sizes SizesOf(const hgemm::Problem& problem) {
  const double m = static_cast<double>(problem.m), n = static_cast<double>(problem.n),
               k = static_cast<double>(problem.k);
  return {m, n, k, m * n * k, m / n};
}

std::optional<double> Geomean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double logarithms = 0;
  for (const double value : values) logarithms += std::log(value);
  return std::exp(logarithms / static_cast<double>(values.size()));
}

const Origin& OriginOfRatios(const Chapter& chapter) {
  return chapter.has_comparison ? chapter.compared_with : chapter.tuned;
}

std::string BaselineText(const Chapter& chapter) {
  std::string text;
  for (const std::string& name : OriginOfRatios(chapter).baselines) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "the baseline" : text;
}

Result<Study> MakeStudy(const hgemm::Catalogue& catalogue,
                        const std::optional<MeasurementTable>& comparison) {
  if (catalogue.rows.empty()) {
    return Error{ErrorCode::kNothingMeasured, "the catalogue has no rows to draw a page of",
                 "make one with 'warpsmith hgemm catalogue make'"};
  }
  std::map<std::tuple<hgemm::Layout, DType, std::string>, Chapter> chapters;
  for (const CatalogueRow& row : catalogue.rows) {
    Chapter& chapter = chapters[{row.problem.layout, row.problem.dtype, row.device}];
    chapter.layout = row.problem.layout;
    chapter.dtype = row.problem.dtype;
    chapter.device = row.device;
    chapter.has_comparison = comparison.has_value();
    AddRow(row, comparison, chapter);
  }
  Study study;
  int compared = 0;
  for (auto& [key, chapter] : chapters) {
    Finish(chapter);
    compared += chapter.compared;
    study.chapters.push_back(std::move(chapter));
  }
  if (comparison && compared == 0) {
    return Error{ErrorCode::kBadInput,
                 "the comparison measured none of the catalogue's shapes with its kernels (" +
                     comparison->terms.layout + " " + comparison->terms.dtype + " on " +
                     comparison->terms.device + ")",
                 "give the comparison that 'hgemm bench --catalogue' made of this catalogue"};
  }
  return study;
}

}  // namespace warpsmith::analysis
