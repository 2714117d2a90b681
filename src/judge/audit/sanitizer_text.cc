#include "judge/audit/sanitizer_text.h"

#include <algorithm>
#include <array>
#include <limits>

#include "judge/audit/contains.h"

namespace warpsmith::audit {
namespace {

constexpr size_t kMaxLineBytes = 400;  // a kernel's full name can be many times that

// The tool's words for "I did not see what you wanted me to see".
constexpr std::array<std::string_view, 18> kInabilities = {
    "will be disabled",
    "not supported",
    "unsupported",
    "No attachable process",
    "Could not connect",
    "Unable to ",
    "terminated before first instrumented",
    "doesn't exist or is not a valid executable",
    "Internal Sanitizer",
    "Internal error",
    "Insufficient",
    "insufficient",
    "Failed to",
    "failed to initialize",
    "features are disabled",
    "Error launching",
    "couldn't find exit code",
    "Maximum number of hazards",
};

// "========= words": how deep the words are indented behind the mark, and the words.
struct ToolLine {
  size_t indent = 0;
  std::string_view words;
};

std::optional<ToolLine> ToolLineOf(std::string_view line) {
  constexpr size_t kMarks = 8;
  const size_t marks = std::min(line.find_first_not_of('='), line.size());
  if (marks < kMarks) return std::nullopt;
  line.remove_prefix(marks);
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  line = line.substr(indent, kMaxLineBytes);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return ToolLine{indent, line};
}

// The first number in `words`, digit groups joined; saturates.
std::optional<int64_t> NumberIn(std::string_view words) {
  const size_t begin = words.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  int64_t value = 0;
  for (const char c : words.substr(begin)) {
    if (c == ',') continue;
    if (c < '0' || c > '9') break;
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, c - '0', &value)) {
      return std::numeric_limits<int64_t>::max();
    }
  }
  return value;
}

// "12 hazards displayed (2 errors, 10 warnings)"
std::optional<RaceSummary> RacesIn(std::string_view words) {
  const size_t open = words.find('('), comma = words.find(", ", std::min(open, words.size()));
  if (open == std::string_view::npos || comma == std::string_view::npos) return std::nullopt;
  const auto hazards = NumberIn(words.substr(0, open));
  const auto errors = NumberIn(words.substr(open, comma - open));
  const auto warnings = NumberIn(words.substr(comma + 2));
  if (!hazards || !errors || !warnings) return std::nullopt;
  return RaceSummary{*hazards, *errors, *warnings};
}

class SanitizerReader {
 public:
  SanitizerText Run(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      if (const auto line = ToolLineOf(text.substr(0, end))) Read(*line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(result_);
  }

 private:
  void Read(const ToolLine& line) {
    if (line.words.empty()) return;
    if (line.indent > 1) return ReadDetail(line.words);
    in_first_ = false;
    ReadHead(line.words);
  }

  void ReadHead(std::string_view words) {
    if (words.starts_with("COMPUTE-SANITIZER")) {
      result_.started = true;
    } else if (words.starts_with("ERROR SUMMARY:")) {
      if (const auto errors = NumberIn(words)) {
        result_.errors = std::max(*errors, result_.errors.value_or(0));
      }
    } else if (words.starts_with("RACECHECK SUMMARY:")) {
      if (const auto races = RacesIn(words)) result_.races = races;
    } else if (words.starts_with("LEAK SUMMARY:")) {
      return;
    } else {
      ReadReport(words);
    }
  }

  void ReadReport(std::string_view words) {
    const bool warns = words.starts_with("Warning: ");
    if (words.starts_with("Target application returned an error") ||
        words.starts_with("Error: process didn't terminate successfully")) {
      result_.target_failed = true;
    } else if (words.starts_with("Program hit ")) {
      if (result_.api_error.empty()) result_.api_error = words;
    } else if (IsKernelsOwn(words)) {
      if (!warns) Begin(words);
    } else if (IsInability(words)) {
      if (result_.inability.empty()) result_.inability = words;
    } else if (!warns) {
      Begin(words);  // a kind of report that is newer than this reader
    }
  }

  static bool IsKernelsOwn(std::string_view words) {
    return words.starts_with("Invalid ") || words.starts_with("Uninitialized ") ||
           words.starts_with("Misaligned ") || Contains(words, "Race reported between") ||
           Contains(words, "hazard detected");
  }

  static bool IsInability(std::string_view words) {
    return words.starts_with("Error: ") ||
           std::any_of(kInabilities.begin(), kInabilities.end(),
                       [words](std::string_view part) { return Contains(words, part); });
  }

  void Begin(std::string_view kind) {
    if (kind.starts_with("Error: ")) kind.remove_prefix(7);
    if (result_.first) return;
    result_.first = SanitizerError{std::string(kind), "", "", ""};
    in_first_ = true;
  }

  void ReadDetail(std::string_view words) {
    if (!in_first_) return;
    SanitizerError& first = *result_.first;
    if (words.starts_with("at ") && first.kernel.empty()) {
      first.kernel = KernelIn(words.substr(3));
    } else if (words.starts_with("by thread ") && first.place.empty()) {
      first.place = words.substr(3);
    } else if ((words.starts_with("Address ") || words.starts_with("Access ")) &&
               first.access.empty()) {
      first.access = words;
    } else if (words.starts_with("and ") && first.place.empty() && first.access.empty()) {
      first.access = words;  // a race's other side
    }
  }

  // "scale(float *, int)+0x90 in a.cu:7", or the older "0x90 in scale(float *, int)".
  static std::string KernelIn(std::string_view words) {
    const size_t in = words.find(" in ");
    if (in == std::string_view::npos) return std::string(words);
    if (words.starts_with("0x")) return std::string(words.substr(in + 4));
    return std::string(words.substr(0, in));
  }

  SanitizerText result_;
  bool in_first_ = false;
};

}  // namespace

std::string Describe(const SanitizerError& error) {
  std::string text = error.kind;
  if (!error.kernel.empty()) text += " at " + error.kernel;
  if (!error.place.empty()) text += " by " + error.place;
  if (!error.access.empty()) text += ": " + error.access;
  return text;
}

SanitizerText ReadSanitizerText(std::string_view text) { return SanitizerReader().Run(text); }

std::string ReadSanitizerVersion(std::string_view text) {
  constexpr std::string_view kLabel = "Version ";
  const size_t at = text.find(kLabel);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = text.substr(at + kLabel.size());
  return std::string(rest.substr(0, std::min<size_t>(rest.find_first_not_of("0123456789."), 32)));
}

}  // namespace warpsmith::audit
