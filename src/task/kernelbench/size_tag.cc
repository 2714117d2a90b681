#include "task/kernelbench/size_tag.h"

#include <algorithm>
#include <cctype>

#include "base/foreign_file.h"
#include "base/sha256.h"
#include "task/source_files.h"

namespace warpsmith::kernelbench {
namespace {

bool IsBlank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// Without comment and blanks. A # within a literal ends it too: the same for every checkout.
std::string Bare(std::string_view line) {
  std::string bare(line.substr(0, line.find('#')));
  bare.erase(std::remove_if(bare.begin(), bare.end(), IsBlank), bare.end());
  return bare;
}

bool DefinesInputs(std::string_view line) {
  return line.starts_with("def get_inputs(") || line.starts_with("def get_init_inputs(");
}

bool IsAssignment(std::string_view line) {
  for (const char* other : {"def ", "class ", "import ", "from ", "if ", "for ", "@", "\"", "'"}) {
    if (line.starts_with(other)) return false;
  }
  return line.find('=') != line.npos;
}

}  // namespace

std::string SizeText(std::string_view problem) {
  std::string text;
  bool counts = false;  // the statement that began at the margin, with its further lines
  for (size_t begin = 0; begin < problem.size();) {
    const size_t end = std::min(problem.find('\n', begin), problem.size());
    const std::string_view line = problem.substr(begin, end - begin);
    begin = end + 1;
    const std::string bare = Bare(line);
    if (bare.empty()) continue;
    const bool closes = bare.front() == ')' || bare.front() == ']' || bare.front() == '}';
    if (!IsBlank(line.front()) && !closes) counts = DefinesInputs(line) || IsAssignment(line);
    if (counts) text += bare + "\n";
  }
  return text;
}

Result<std::string> SizeTag(const Checkout& checkout) {
  std::string early, all;
  for (const BenchmarkProblem& problem : checkout.problems) {
    const std::string text =
        Id(problem) + "\n" + SizeText(TRY(ReadRegularFile(problem.path, task::kMaxSourceBytes)));
    if (problem.level == 1 || problem.level == 2) early += text;
    all += text;
  }
  return Sha256Hex(early.empty() ? all : early).substr(0, 8);
}

}  // namespace warpsmith::kernelbench
