#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "commands.h"
#include "hgemm/catalogue.h"
#include "hgemm/features.h"
#include "search/machine/machine.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

// Prints the features of one line of stdin.
Status PrintFeatures(const std::string& line, const hgemm::Target& target) {
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
  const Point point = TRY(hgemm::PointFromName(kernel));
  TRY(hgemm::CheckPoint(point));
  std::string row;
  for (const float value : hgemm::FeaturesOf({shape.m, shape.n, shape.k, *layout}, target, point)) {
    char number[32];
    std::snprintf(number, sizeof number, "%.9g", static_cast<double>(value));  // the float, exactly
    row += (row.empty() ? "" : ",") + std::string(number);
  }
  std::puts(row.c_str());
  return {};
}

}  // namespace

Result<int> RunHgemmFeatures(const FeaturesOptions& options) {
  search::Machine machine = TRY(search::Machine::Open(options.device));
  const hgemm::Target target = hgemm::TargetOf(machine.info());
  std::string head;
  for (const std::string& name : hgemm::FeatureNames()) head += (head.empty() ? "" : ",") + name;
  std::puts(head.c_str());
  std::string line;
  for (int number = 1; std::getline(std::cin, line); ++number) {
    const Status printed = PrintFeatures(line, target);
    if (printed.ok()) continue;
    Error error = printed.error();
    error.message = "stdin, line " + std::to_string(number) + ": " + error.message;
    return error;
  }
  return 0;
}

}  // namespace warpsmith::cli
