#include "agent/prompts/reply_blocks.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "agent/prompts/file_name.h"
#include "agent/prompts/reply_text.h"

namespace warpsmith::prompts {
namespace {

struct Fence {
  char sign = '`';
  size_t length = 0, indent = 0;
  std::string_view info;
};

std::optional<Fence> FenceIn(std::string_view line) {
  const size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
  const std::string_view rest = line.substr(indent);
  if (rest.empty() || (rest[0] != '`' && rest[0] != '~')) return std::nullopt;
  const size_t length = std::min(rest.find_first_not_of(rest[0]), rest.size());
  const std::string_view info = Trimmed(rest.substr(length));
  if (length < 3 || (rest[0] == '`' && info.find('`') != info.npos)) return std::nullopt;
  return Fence{rest[0], length, indent, info};
}

std::string LanguageOf(std::string_view info) {
  std::string word;
  for (const char c : info) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '{' || c == ',') break;
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return NameInInfo(word) ? "" : word;
}

bool IsMarkdown(const Block& block) {
  return block.language == "markdown" || block.language == "md" || block.language == "text";
}

std::string_view WithoutIndent(std::string_view line, size_t most) {
  size_t indent = 0;
  while (indent < most && indent < line.size() && (line[indent] == ' ' || line[indent] == '\t')) {
    ++indent;
  }
  return line.substr(indent);
}

class Cutter {
 public:
  void Take(std::string_view line) {
    const auto fence = FenceIn(line);
    const bool same =
        fence && open_ && fence->sign == open_->sign && fence->length >= open_->length;
    if (!open_ && fence) {
      Open(*fence);
    } else if (same && fence->info.empty()) {
      End(true);
    } else if (same && NameOrLanguage(fence->info)) {
      if (IsMarkdown(block_)) block_.fenced = false;
      End(!block_.fenced);
      Open(*fence);
    } else {
      Append(line);
    }
  }

  std::vector<Block> Done() {
    End(!open_);
    return std::move(blocks_);
  }

 private:
  // What follows the signs looks like the beginning of a block rather than like its text.
  static bool NameOrLanguage(std::string_view info) {
    return info.size() < 80 && std::isalpha(static_cast<unsigned char>(info[0])) != 0;
  }

  void Open(const Fence& fence) {
    End(true);
    open_ = fence;
    block_ = {true, true, std::string(fence.info), LanguageOf(fence.info), above_, ""};
  }

  void Append(std::string_view line) {
    block_.text += open_ ? WithoutIndent(line, open_->indent) : line;
    block_.text += '\n';
    if (open_) return;
    const bool blank = Trimmed(line).empty();
    if (!blank) above_ = line;
    if (blank && last_blank_) above_.clear();
    last_blank_ = blank;
  }

  void End(bool closed) {
    block_.closed = closed;
    if (block_.fenced || !Trimmed(block_.text).empty()) blocks_.push_back(std::move(block_));
    if (open_) above_.clear();
    block_ = {};
    open_.reset();
  }

  std::vector<Block> blocks_;
  Block block_;
  std::optional<Fence> open_;
  std::string above_;
  bool last_blank_ = false;
};

}  // namespace

std::vector<Block> CutBlocks(std::string_view reply) {
  Cutter cutter;
  for (const std::string_view line : LinesOf(reply)) cutter.Take(line);
  return cutter.Done();
}

}  // namespace warpsmith::prompts
