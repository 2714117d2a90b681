#include "agent/prompts/file_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "agent/prompts/reply_text.h"
#include "base/display_text.h"
#include "base/utf8.h"

namespace warpsmith::prompts {
namespace {

constexpr std::array<std::string_view, 8> kSourceExtensions = {".cu",  ".cuh", ".h",  ".hh",
                                                               ".hpp", ".inl", ".cc", ".cpp"};
// What a model may call a file without our taking it: so that we can say that we do not.
constexpr std::array<std::string_view, 10> kOtherExtensions = {
    ".json", ".toml", ".c", ".py", ".txt", ".md", ".sh", ".ptx", ".yaml", ".cmake"};
constexpr std::array<std::string_view, 4> kPlanNames = {"plan.json", "plan.toml", "candidate.json",
                                                        "candidate.toml"};

bool IsPlain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}
bool IsInName(char c) { return IsPlain(c) || c == '/' || c == '\\' || c == '~'; }

bool HasExtension(std::string_view name, std::string_view extension) {
  return name.size() > extension.size() && name.ends_with(extension);
}
bool LooksLikeFile(std::string_view name) {
  return HasSourceExtension(name) ||
         std::any_of(kOtherExtensions.begin(), kOtherExtensions.end(),
                     [&](std::string_view one) { return HasExtension(name, one); });
}

// Maximal runs of a name's characters, without what ends a sentence.
std::vector<std::string_view> SplitWords(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < line.size();) {
    if (!IsInName(line[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < line.size() && IsInName(line[at])) ++at;
    std::string_view word = line.substr(begin, at - begin);
    while (!word.empty() && word.back() == '.') word.remove_suffix(1);
    words.push_back(word);
  }
  return words;
}

// Words that stand beside a name in a label: "File: a.cu", "// path: a.cu", "a.cu (updated)".
bool IsLabelWord(std::string_view word) {
  constexpr std::array<std::string_view, 16> kWords = {
      "file", "filename", "path",  "name", "title",  "source",   "new",  "updated",
      "full", "complete", "begin", "the",  "kernel", "modified", "code", "header"};
  if (std::all_of(word.begin(), word.end(),
                  [](char c) { return !std::isalpha(static_cast<unsigned char>(c)); })) {
    return true;  // "1.", "--", "//"
  }
  return std::find(kWords.begin(), kWords.end(), AsciiLower(word)) != kWords.end();
}

}  // namespace

bool HasSourceExtension(std::string_view name) {
  return std::any_of(kSourceExtensions.begin(), kSourceExtensions.end(),
                     [&](std::string_view one) { return HasExtension(name, one); });
}

Status CheckSourceName(std::string_view name) {
  const std::string shown = "'" + ForTerminal(name, kMaxFileNameBytes) + "'";
  if (name.find_first_of("/\\~") != name.npos || name == "..") {
    return BadReply(shown + " is a path: sources have plain names");
  }
  if (name.empty() || name.size() > kMaxFileNameBytes || name.front() == '.' ||
      name.front() == '-' || !std::all_of(name.begin(), name.end(), IsPlain)) {
    return BadReply(shown + " is no name for a source: letters, digits, '_', '-', '.', at most " +
                    std::to_string(kMaxFileNameBytes));
  }
  if (!HasSourceExtension(name))
    return BadReply(shown + " is no CUDA or C++ source by its extension");
  return {};
}

bool IsPlanName(std::string_view name) {
  return std::find(kPlanNames.begin(), kPlanNames.end(), name) != kPlanNames.end();
}

std::optional<std::string> NameInInfo(std::string_view info) {
  for (const std::string_view word : SplitWords(info)) {
    if (LooksLikeFile(word)) return std::string(word);
  }
  return std::nullopt;
}

std::optional<std::string> NameAsLabel(std::string_view line) {
  if (line.size() > 2 * kMaxFileNameBytes + 64 || line.find('<') != line.npos ||
      line.find('"') != line.npos) {
    return std::nullopt;  // an #include, most likely
  }
  std::optional<std::string> name;
  for (const std::string_view word : SplitWords(line)) {
    if (LooksLikeFile(word) && !name) {
      name = std::string(word);
    } else if (!IsLabelWord(word)) {
      return std::nullopt;
    }
  }
  return name;
}

std::optional<std::string> NameInSentence(std::string_view line) {
  std::optional<std::string> name;
  for (const std::string_view word : SplitWords(line)) {
    if (!LooksLikeFile(word) || word.find_first_of("/\\~") != word.npos) continue;
    if (name && *name != word) return std::nullopt;
    name = std::string(word);
  }
  return name;
}

}  // namespace warpsmith::prompts
