// What compute-sanitizer prints, with a candidate's own printf between its lines.
#include "fuzz.h"
#include "judge/audit/sanitizer.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::TextOf(data, size);
  const audit::SanitizerText read = audit::ReadSanitizerText(text);
  CHECK(read.errors.value_or(0) >= 0);
  if (read.races) CHECK(read.races->hazards >= 0 && read.races->errors >= 0);
  if (read.first) CHECK(Describe(*read.first).find('\n') == std::string::npos);
  audit::ReadSanitizerVersion(text);
  return 0;
}
