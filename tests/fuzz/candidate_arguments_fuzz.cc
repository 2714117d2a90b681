// A coding agent's arguments that make a candidate: names stay names, and flags and toolchain are
// the base's, whatever is asked for.
#include <nlohmann/json.hpp>

#include "agent/prompts/code_reply.h"
#include "agent/prompts/model_answer.h"
#include "agent/prompts/reply_text.h"
#include "fuzz.h"
#include "task/hgemm_task.h"

using namespace warpsmith;

namespace {

Candidate Base() {
  Candidate base;
  base.sources = {{"k.cu", "int a = 1;\nint b = 2;\n"}, {"h.cuh", "#pragma once\n"}};
  base.entry = "k.cu";
  base.flags = {"-DTILE=4"};
  base.plan.operations = {LaunchOperation()};
  return base;
}

void MustBeHarmless(const Candidate& made, const Candidate* base) {
  CHECK(made.sources.size() <= prompts::kMaxSourceFiles && made.sources.contains(made.entry));
  for (const auto& [name, text] : made.sources) {
    CHECK(prompts::CheckSourceName(name).ok() && text.size() <= prompts::kMaxSourceBytes);
  }
  CHECK(made.flags == (base == nullptr ? std::vector<std::string>() : base->flags));
  CHECK(made.toolchain == "nvrtc" && made.form == Form::kKernel && !made.plan.operations.empty());
  CHECK(made.provenance.technique.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = ParseJson("arguments", fuzz::TextOf(data, size));
  if (fuzz::ValueOf(json) == nullptr || !json->is_object()) return 0;
  static const Task task = task::HgemmTask("TN");
  static const Candidate base = Base();
  for (const Candidate* changed : {static_cast<const Candidate*>(nullptr), &base}) {
    const auto made =
        prompts::CandidateFromArguments(JsonReader("arguments", *json), task, changed);
    if (fuzz::ValueOf(made) != nullptr) MustBeHarmless(*made, changed);
  }
  return 0;
}
