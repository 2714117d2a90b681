// The lines of a recording or a journal. Everything that the index knows of can be asked for.
#include "fuzz.h"
#include "store/recording.h"
#include "store/recording_format.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::TextOf(data, size);
  store::ScanLine(text);
  const auto read = store::Recording::FromLines("input", std::string(text));
  if (fuzz::ValueOf(read) == nullptr) return 0;
  const store::Recording& recording = **read;
  CHECK(recording.Counts().verdicts == static_cast<int64_t>(recording.verdict_count()));
  for (const store::LineStart& start : recording.verdict_starts()) {
    CHECK(recording.HasVerdict(std::string(start.name)));
    fuzz::ValueOf(recording.ReadVerdict(std::string(start.name)));
  }
  for (const store::RecordedPoint& at : recording.Candidates()) {
    fuzz::ValueOf(recording.ReadCandidate(at));
  }
  return 0;
}
