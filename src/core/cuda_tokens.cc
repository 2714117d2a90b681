#include "core/cuda_tokens.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace warpsmith {
namespace {

bool IsCodeWord(char c) {
  return IsWordCharacter(c) || (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool IsCodeSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0'; }

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view source) : source_(source) {}

  std::vector<Token> Run() {
    while (at_ < source_.size()) Step();
    return std::move(tokens_);
  }

 private:
  char Ahead(size_t distance) const {
    return at_ + distance < source_.size() ? source_[at_ + distance] : '\0';
  }
  bool StartsWith(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void Emit(TokenKind kind, size_t begin) {
    tokens_.push_back({kind, source_.substr(begin, at_ - begin), begin});
  }

  void Step() {
    const size_t begin = at_;
    const char c = source_[at_];
    if (IsCodeSpace(c)) {
      line_is_empty_ = line_is_empty_ || c == '\n';
      ++at_;
    } else if (StartsWith("//")) {
      SkipLine();
    } else if (StartsWith("/*")) {
      SkipPast("*/");
    } else if (c == '#' && line_is_empty_) {
      SkipLine();
      Emit(TokenKind::kDirective, begin);
    } else {
      line_is_empty_ = false;
      Meaningful(begin, c);
    }
  }

  void Meaningful(size_t begin, char c) {
    if (IsDigit(c) || (c == '.' && IsDigit(Ahead(1)))) {
      while (IsCodeWord(Ahead(0)) || Ahead(0) == '.' || Ahead(0) == '\'') ++at_;
      Emit(TokenKind::kNumber, begin);
    } else if (c == '"' || c == '\'') {
      SkipLiteral(c);
      Emit(TokenKind::kText, begin);
    } else if (IsCodeWord(c)) {
      Word(begin);
    } else {
      const bool triple = StartsWith("<<<") || StartsWith(">>>");
      const bool twin = StartsWith("::") || StartsWith("->");
      at_ += triple ? 3 : twin ? 2 : 1;
      Emit(TokenKind::kPunctuation, begin);
    }
  }

  void Word(size_t begin) {
    while (at_ < source_.size() && IsCodeWord(source_[at_])) ++at_;
    const std::string_view word = source_.substr(begin, at_ - begin);
    if (Ahead(0) == '"' && word.ends_with('R')) {
      SkipRaw();
      Emit(TokenKind::kText, begin);
    } else {
      Emit(TokenKind::kWord, begin);
    }
  }

  // To the end of the line; a backslash before it goes on.
  void SkipLine() {
    while (at_ < source_.size() && source_[at_] != '\n') {
      const size_t step = source_[at_] != '\\' ? 1 : StartsWith("\\\r\n") ? 3 : 2;
      at_ = std::min(at_ + step, source_.size());
    }
  }

  void SkipPast(std::string_view end) {
    const size_t found = source_.find(end, at_ + 2);
    at_ = found == std::string_view::npos ? source_.size() : found + end.size();
  }

  // An unclosed literal ends with its line.
  void SkipLiteral(char quote) {
    ++at_;
    while (at_ < source_.size() && source_[at_] != quote && source_[at_] != '\n') {
      at_ = std::min(at_ + (source_[at_] == '\\' ? 2 : 1), source_.size());
    }
    if (at_ < source_.size() && source_[at_] == quote) ++at_;
  }

  // R"delimiter( ... )delimiter"
  void SkipRaw() {
    const size_t open = source_.find('(', at_);
    if (open == std::string_view::npos || open - at_ > 17) return SkipLiteral('"');
    const std::string end = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const size_t found = source_.find(end, open);
    at_ = found == std::string_view::npos ? source_.size() : found + end.size();
  }

  std::string_view source_;
  size_t at_ = 0;
  bool line_is_empty_ = true;
  std::vector<Token> tokens_;
};

bool IsOpening(const Token& token) {
  return token.kind == TokenKind::kPunctuation &&
         (token.text == "(" || token.text == "[" || token.text == "{");
}
bool IsClosing(const Token& token) {
  return token.kind == TokenKind::kPunctuation &&
         (token.text == ")" || token.text == "]" || token.text == "}");
}

// Brackets of different kinds close each other: in text that compiles they never meet.
std::vector<size_t> Partners(const std::vector<Token>& tokens) {
  std::vector<size_t> closing(tokens.size(), tokens.size()), open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (IsOpening(tokens[i])) open.push_back(i);
    if (!IsClosing(tokens[i]) || open.empty()) continue;
    closing[open.back()] = i;
    open.pop_back();
  }
  return closing;
}

// A '<' after a word may open template arguments or compare: the caller tries the first, then,
// where nothing closes it, the second.
std::optional<std::vector<std::pair<size_t, size_t>>> Split(const TokenList& list, size_t begin,
                                                            size_t end, bool templates) {
  std::vector<std::pair<size_t, size_t>> parts;
  size_t first = begin, angles = 0;
  for (size_t i = begin; i < end; ++i) {
    if (IsOpening(list[i])) {
      i = std::min(list.closing[i], end - 1);
    } else if (templates && list.Is(i, "<") && i > begin && list[i - 1].kind == TokenKind::kWord) {
      ++angles;
    } else if (list.Is(i, ">") && angles > 0) {
      --angles;
    } else if (list.Is(i, ",") && angles == 0) {
      parts.emplace_back(first, i);
      first = i + 1;
    }
  }
  if (angles > 0) return std::nullopt;
  if (first < end) parts.emplace_back(first, end);
  return parts;
}

}  // namespace

TokenList Tokenize(std::string_view source) { return Paired(Tokenizer(source).Run()); }

TokenList Paired(std::vector<Token> tokens) {
  std::vector<size_t> closing = Partners(tokens);
  return {std::move(tokens), std::move(closing)};
}

std::string Joined(const TokenList& list, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < std::min(end, list.size()); ++i) {
    const bool after = !text.empty() && (IsCodeWord(text.back()) || text.back() == '*');
    if (after && IsCodeWord(list[i].text.front())) text += ' ';
    text += list[i].text;
  }
  return text;
}

std::vector<std::pair<size_t, size_t>> SplitAtCommas(const TokenList& list, size_t begin,
                                                     size_t end) {
  auto parts = Split(list, begin, end, true);
  return parts ? std::move(*parts) : *Split(list, begin, end, false);
}

}  // namespace warpsmith
