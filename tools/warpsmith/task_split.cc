#include <cstdio>
#include <nlohmann/json.hpp>

#include "agent/runs/task_split.h"
#include "commands.h"

namespace warpsmith::cli {
namespace {

void PrintJson(const agent::TaskSplitOptions& options, const agent::ProvenSplit& proven) {
  nlohmann::json parts = nlohmann::json::array();
  for (const split::Part& part : proven.split.parts) {
    parts.push_back({{"folder", part.name}, {"task", part.task.name}});
  }
  PrintDocument("task-split", {{"folder", options.into},
                               {"parts", parts},
                               {"worst_fraction", proven.proof.worst},
                               {"confined", proven.proof.confined},
                               {"comparisons", proven.proof.comparisons}});
}

void PrintText(const agent::TaskSplitOptions& options, const agent::ProvenSplit& proven) {
  const std::string& into = options.into;
  for (const split::Part& part : proven.split.parts) {
    std::printf("wrote %s/%s: %s\n", into.c_str(), part.name.c_str(), part.task.name.c_str());
  }
  // What a machine without one cannot do is no reason to stop: the rules have passed the text.
  if (!proven.proof.confined.starts_with("L1") && !proven.proof.confined.starts_with("L2")) {
    std::printf("note: the model's references ran without a whole sandbox (%s)\n",
                proven.proof.confined.c_str());
  }
  std::printf(
      "the parts compose to the whole: the largest error is %.2g of its bound (%s, workload %s; "
      "%ld outputs compared)\n\nNow, for each part, and then for the whole:\n",
      proven.proof.worst, proven.proof.output.c_str(), proven.proof.workload.c_str(),
      static_cast<long>(proven.proof.comparisons));
  for (const split::Part& part : proven.split.parts) {
    std::printf("  warpsmith optimize %s/%s --proposer agent --model ...\n", into.c_str(),
                part.name.c_str());
  }
  std::printf("  warpsmith optimize %s --parts %s --proposer agent --model ...\n",
              options.task.c_str(), into.c_str());
}

}  // namespace

Result<int> RunTaskSplit(const agent::TaskSplitOptions& options) {
  const agent::ProvenSplit proven = TRY(agent::SplitTask(options));
  if (options.common.json) {
    PrintJson(options, proven);
  } else {
    PrintText(options, proven);
  }
  return 0;
}

}  // namespace warpsmith::cli
