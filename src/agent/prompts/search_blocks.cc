#include <algorithm>
#include <cctype>
#include <optional>

#include "agent/prompts/edit_reader.h"
#include "agent/prompts/file_name.h"
#include "agent/prompts/reply_text.h"

namespace warpsmith::prompts {
namespace {

constexpr size_t kLeastSigns = 5;  // seven are asked for

// What follows a run of signs at the line's beginning; the line itself may not be indented much.
std::optional<std::string_view> After(std::string_view line, char sign) {
  line = Trimmed(line);
  const size_t length = std::min(line.find_first_not_of(sign), line.size());
  if (length < kLeastSigns) return std::nullopt;
  return Trimmed(line.substr(length));
}

bool BeginsWithWord(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(), [](char left, char right) {
           return left == std::toupper(static_cast<unsigned char>(right));
         });
}

bool IsSearch(std::string_view line) {
  const auto rest = After(line, '<');
  return rest && (BeginsWithWord(*rest, "SEARCH") || BeginsWithWord(*rest, "ORIGINAL"));
}
bool IsDivider(std::string_view line) {
  const auto rest = After(line, '=');
  return rest && rest->empty();
}
bool IsEnd(std::string_view line) {
  const auto rest = After(line, '>');
  return rest &&
         (rest->empty() || BeginsWithWord(*rest, "REPLACE") || BeginsWithWord(*rest, "UPDATED"));
}

using Lines = std::vector<std::string_view>;

std::string Joined(const Lines& lines, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end; ++i) text += std::string(lines[i]) + '\n';
  return text;
}

// Behind SEARCH, else on the line above.
std::string NameOf(const Lines& lines, size_t search) {
  if (const auto behind = NameInInfo(*After(lines[search], '<'))) return *behind;
  for (size_t i = search; i-- > 0 && search - i <= 2;) {
    if (const auto label = NameAsLabel(lines[i])) return *label;
    if (!Trimmed(lines[i]).empty()) break;
  }
  return "";
}

}  // namespace

bool HasSearchBlocks(std::string_view text) {
  const Lines lines = LinesOf(text);
  return std::any_of(lines.begin(), lines.end(), IsSearch);
}

Result<std::vector<FileEdit>> ReadSearchBlocks(std::string_view text) {
  const Lines lines = LinesOf(text);
  std::vector<FileEdit> edits;
  auto at = lines.begin();
  while ((at = std::find_if(at, lines.end(), IsSearch)) != lines.end()) {
    const std::string number = std::to_string(edits.size() + 1);
    const auto middle = std::find_if(at, lines.end(), IsDivider);
    if (middle == lines.end()) return BadReply("edit " + number + " has no ======= line");
    const auto end = std::find_if(middle, lines.end(), IsEnd);
    if (end == lines.end()) return BadReply("edit " + number + " ends without its REPLACE line");
    if (edits.size() == kMaxEdits) {
      return BadReply("more than " + std::to_string(kMaxEdits) + " edits");
    }
    const auto index = [&](Lines::const_iterator line) {
      return static_cast<size_t>(line - lines.begin());
    };
    FileEdit edit;
    edit.file = NameOf(lines, index(at));
    edit.edit.search = Joined(lines, index(at) + 1, index(middle));
    edit.edit.replace = Joined(lines, index(middle) + 1, index(end));
    edits.push_back(std::move(edit));
    at = end;
  }
  return edits;
}

}  // namespace warpsmith::prompts
