#include "compile/flag_rules.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>

#include "base/foreign_file.h"
#include "base/text.h"

namespace warpsmith::compile {
namespace {

using Texts = std::vector<std::string_view>;

// What an option's value may be.
enum class Value : uint8_t { kNone, kWord, kMacro, kFolder, kLibrary, kPtxas, kHost };

struct Option {
  std::string_view name;  // with one dash or two; compared without them
  Value value = Value::kNone;
};

// kWord: letters, digits and what numbers and lists of them need: never a path.
constexpr Option kOptions[] = {
    {"use_fast_math"},
    {"lineinfo"},
    {"generate-line-info"},
    {"expt-relaxed-constexpr"},
    {"extended-lambda"},
    {"expt-extended-lambda"},
    {"restrict"},
    {"extra-device-vectorization"},
    {"device-int128"},
    {"device-as-default-execution-space"},
    {"default-device"},
    {"disable-warnings"},
    {"w"},
    {"G"},
    {"device-debug"},
    {"std", Value::kWord},
    {"O", Value::kWord},
    {"optimize", Value::kWord},
    {"dopt", Value::kWord},
    {"Ofast-compile", Value::kWord},
    {"maxrregcount", Value::kWord},
    {"ftz", Value::kWord},
    {"prec-div", Value::kWord},
    {"prec-sqrt", Value::kWord},
    {"fmad", Value::kWord},
    {"default-stream", Value::kWord},
    {"diag-suppress", Value::kWord},
    {"diag-warn", Value::kWord},
    {"D", Value::kMacro},
    {"define-macro", Value::kMacro},
    {"U", Value::kMacro},
    {"undefine-macro", Value::kMacro},
    {"I", Value::kFolder},
    {"include-path", Value::kFolder},
    {"l", Value::kLibrary},
    {"library", Value::kLibrary},
    {"Xptxas", Value::kPtxas},
    {"ptxas-options", Value::kPtxas},
    {"Xcompiler", Value::kHost},
    {"compiler-options", Value::kHost},
};

constexpr std::string_view kPtxasOptions[] = {"-v",
                                              "--verbose",
                                              "-O0",
                                              "-O1",
                                              "-O2",
                                              "-O3",
                                              "-w",
                                              "--disable-warnings",
                                              "--warn-on-spills",
                                              "-warn-spills",
                                              "--warn-on-local-memory-usage",
                                              "-warn-lmem-usage",
                                              "--disable-optimizer-constants"};
// Those with a value after '=' or ' '.
constexpr std::string_view kPtxasSettings[] = {"--opt-level",
                                               "-O",
                                               "--allow-expensive-optimizations",
                                               "-allow-expensive-optimizations",
                                               "--def-load-cache",
                                               "-dlcm",
                                               "--def-store-cache",
                                               "-dscm",
                                               "--maxrregcount",
                                               "-maxrregcount",
                                               "--register-usage-level",
                                               "-regUsageLevel",
                                               "--fmad",
                                               "-fmad"};
constexpr std::string_view kHostOptions[] = {"-fPIC",
                                             "-O0",
                                             "-O1",
                                             "-O2",
                                             "-O3",
                                             "-w",
                                             "-Wall",
                                             "-Wextra",
                                             "-pthread",
                                             "-fopenmp",
                                             "-ffast-math",
                                             "-fno-strict-aliasing",
                                             "-fvisibility=hidden",
                                             "-march=native",
                                             "-g"};
constexpr std::string_view kFreeLibraries[] = {"m",      "pthread", "dl",  "rt",
                                               "stdc++", "cudart",  "cuda"};

constexpr std::string_view kWord = "+-,_";  // beside letters and digits

template <typename List>
bool Contains(const List& list, std::string_view text) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

// nvcc hands macros to a shell between double quotes.
bool IsMacro(std::string_view text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), [](unsigned char byte) {
    return byte < ' ' || byte == '"' || byte == '`' || byte == '$' || byte == '\\';
  });
}

bool IsPtxasOption(std::string_view text) {
  if (Contains(kPtxasOptions, text)) return true;
  const size_t equals = text.find('=');
  return equals != std::string_view::npos && Contains(kPtxasSettings, text.substr(0, equals)) &&
         IsMadeOf(text.substr(equals + 1), kWord);
}

template <typename Test>
bool EachOfList(std::string_view text, const Test& test) {
  std::istringstream items{std::string(text)};
  bool any = false;
  for (std::string item; std::getline(items, item, ',');) {
    if (!test(item)) return false;
    any = true;
  }
  return any;
}

bool IsAllowed(Value kind, std::string_view text, const std::vector<std::string>& libraries) {
  switch (kind) {
    case Value::kNone:
      return false;
    case Value::kWord:
      return IsMadeOf(text, kWord);
    case Value::kMacro:
      return IsMacro(text);
    case Value::kFolder:
      return StaysInside(text) && IsMacro(text);  // a folder of the sources
    case Value::kLibrary:
      return Contains(kFreeLibraries, text) || Contains(libraries, text);
    case Value::kPtxas:
      return EachOfList(text, IsPtxasOption);
    case Value::kHost:
      return EachOfList(text, [](const std::string& one) { return Contains(kHostOptions, one); });
  }
  return false;
}

// `flag` without its dashes, when it is `option`, and what of it is the value already.
struct Match {
  const Option* option = nullptr;
  std::optional<std::string_view> value;
};

bool TakesItsValueAttached(std::string_view name) {
  return name == "D" || name == "U" || name == "I" || name == "l" || name == "O";
}

Match Find(std::string_view flag) {
  const size_t dashes = std::min(flag.find_first_not_of('-'), flag.size());
  if (dashes == 0 || dashes > 2) return {};
  const std::string_view bare = flag.substr(dashes);
  const size_t equals = bare.find('=');
  for (const Option& option : kOptions) {
    if (bare == option.name) return {&option, std::nullopt};
    if (option.value != Value::kNone && bare.substr(0, equals) == option.name) {
      return {&option, bare.substr(equals + 1)};
    }
  }
  for (const Option& option : kOptions) {
    if (dashes == 1 && TakesItsValueAttached(option.name) && bare.starts_with(option.name)) {
      return {&option, bare.substr(option.name.size())};
    }
  }
  return {};
}

}  // namespace

std::optional<std::string> RefusedFlag(const std::vector<std::string>& flags,
                                       const std::vector<std::string>& libraries) {
  for (size_t i = 0; i < flags.size(); ++i) {
    const std::string& flag = flags[i];
    Match match = Find(flag);
    if (match.option == nullptr) return "flag '" + flag + "' is not among those allowed";
    if (match.option->value == Value::kNone) continue;
    std::string named = flag;
    if (!match.value && i + 1 < flags.size()) {
      match.value = flags[++i];
      named += " " + flags[i];
    }
    if (!match.value) return "flag '" + flag + "' lacks its value";
    if (IsAllowed(match.option->value, *match.value, libraries)) continue;
    return "flag '" + named + "' has a value that is not allowed";
  }
  return std::nullopt;
}

}  // namespace warpsmith::compile
