// A comparison as text, which grows shape by shape and may end anywhere. Format:
// docs/files.md.
#ifndef WARPSMITH_HGEMM_COMPARISON_TEXT_H_
#define WARPSMITH_HGEMM_COMPARISON_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hgemm/comparison_table.h"

namespace warpsmith::hgemm {

inline constexpr int kComparisonVersion = 1;

struct ReadComparison {
  ComparisonTable table;
  // What the text begins with. Behind it there is what a killed writer left: a torn line, or a last
  // shape that has not all its modes.
  size_t whole_bytes = 0;
};

// `source` (a file's name) goes into errors: kBadInput with the line, kVersion for another version.
Result<ReadComparison> ParseComparison(std::string_view source, std::string_view text);

// The parts of a file, in order: the head; before a session's first shape the session; each shape's
// four lines, with what was found beside the bar before them.
std::string HeadText(const ComparisonTerms& terms);
std::string SessionText(const ComparisonSession& session);
std::string RowsText(const ComparisonTerms& terms, const ShapeComparison& shape);
std::string ToText(const ComparisonTable& table);

// kBadInput where a text of the terms or the session would break the format.
Status CheckWritable(const ComparisonTerms& terms, const ComparisonSession& session);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_COMPARISON_TEXT_H_
