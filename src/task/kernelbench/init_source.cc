#include "task/kernelbench/init_source.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace warpsmith::kernelbench {
namespace {

struct Need {
  std::string_view word;                  // where it is used...
  std::vector<std::string_view> headers;  // ...one of these must be included; the first is added
};

bool Has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

std::string InitSource(const std::string& text) {
  static const std::vector<Need> kNeeds = {{"std::vector", {"<vector>"}},
                                           {"stderr", {"<cstdio>", "<stdio.h>", "<iostream>"}}};
  std::string added;
  for (const Need& need : kNeeds) {
    const bool is_there = std::any_of(need.headers.begin(), need.headers.end(),
                                      [&](std::string_view header) { return Has(text, header); });
    if (Has(text, need.word) && !is_there) {
      added += "#include " + std::string(need.headers.front()) + "\n";
    }
  }
  return added + text;
}

}  // namespace warpsmith::kernelbench
