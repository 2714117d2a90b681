#include "sandbox/sandbox.h"
#include "sandbox/trial.h"

namespace warpsmith::sandbox {
namespace {

constexpr int kErred = 255;

// The level as the status, what is absent as lines.
int EnterAsProgramsDo(int mouth) {
  Policy policy;
  policy.descriptors = {mouth};
  AllowLibraries(&policy);
  AllowGpu(&policy);
  const Result<Reached> reached = Enter(policy);
  if (!reached.ok()) {
    Say(mouth, reached.error().Line());
    return kErred;
  }
  std::string text;
  for (const std::string& line : reached->absent) text += line + "\n";
  return Say(mouth, text) ? static_cast<int>(reached->level) : kErred;
}

}  // namespace

Result<Reached> Probe() {
  const Answer answer = TRY(TryInChild(EnterAsProgramsDo));
  if (answer.status > static_cast<int>(Level::kL2)) {
    return Error{ErrorCode::kInternal, "trying the sandbox: " + answer.text, ""};
  }
  Reached reached;
  reached.level = static_cast<Level>(answer.status);
  for (size_t start = 0; start < answer.text.size();) {
    const size_t end = answer.text.find('\n', start);
    reached.absent.push_back(answer.text.substr(start, end - start));
    start = end + 1;
  }
  return reached;
}

}  // namespace warpsmith::sandbox
