// A table of measurements as text, which grows shape by shape and may end anywhere. Format:
// docs/files.md.
#ifndef WARPSMITH_HGEMM_MEASUREMENT_TEXT_H_
#define WARPSMITH_HGEMM_MEASUREMENT_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hgemm/measurement_table.h"

namespace warpsmith::hgemm {

// A text that grows part by part. Each part ends with a line that tells of all the text before it,
// so that no line of it can be lost or changed but with everything behind it.
class CountedText {
 public:
  // The part with its last line.
  std::string Add(const std::string& part);

 private:
  size_t lines_ = 0;    // of all parts
  std::string digest_;  // SHA-256 of the digest before and the last part; empty before the first
};

struct ReadMeasurements {
  MeasurementTable table;
  // The whole part of the text.
  CountedText counted;
  // What the text begins with. Behind it there is what a killed writer left: a torn line, or a last
  // shape that has not all its rows.
  size_t whole_bytes = 0;
  // Written by an earlier version: its text cannot be added to, that of ToText can.
  bool is_old = false;
};

// `source` (a file's name) goes into errors: kBadInput with the line, kVersion for another version.
Result<ReadMeasurements> ParseMeasurements(std::string_view source, std::string_view text);

// The parts of a file, in order: the head; before a session's first shape the session; each shape's
// rows, with what was found beside the bar before them. A session is of one part with the shape
// behind it. CountedText adds to each what tells of it.
std::string HeadText(const MeasurementTerms& terms);
std::string SessionText(const MeasurementSession& session);
std::string RowsText(const MeasurementTerms& terms, const ShapeMeasurement& shape);
std::string ToText(const MeasurementTable& table);

// kBadInput where a text of the terms or the session would break the format.
Status CheckWritable(const MeasurementTerms& terms, const MeasurementSession& session);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_MEASUREMENT_TEXT_H_
