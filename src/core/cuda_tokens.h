// CUDA C++ as a stream of tokens, for what needs no compiler: finding functions, parameters and
// launches in a source that a user brings. Any text gives tokens; none is an error.
#ifndef WARPSMITH_CORE_CUDA_TOKENS_H_
#define WARPSMITH_CORE_CUDA_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpsmith {

enum class TokenKind : uint8_t { kWord, kNumber, kText, kPunctuation, kDirective };

// kText: a string or character literal. kDirective: a whole preprocessor line, continued lines
// included. Punctuation is one character, but for "<<<", ">>>", "::" and "->".
struct Token {
  TokenKind kind = TokenKind::kPunctuation;
  std::string_view text;
  size_t offset = 0;
};

struct TokenList {
  std::vector<Token> tokens;
  // Of an opening bracket: its partner's index; else, or unclosed: the number of tokens.
  std::vector<size_t> closing;

  size_t size() const { return tokens.size(); }
  const Token& operator[](size_t i) const { return tokens[i]; }
  bool Is(size_t i, std::string_view text) const { return i < size() && tokens[i].text == text; }
};

// `source` must outlive the tokens. Comments and white space give none. Linear in the text.
TokenList Tokenize(std::string_view source);
// With each bracket's partner.
TokenList Paired(std::vector<Token> tokens);

// list[begin..end) as C++ text with single spaces where they are needed.
std::string Joined(const TokenList& list, size_t begin, size_t end);

// The parts of list[begin..end) between commas that are in no bracket and no angle brackets, as
// index pairs. Nothing at all is no part.
std::vector<std::pair<size_t, size_t>> SplitAtCommas(const TokenList& list, size_t begin,
                                                     size_t end);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_CUDA_TOKENS_H_
