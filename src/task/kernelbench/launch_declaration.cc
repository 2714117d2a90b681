#include "task/kernelbench/launch_declaration.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>

namespace warpsmith::kernelbench {
namespace {

// Words, "::" and single signs; literals are one token, comments and directives none.
using Tokens = std::vector<std::string>;

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool IsWord(const std::string& token) {
  return !token.empty() && IsWordCharacter(token.front()) &&
         std::isdigit(static_cast<unsigned char>(token.front())) == 0;
}

// The end of a literal that begins at `at` with a quote; the text's end where it is not closed.
size_t AfterQuoted(std::string_view text, size_t at) {
  const char quote = text[at];
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote || text[i] == '\n') {
      return i + 1;
    }
  }
  return text.size();
}

// R"x(...)x", from its quote.
size_t AfterRaw(std::string_view text, size_t quote) {
  const size_t open = text.find('(', quote);
  if (open == text.npos) return text.size();
  const std::string close = ")" + std::string(text.substr(quote + 1, open - quote - 1)) + "\"";
  const size_t end = text.find(close, open);
  return end == text.npos ? text.size() : end + close.size();
}

// A directive goes to the end of its line, or further where a backslash ends that.
size_t AfterDirective(std::string_view text, size_t at) {
  for (; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
  }
  return std::min(at, text.size());
}

// Past white space, comments and directives.
size_t AfterBlank(std::string_view text, size_t at) {
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    if (std::isspace(static_cast<unsigned char>(rest.front())) != 0) {
      ++at;
    } else if (rest.starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (rest.starts_with("/*")) {
      const size_t end = text.find("*/", at + 2);
      at = end == text.npos ? text.size() : end + 2;
    } else if (rest.front() == '#') {
      at = AfterDirective(text, at);
    } else {
      break;
    }
  }
  return at;
}

size_t AfterToken(std::string_view text, size_t at) {
  if (text[at] == '"' || text[at] == '\'') return AfterQuoted(text, at);
  if (text.substr(at).starts_with("::")) return at + 2;
  if (!IsWordCharacter(text[at])) return at + 1;
  size_t end = at;
  while (end < text.size() && IsWordCharacter(text[end])) ++end;
  if (text.substr(at, end - at).ends_with('R') && end < text.size() && text[end] == '"') {
    return AfterRaw(text, end);
  }
  return end;
}

Tokens TokensOf(std::string_view text) {
  Tokens tokens;
  for (size_t at = AfterBlank(text, 0); at < text.size();) {
    const size_t end = AfterToken(text, at);
    tokens.emplace_back(text.substr(at, end - at));
    at = AfterBlank(text, end);
  }
  return tokens;
}

Error Unusable(const std::string& what) {
  return {ErrorCode::kBadInput, "launch_gpu_implementation " + what,
          "declare it before main(), as in: void launch_gpu_implementation(void* output, "
          "const void* input, int64_t n);"};
}

// Index after the bracket that closes the one at `open`.
std::optional<size_t> AfterMatching(const Tokens& tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (token == "(" || token == "{" || token == "[") ++depth;
    if ((token == ")" || token == "}" || token == "]") && --depth == 0) return i + 1;
  }
  return std::nullopt;
}

bool NeedsSpace(const std::string& left, const std::string& right) {
  return IsWordCharacter(left.back()) && IsWordCharacter(right.front());
}

std::string Joined(const Tokens& tokens) {
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool after_type =
        i > 0 && (tokens[i - 1] == ">" || tokens[i - 1] == "*" || tokens[i - 1] == "&") &&
        IsWord(tokens[i]);
    if (i > 0 && (after_type || NeedsSpace(tokens[i - 1], tokens[i]))) text += ' ';
    text += tokens[i];
  }
  return text;
}

// Words that are a type, or part of one, so that they cannot be a parameter's name.
bool IsTypeWord(const std::string& word) {
  static constexpr std::array<std::string_view, 17> kWords = {
      "const",  "volatile", "unsigned", "signed", "int",  "long",   "short",   "char",    "float",
      "double", "bool",     "void",     "auto",   "half", "size_t", "int64_t", "uint64_t"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// A word names the parameter when what stands before it is a type already.
bool LastIsName(const Tokens& tokens) {
  if (tokens.size() < 2 || !IsWord(tokens.back()) || IsTypeWord(tokens.back())) return false;
  if (tokens[tokens.size() - 2] == "::") return false;
  return std::any_of(tokens.begin(), tokens.end() - 1, [](const std::string& token) {
    return token != "const" && token != "volatile";
  });
}

// What a type that can be repeated is written with; a literal, say, is not.
bool IsOfType(const std::string& token) {
  static constexpr std::array<std::string_view, 6> kSigns = {"::", "*", "&", "<", ">", ","};
  return std::all_of(token.begin(), token.end(), IsWordCharacter) ||
         std::find(kSigns.begin(), kSigns.end(), token) != kSigns.end();
}

Result<LaunchParameter> ParameterOf(Tokens tokens, size_t index) {
  tokens.erase(std::find(tokens.begin(), tokens.end(), "="), tokens.end());
  if (tokens.empty()) return Unusable("has an empty parameter");
  const bool balanced = std::count(tokens.begin(), tokens.end(), "<") ==
                        std::count(tokens.begin(), tokens.end(), ">");
  if (!balanced || !std::all_of(tokens.begin(), tokens.end(), IsOfType)) {
    return Unusable("has the parameter \"" + Joined(tokens) + "\"");
  }
  LaunchParameter parameter{"", "argument" + std::to_string(index)};
  if (LastIsName(tokens)) {
    parameter.name = tokens.back();
    tokens.pop_back();
  }
  parameter.type = Joined(tokens);
  return parameter;
}

// Split at the commas that are in no bracket; < and > count where a template's name opens them.
std::vector<Tokens> SplitParameters(const Tokens& tokens) {
  std::vector<Tokens> parts(1);
  int depth = 0;
  for (const std::string& token : tokens) {
    if (token == "(" || token == "[" || token == "{" || token == "<") ++depth;
    if (token == ")" || token == "]" || token == "}" || token == ">") --depth;
    if (token == "," && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back().push_back(token);
    }
  }
  return parts;
}

Result<std::vector<LaunchParameter>> ParametersOf(const Tokens& tokens) {
  std::vector<LaunchParameter> parameters;
  if (tokens.empty() || tokens == Tokens{"void"}) return parameters;
  std::set<std::string> names;
  for (const Tokens& part : SplitParameters(tokens)) {
    parameters.push_back(TRY(ParameterOf(part, parameters.size())));
    if (!names.insert(parameters.back().name).second) {
      return Unusable("has two parameters named " + parameters.back().name);
    }
  }
  return parameters;
}

// What stands before the name, back to the statement's beginning: [extern "C"] type.
Result<LaunchDeclaration> HeadOf(const Tokens& tokens, size_t name) {
  size_t begin = name;
  while (begin > 0 && tokens[begin - 1] != ";" && tokens[begin - 1] != "}" &&
         tokens[begin - 1] != "{") {
    --begin;
  }
  Tokens head(tokens.begin() + static_cast<ptrdiff_t>(begin),
              tokens.begin() + static_cast<ptrdiff_t>(name));
  LaunchDeclaration declaration;
  const bool in_block = begin >= 3 && tokens[begin - 1] == "{" && tokens[begin - 2] == "\"C\"";
  const bool itself = head.size() >= 2 && head[0] == "extern" && head[1] == "\"C\"";
  declaration.c_linkage = in_block || itself;
  if (itself) head.erase(head.begin(), head.begin() + 2);
  if (!head.empty() && (head[0] == "extern" || head[0] == "inline")) head.erase(head.begin());
  const bool plain = std::all_of(head.begin(), head.end(), [](const std::string& token) {
    return IsWord(token) || token == "::" || token == "*";
  });
  if (head.empty() || !plain) return Unusable("is declared in a form that is not understood");
  declaration.returns = Joined(head);
  return declaration;
}

// Statements such as `return f(x);` look like declarations.
bool IsCall(const Tokens& tokens, size_t name) {
  if (name == 0) return true;
  const std::string& before = tokens[name - 1];
  return before == "return" || !(IsWord(before) || before == "*");
}

// Of each token: is it inside braces, those of extern "C" { } not counted?
std::vector<bool> InsideBraces(const Tokens& tokens) {
  int depth = 0;
  std::vector<bool> counted, inside;
  for (size_t i = 0; i < tokens.size(); ++i) {
    inside.push_back(depth > 0);
    if (tokens[i] == "{") {
      counted.push_back(!(i >= 1 && tokens[i - 1] == "\"C\""));
      depth += counted.back() ? 1 : 0;
    } else if (tokens[i] == "}" && !counted.empty()) {
      depth -= counted.back() ? 1 : 0;
      counted.pop_back();
    }
  }
  return inside;
}

// The declaration whose name stands at `name` and whose parameters end before `end`.
Result<LaunchDeclaration> DeclarationAt(const Tokens& tokens, size_t name, size_t end) {
  LaunchDeclaration declaration = TRY(HeadOf(tokens, name));
  declaration.parameters = TRY(ParametersOf({tokens.begin() + static_cast<ptrdiff_t>(name) + 2,
                                             tokens.begin() + static_cast<ptrdiff_t>(end) - 1}));
  if (declaration.parameters.empty()) return Unusable("takes no parameters");
  return declaration;
}

// Where the name is followed by parameters, outside of braces and calls.
std::vector<size_t> Mentions(const Tokens& tokens) {
  const std::vector<bool> inside = InsideBraces(tokens);
  std::vector<size_t> mentions;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    const bool named = tokens[i] == kLaunchName && tokens[i + 1] == "(";
    if (named && !inside[i] && !IsCall(tokens, i)) mentions.push_back(i);
  }
  return mentions;
}

std::string ParameterList(const LaunchDeclaration& declaration) {
  std::string text;
  for (const LaunchParameter& parameter : declaration.parameters) {
    text += (text.empty() ? "" : ", ") + parameter.type + " " + parameter.name;
  }
  return text;
}

}  // namespace

Result<LaunchDeclaration> FindLaunchDeclaration(std::string_view driver) {
  const Tokens tokens = TokensOf(driver);
  const std::vector<size_t> mentions = Mentions(tokens);
  if (mentions.empty()) return Unusable("is not declared");
  const std::optional<size_t> end = AfterMatching(tokens, mentions.front() + 1);
  if (!end) return Unusable("has a parameter list that never closes");
  if (*end < tokens.size() && tokens[*end] == "{") return Unusable("is defined in the driver");
  return DeclarationAt(tokens, mentions.front(), *end);
}

std::vector<LaunchDeclaration> FindLaunchDefinitions(std::string_view source) {
  const Tokens tokens = TokensOf(source);
  std::vector<LaunchDeclaration> definitions;
  for (const size_t mention : Mentions(tokens)) {
    const std::optional<size_t> end = AfterMatching(tokens, mention + 1);
    if (!end) break;  // nor does any bracket that is opened later close before it
    if (*end >= tokens.size() || tokens[*end] != "{") continue;
    const Result<LaunchDeclaration> definition = DeclarationAt(tokens, mention, *end);
    const bool links = definition.ok() && !definition->returns.starts_with("static ");
    if (links) definitions.push_back(*definition);
  }
  return definitions;
}

std::string DeclarationText(const LaunchDeclaration& declaration) {
  return std::string(declaration.c_linkage ? "extern \"C\" " : "") + declaration.returns + " " +
         std::string(kLaunchName) + "(" + ParameterList(declaration) + ")";
}

std::string CapturingDefinition(const LaunchDeclaration& declaration) {
  std::string text = DeclarationText(declaration) + " {\n  warpsmith::capture::Call call;\n";
  for (const LaunchParameter& parameter : declaration.parameters) {
    text += "  call.Argument(\"" + parameter.name + "\", " + parameter.name + ");\n";
  }
  if (declaration.returns != "void") text += "  return {};\n";
  return text + "}\n";
}

}  // namespace warpsmith::kernelbench
