// A knowledge base as text, maybe from a stranger: what was read is written and read again the
// same, merging it with itself changes nothing, and a prompt made of it keeps its form and budget.
#include <cmath>
#include <vector>

#include "agent/knowledge/knowledge_text.h"
#include "agent/knowledge/posterior.h"
#include "agent/knowledge/render.h"
#include "fuzz.h"

using namespace warpsmith;

namespace {

void MustStayInPlace(const std::string& text) {
  for (const char c : knowledge::Quoted(text, 100)) {
    CHECK(c >= 0x20 && c < 0x7f && std::string_view("<>`{}").find(c) == std::string_view::npos);
  }
}

void MustBelieve(const knowledge::Contents& contents) {
  std::vector<knowledge::Cell> cells;
  for (const auto& [key, tally] : knowledge::StatisticsOf(contents.outcomes)) {
    cells.push_back({key, tally});
  }
  for (const knowledge::Cell& cell : cells) {
    const auto posterior =
        knowledge::PosteriorOf({cell.key.state, cell.key.context, ""}, cells, contents.priors);
    CHECK(std::abs(posterior.mean) <= knowledge::kMaxLogGain + 1e-6);
    CHECK(posterior.beta > 0 && posterior.successes >= 1 && posterior.failures >= 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto contents = knowledge::ContentsFromText("input", fuzz::TextOf(data, size));
  if (fuzz::ValueOf(contents) == nullptr) return 0;
  const std::string written = knowledge::ToText(*contents);
  const auto again = knowledge::ContentsFromText("written", written);
  CHECK(again.ok() && knowledge::ToText(*again) == written);
  const auto twice = knowledge::Merged(*contents, *again);
  CHECK(twice.ok() && knowledge::ToText(*twice) == written);
  CHECK(knowledge::Empty(knowledge::Differences(*contents, *again)));
  MustBelieve(*contents);
  for (const knowledge::Note& note : contents->notes) MustStayInPlace(note.text);
  return 0;
}
