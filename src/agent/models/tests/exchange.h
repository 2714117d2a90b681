// What a person finds in the folder of an exchange, for tests.
#ifndef WARPSMITH_AGENT_MODELS_TESTS_EXCHANGE_H_
#define WARPSMITH_AGENT_MODELS_TESTS_EXCHANGE_H_

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"

namespace warpsmith::models {

struct AwaitedAnswer {
  std::filesystem::path prompt, request, answer;  // what to read, where to write
};

// Every sample of every request that has no answer yet, in the order of their names.
inline std::vector<AwaitedAnswer> AwaitedAnswers(const std::filesystem::path& folder) {
  const std::string suffix = ".request.json";
  std::vector<AwaitedAnswer> awaited;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string request = file.path().string();
    if (!request.ends_with(suffix)) continue;
    const std::string id = request.substr(0, request.size() - suffix.size());
    const int samples = nlohmann::json::parse(ReadFile(request).value()).at("samples");
    for (int sample = 1; sample <= samples; ++sample) {
      const std::string number = sample == 1 ? "" : "-" + std::to_string(sample);
      const std::string answer = id + ".answer" + number + ".md";
      if (!std::filesystem::exists(answer)) awaited.push_back({id + ".prompt.md", request, answer});
    }
  }
  std::ranges::sort(awaited, {}, &AwaitedAnswer::answer);
  return awaited;
}

}  // namespace warpsmith::models

#endif  // WARPSMITH_AGENT_MODELS_TESTS_EXCHANGE_H_
