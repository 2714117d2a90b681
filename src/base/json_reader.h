// Reading JSON from outside: every error names the source, the field path and what was expected.
//
//   JsonReader root("plan.json", json);
//   int64_t version = TRY(root.At("version").Int());
//   for (const JsonReader& op : TRY(root.At("operations").Items())) ...
//
// A missing field is an error at the point where its value is asked for; Has() tells beforehand.
#ifndef WARPSMITH_BASE_JSON_READER_H_
#define WARPSMITH_BASE_JSON_READER_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace warpsmith {

// Parses one document. `source` (a file name, "stdin") goes into error texts; errors give line and
// column. Documents nested deeper than 64 levels are refused.
Result<nlohmann::json> ParseJson(std::string_view source, std::string_view text);

// One document as text. Bytes in strings that are not UTF-8 become U+FFFD. `indent` -1: one line.
std::string JsonText(const nlohmann::json& value, int indent = -1);

class JsonReader {
 public:
  // `json` must outlive the reader and everything made from it.
  JsonReader(std::string source, const nlohmann::json& json);

  bool Has(std::string_view key) const;
  JsonReader At(std::string_view key) const;
  JsonReader At(size_t index) const;

  // The value here. kBadInput, naming the place, where it is missing or of another type. An integer
  // has no fraction and fits in 64 bits.
  Result<int64_t> Int() const;
  Result<int64_t> IntIn(int64_t lowest, int64_t highest) const;
  Result<double> Number() const;  // accepts "nan", "inf", "-inf" as strings
  Result<bool> Bool() const;
  Result<std::string> String() const;
  Result<std::vector<JsonReader>> Items() const;
  Result<std::vector<std::pair<std::string, JsonReader>>> Fields() const;

  // Refuses fields that are neither in `known` nor in `besides`: a misspelt field must not be
  // silently ignored.
  Status OnlyFields(std::initializer_list<std::string_view> known,
                    std::initializer_list<std::string_view> besides = {}) const;

  // An Error about this place: "plan.json: operations[2].grid: expected three expressions, found
  // 2".
  Error Bad(std::string_view expected) const;

  const nlohmann::json* json() const { return json_; }
  const std::string& path() const { return path_; }

 private:
  JsonReader(std::string source, std::string path, const nlohmann::json* json);

  std::string source_;
  std::string path_;
  const nlohmann::json* json_;  // null: the field is missing
};

// Doubles as JSON: infinities and NaN become the strings "inf", "-inf", "nan".
nlohmann::json NumberToJson(double value);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_JSON_READER_H_
