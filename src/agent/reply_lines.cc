#include "agent/reply_lines.h"

#include <algorithm>
#include <cctype>

#include "agent/knowledge/facts.h"
#include "agent/prompts/reply_text.h"
#include "base/display_text.h"

namespace warpsmith::agent {
namespace {

constexpr std::string_view kMark = "technique:";
constexpr size_t kMaxNameBytes = 60, kMaxDescription = 300;

// Without the marks that models put around words: "**TECHNIQUE:** `name`".
std::string WithoutMarkup(std::string_view line) {
  std::string plain;
  for (const char c : line) {
    if (c != '*' && c != '`' && c != '#') plain += c;
  }
  return std::string(prompts::Trimmed(plain));
}

bool BeginsWithMark(std::string_view line) {
  if (line.size() < kMark.size()) return false;
  return std::equal(kMark.begin(), kMark.end(), line.begin(), [](char mark, char c) {
    return mark == static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
}

// Where the name ends: at a dash between spaces, a colon, a comma or a bracket.
size_t EndOfName(std::string_view text) {
  size_t end = text.size();
  for (const std::string_view joint :
       {" - ", " -- ", " \xE2\x80\x93 ", " \xE2\x80\x94 ", ":", ",", "(", "."}) {
    end = std::min(end, text.find(joint));
  }
  return std::min(end, text.size());
}

std::string Description(std::string_view rest) {
  const size_t begin = rest.find_first_not_of(" -:,(.\xE2\x80\x93\x94");
  if (begin == rest.npos) return "";
  return ForTerminal(prompts::Trimmed(rest.substr(begin)), kMaxDescription);
}

}  // namespace

std::optional<NamedTechnique> TechniqueIn(std::string_view reply) {
  bool in_code = false;
  for (const std::string_view raw : prompts::LinesOf(reply)) {
    const std::string_view bare = prompts::Trimmed(raw);
    if (bare.starts_with("```") || bare.starts_with("~~~")) in_code = !in_code;
    const std::string line = WithoutMarkup(bare);
    if (in_code || !BeginsWithMark(line)) continue;
    const std::string_view text = prompts::Trimmed(std::string_view(line).substr(kMark.size()));
    const size_t end = EndOfName(text);
    NamedTechnique named;
    named.name = knowledge::CanonicalName(text.substr(0, std::min(end, kMaxNameBytes)));
    named.description = Description(text.substr(end));
    if (!named.name.empty()) return named;
  }
  return std::nullopt;
}

}  // namespace warpsmith::agent
