// Comma-separated records of a profiler. Cells that were read are read again when they are written
// with quotes.
#include "fuzz.h"
#include "judge/profile/ncu_report.h"

using namespace warpsmith;

namespace {

std::string Quoted(const profile::CsvRecord& record) {
  std::string line;
  for (const std::string& cell : record) {
    line += line.empty() ? "\"" : ",\"";
    for (const char c : cell) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + "\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::TextOf(data, size);
  profile::CsvReader reader(text);
  while (const auto record = reader.Next()) {
    CHECK(!record->empty());
    const std::string line = Quoted(*record);
    CHECK(profile::CsvReader(line).Next() == record);
  }
  CHECK(!reader.HasMore());
  return 0;
}
