#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "commands.h"
#include "hgemm/catalogue.h"
#include "hgemm/features.h"
#include "search/machine/machine.h"
#include "store/candidate_text.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

struct Asked {
  hgemm::Problem problem;
  Point point;
};

Result<Asked> AskedIn(const std::string& line) {
  std::istringstream words(line);
  std::string sizes, layout_name, kernel;
  words >> sizes >> layout_name >> std::ws;
  std::getline(words, kernel);
  const task::HgemmShape shape = TRY(task::ParseHgemmShape(sizes));
  const auto layout = hgemm::LayoutFromText(layout_name);
  if (!layout) {
    return Error{ErrorCode::kBadInput, "expected a layout, found '" + layout_name + "'",
                 "write NN or TN"};
  }
  Asked asked{{shape.m, shape.n, shape.k, *layout}, TRY(hgemm::PointFromName(kernel))};
  TRY(hgemm::CheckPoint(asked.point));
  return asked;
}

void PrintFeatures(const Asked& asked, const hgemm::Target& target) {
  std::string row;
  for (const float value : hgemm::FeaturesOf(asked.problem, target, asked.point)) {
    char number[32];
    std::snprintf(number, sizeof number, "%.9g", static_cast<double>(value));  // the float, exactly
    row += (row.empty() ? "" : ",") + std::string(number);
  }
  std::puts(row.c_str());
}

// Lines {"source":SHA256,"text":...} for each source once, then {"candidate":[0,LINE],"body":...}
// as in a recording, or {"candidate":[0,LINE],"body":null} where the kernel is outside of what its
// family can do for the problem.
Status PrintCandidate(const Asked& asked, const hgemm::Target& target, int number,
                      std::set<std::string>& printed) {
  const std::string head = "{\"candidate\":[0," + std::to_string(number) + "],\"body\":";
  if (!hgemm::IsLegal(asked.problem, target, asked.point)) {
    std::puts((head + "null}").c_str());
    return {};
  }
  const Candidate candidate =
      TRY(hgemm::MakeCandidate(asked.problem, hgemm::WithAllParameters(asked.point)));
  const store::CandidateText text = store::TextOf(candidate);
  for (const auto& [path, sha256] : text.sources) {
    if (!printed.insert(sha256).second) continue;
    const nlohmann::json source = candidate.sources.at(path);
    std::puts(("{\"source\":\"" + sha256 + "\",\"text\":" + source.dump() + "}").c_str());
  }
  std::puts((head + text.body + "}").c_str());
  return {};
}

}  // namespace

Result<int> RunHgemmFeatures(const FeaturesOptions& options) {
  search::Machine machine = TRY(search::Machine::Open(options.device));
  const hgemm::Target target = hgemm::TargetOf(machine.info());
  if (!options.candidates) {
    std::string head;
    for (const std::string& name : hgemm::FeatureNames()) head += (head.empty() ? "" : ",") + name;
    std::puts(head.c_str());
  }
  std::set<std::string> printed;
  std::string line;
  for (int number = 1; std::getline(std::cin, line); ++number) {
    const auto asked = AskedIn(line);
    Status done = asked.ok() ? Status() : Status(asked.error());
    if (asked.ok() && options.candidates) done = PrintCandidate(*asked, target, number, printed);
    if (asked.ok() && !options.candidates) PrintFeatures(*asked, target);
    if (done.ok()) continue;
    Error error = done.error();
    error.message = "stdin, line " + std::to_string(number) + ": " + error.message;
    return error;
  }
  return 0;
}

}  // namespace warpsmith::cli
