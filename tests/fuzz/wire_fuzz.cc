// Headers of the frames between the oracle and its processes; the first line says which. What was
// read can be sent, and is the same then. A process's error is text of any bytes.
#include "fuzz.h"
#include "judge/resolved_task.h"
#include "judge/wire.h"

using namespace warpsmith;

namespace {

template <typename T>
void Check(std::string_view text, Result<T> (*from)(std::string_view),
           std::string (*to)(const T&)) {
  const auto read = from(text);
  if (fuzz::ValueOf(read) == nullptr) return;
  const std::string written = to(*read);
  const auto again = from(written);
  CHECK(again.ok() && to(*again) == written);
}

void CheckProblem(std::string_view text) {
  const auto command = judge::CommandFromText(text);
  if (!command.ok()) return;
  const auto* arena = std::get_if<judge::ArenaCommand>(&*command);
  if (arena != nullptr) fuzz::ValueOf(judge::ResolveTask(arena->task, arena->workload));
}

void CheckError(std::string_view text) {
  const Error error{ErrorCode::kIo, std::string(text), std::string(text)};
  CHECK(judge::ReplyFromText(judge::ReplyToText(error)).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [kind, text] = fuzz::CutLine(fuzz::TextOf(data, size));
  if (kind == "command") {
    Check(text, judge::CommandFromText, judge::CommandToText);
    CheckProblem(text);
  }
  if (kind == "reply") Check(text, judge::ReplyFromText, judge::ReplyToText);
  if (kind == "error") CheckError(text);
  return 0;
}
