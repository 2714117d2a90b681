// A model's reply to a prompt that showed two files, and an edit of one of them: the first line
// says which. What is taken has plain names, and files that were not spoken of stay as they were.
#include <algorithm>

#include "agent/prompts/code_reply.h"
#include "agent/prompts/edit.h"
#include "agent/prompts/reply_text.h"
#include "base/utf8.h"
#include "fuzz.h"

using namespace warpsmith;

namespace {

const prompts::ReplyBase& Shown() {
  static const auto& base = *new prompts::ReplyBase{
      {{"kernel.cu", "#include \"tile.cuh\"\n__global__ void k(float* y) {\n  y[0] = 1;\n}\n"},
       {"tile.cuh", "#define TILE 16\n"}},
      "kernel.cu"};
  return base;
}

void ReadCode(std::string_view text) {
  const auto reply = prompts::ReadCodeReply(text, Shown());
  if (!reply.ok()) CHECK(reply.error().message.find('\n') == std::string::npos);
  const prompts::CodeReply* read = fuzz::ValueOf(reply);
  if (read == nullptr) return;
  CHECK(read->sources.contains(read->entry));
  CHECK(read->sources.size() <= prompts::kMaxSourceFiles);
  for (const auto& [name, source] : read->sources) {
    CHECK(prompts::CheckSourceName(name).ok());
    CHECK(IsUtf8(source) && source.size() <= prompts::kMaxSourceBytes);
  }
  const Candidate candidate = prompts::WithReply({}, *read);
  CHECK(candidate.flags.empty() && candidate.toolchain == "nvrtc");
}

// What an edit does not name is there before and after.
void ApplyOne(std::string_view text) {
  const auto [search, file] = fuzz::CutLine(text);
  const auto changed = prompts::ApplyEdit(file, {"edit 1", std::string(search), "@", {}});
  if (fuzz::ValueOf(changed) == nullptr) return;
  CHECK(std::count(changed->begin(), changed->end(), '@') ==
        std::count(file.begin(), file.end(), '@') - std::count(search.begin(), search.end(), '@') +
            1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [kind, text] = fuzz::CutLine(fuzz::TextOf(data, size));
  if (kind == "reply") ReadCode(text);
  if (kind == "edit") ApplyOne(text);
  return 0;
}
