#include "task/kernelbench/launch_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace warpsmith::kernelbench {
namespace {

// Signs become words of their own.
std::vector<std::string> SplitWords(std::string_view type) {
  std::string spaced;
  for (const char c : type) {
    const bool is_sign = c == '*' || c == '&' || c == '<' || c == '>' || c == ',';
    spaced += is_sign ? std::string(" ") + c + " " : std::string(1, c);
  }
  for (size_t at = spaced.find("std::"); at != spaced.npos; at = spaced.find("std::", at)) {
    spaced.erase(at, 5);
  }
  std::istringstream in(spaced);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// On x86-64 and ARM Linux, which is where CUDA is.
std::string Spelling(const std::string& type) {
  static const std::map<std::string, std::string> kSame = {{"long", "int64_t"},
                                                           {"long int", "int64_t"},
                                                           {"ptrdiff_t", "int64_t"},
                                                           {"unsigned long", "size_t"},
                                                           {"uint64_t", "size_t"},
                                                           {"unsigned long int", "size_t"},
                                                           {"unsigned", "unsigned int"},
                                                           {"uint32_t", "unsigned int"},
                                                           {"int32_t", "int"},
                                                           {"__half", "half"},
                                                           {"__nv_bfloat16", "nv_bfloat16"}};
  const auto found = kSame.find(type);
  return found == kSame.end() ? type : found->second;
}

bool SameParameters(const LaunchDeclaration& a, const LaunchDeclaration& b) {
  return std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
                    b.parameters.end(), [](const LaunchParameter& x, const LaunchParameter& y) {
                      return PlainType(x.type) == PlainType(y.type);
                    });
}

// The first thing that differs.
std::string Difference(const LaunchDeclaration& declared, const LaunchDeclaration& defined) {
  const size_t both = std::min(declared.parameters.size(), defined.parameters.size());
  if (declared.parameters.size() != defined.parameters.size()) {
    return std::to_string(defined.parameters.size()) + ", not " +
           std::to_string(declared.parameters.size());
  }
  for (size_t i = 0; i < both; ++i) {
    const LaunchParameter &ours = declared.parameters[i], &theirs = defined.parameters[i];
    if (PlainType(ours.type) == PlainType(theirs.type)) continue;
    return theirs.name + " is " + theirs.type + ", not " + ours.type;
  }
  return "another linkage";
}

}  // namespace

std::string PlainType(std::string_view type) {
  std::vector<std::string> words = SplitWords(type);
  const bool indirect = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "*" || word == "&";
  });
  // A value's own const is nobody's concern but the callee's; so is that of a pointer itself.
  if (!indirect) words.erase(std::remove(words.begin(), words.end(), "const"), words.end());
  if (indirect && words.back() == "const") words.pop_back();
  if (words.size() > 1 && words[1] == "const") std::swap(words[0], words[1]);  // T const*
  size_t begin = !words.empty() && words[0] == "const" ? 1 : 0;
  size_t end = begin;
  const auto is_sign = [](const std::string& word) { return word.size() == 1 && word[0] < 'A'; };
  while (end < words.size() && !is_sign(words[end])) ++end;
  const auto at = [&](size_t i) { return words.begin() + static_cast<ptrdiff_t>(i); };
  const std::string named = Spelling(fmt::format("{}", fmt::join(at(begin), at(end), " ")));
  std::vector<std::string> plain(words.begin(), at(begin));
  plain.push_back(named);
  for (size_t i = end; i < words.size(); ++i) plain.push_back(Spelling(words[i]));
  return fmt::format("{}", fmt::join(plain, " "));
}

LaunchMatch Match(const LaunchDeclaration& declared,
                  const std::vector<LaunchDeclaration>& definitions) {
  LaunchMatch match{declared, ""};
  if (definitions.empty()) return match;
  const LaunchDeclaration* same = nullptr;
  for (const LaunchDeclaration& defined : definitions) {
    const bool alike = SameParameters(declared, defined);
    if (!alike && !(declared.c_linkage && defined.c_linkage)) continue;
    if (same == nullptr || (alike && defined.c_linkage == declared.c_linkage)) same = &defined;
  }
  if (same == nullptr) {
    match.note =
        "init.cu defines launch_gpu_implementation with other parameters than its driver "
        "declares (" +
        Difference(declared, definitions.front()) + "): it cannot load";
  } else if (!SameParameters(declared, *same)) {
    match.note =
        "init.cu defines launch_gpu_implementation with other parameters than its driver "
        "declares (" +
        Difference(declared, *same) + "), and C linkage hides it";
  } else if (same->c_linkage != declared.c_linkage) {
    match.declaration.c_linkage = same->c_linkage;
    match.note = std::string("launch_gpu_implementation has ") + (same->c_linkage ? "C" : "C++") +
                 " linkage, as init.cu defines it, not its driver's";
  }
  return match;
}

}  // namespace warpsmith::kernelbench
