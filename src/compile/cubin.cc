#include "compile/cubin.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/elf.h"
#include "base/text.h"

namespace warpsmith::compile {
namespace {

using Words = std::vector<std::string_view>;

constexpr std::string_view kSpace = " \t\n";

bool IsWordPart(char c) { return IsWordCharacter(c) || c == '$' || c == '%'; }

// Names and registers of a text; a register's ".x" is left out.
Words WordsOf(std::string_view text) {
  Words words;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && IsWordPart(text[end])) ++end;
    if (end > at) words.push_back(text.substr(at, end - at));
    at = std::max(end, at + 1);
  }
  return words;
}

bool IsOfTheModule(std::string_view text) {
  return text.starts_with(".version") || text.starts_with(".target") ||
         text.starts_with(".address_size");
}

// What stands before an instruction: the module's directives, which no semicolon ends, braces of
// blocks, labels.
std::string_view WithoutBlocks(std::string_view text) {
  while (true) {
    text = Trimmed(text);
    if (IsOfTheModule(text)) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
      continue;
    }
    if (text.starts_with('{') || text.starts_with('}')) {
      text.remove_prefix(1);
      continue;
    }
    size_t end = 0;
    while (end < text.size() && IsWordPart(text[end])) ++end;
    if (end == 0 || end == text.size() || text[end] != ':') return text;
    text.remove_prefix(end + 1);
  }
}

struct Instruction {
  std::string_view opcode, operands, predicate;
};

// The instructions of one function, or the declarations before the first.
struct Function {
  std::vector<Instruction> instructions;
};

bool BeginsFunction(std::string_view text) {
  const std::string_view header = text.substr(0, text.find_first_of("({"));
  return text.starts_with('.') && (header.find(".entry") != std::string_view::npos ||
                                   header.find(".func") != std::string_view::npos);
}

Instruction PtxInstructionOf(std::string_view text) {
  Instruction instruction;
  if (text.starts_with('@')) {
    const size_t end = std::min(text.find_first_of(kSpace), text.size());
    instruction.predicate = text.substr(0, end);
    text = Trimmed(text.substr(end));
  }
  const size_t end = std::min(text.find_first_of(kSpace), text.size());
  instruction.opcode = text.substr(0, end);
  instruction.operands = Trimmed(text.substr(end));
  return instruction;
}

std::vector<Function> FunctionsOf(std::string_view code) {
  std::vector<Function> functions(1);
  while (!code.empty()) {
    const size_t end = std::min(code.find(';'), code.size());
    std::string_view text = WithoutBlocks(code.substr(0, end));
    code.remove_prefix(std::min(end + 1, code.size()));
    if (BeginsFunction(text)) {
      functions.emplace_back();
      const size_t body = text.find('{');
      text = body == std::string_view::npos ? "" : WithoutBlocks(text.substr(body));
    }
    if (!text.empty()) functions.back().instructions.push_back(PtxInstructionOf(text));
  }
  return functions;
}

std::string_view KindOf(const Instruction& instruction) {
  return instruction.opcode.substr(0, instruction.opcode.find('.', 1));
}

template <size_t kCount>
bool IsAmong(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool IsArithmetic(std::string_view kind) {
  constexpr std::array<std::string_view, 20> kKinds = {
      "mov", "add", "sub",  "mul",  "mad", "mul24", "mad24", "shl", "shr", "and",
      "or",  "xor", "selp", "cvta", "cvt", "min",   "max",   "bfi", "bfe", "lop3"};
  return IsAmong(kind, kKinds);
}

bool IsLoad(std::string_view kind) {
  constexpr std::array<std::string_view, 3> kKinds = {"ld", "ldu", "prefetch"};
  return IsAmong(kind, kKinds);
}

// The first operand, which an arithmetic instruction writes, may be "{%r1, %r2}".
size_t EndOfFirst(std::string_view operands) {
  const size_t open = operands.starts_with('{') ? operands.find('}') : 0;
  return std::min(operands.find(',', std::min(open, operands.size())), operands.size());
}

// Follows addresses through one function.
class Follower {
 public:
  Follower(const Function& function, const VariableNames& variables)
      : function_(function), tainted_(variables) {}

  bool OnlyReads() {
    while (Spread()) {
    }
    for (const Instruction& one : function_.instructions) {
      if (IsGiven(one)) given_.emplace(WordsOf(one.operands).front());
    }
    return std::all_of(function_.instructions.begin(), function_.instructions.end(),
                       [this](const Instruction& one) { return IsHarmless(one); }) &&
           waiting_.empty();
  }

 private:
  bool IsHarmless(const Instruction& one) {
    const std::string_view kind = KindOf(one);
    if (Holds(one.predicate)) return false;
    if (kind == "call") {
      const bool is_harmless = !Holds(one.operands) && (waiting_.empty() || Prints(one));
      waiting_.clear();
      return is_harmless;
    }
    // A parameter that holds an address is for the call behind it, and for nothing else.
    if (one.opcode.starts_with("ld.param") && Names(one.operands, given_)) return false;
    if (!Holds(one.operands)) return true;
    if (IsGiven(one)) {
      const std::string_view parameter = WordsOf(one.operands).front();
      waiting_.emplace(parameter);
      return parameter.starts_with("param");
    }
    return IsLoad(kind) || IsArithmetic(kind) || DeclaresOne(one);
  }

  bool IsGiven(const Instruction& one) const {
    return one.opcode.starts_with("st.param") && Holds(one.operands);
  }

  static bool Names(std::string_view text, const VariableNames& names) {
    const Words words = WordsOf(text);
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return names.contains(word); });
  }
  bool Holds(std::string_view text) const { return Names(text, tainted_); }

  bool Spread() {
    bool spread = false;
    for (const Instruction& one : function_.instructions) {
      const size_t end = EndOfFirst(one.operands);
      if (!IsArithmetic(KindOf(one)) || !Holds(one.operands.substr(end))) continue;
      for (const std::string_view word : WordsOf(one.operands.substr(0, end))) {
        spread |= tainted_.emplace(word).second;
      }
    }
    return spread;
  }

  // Its own declaration names a variable once; another's initialiser would keep its address.
  bool DeclaresOne(const Instruction& one) const {
    constexpr std::array<std::string_view, 5> kDeclares = {".global", ".const", ".visible", ".weak",
                                                           ".extern"};
    if (!IsAmong(KindOf(one), kDeclares)) return false;
    const Words words = WordsOf(one.operands);
    return std::count_if(words.begin(), words.end(),
                         [this](std::string_view word) { return tainted_.contains(word); }) == 1 &&
           !Holds(one.operands.substr(std::min(one.operands.find('='), one.operands.size())));
  }

  // Takes the call all waiting parameters?
  bool Prints(const Instruction& call) const {
    const Words words = WordsOf(call.operands);
    const auto has = [&](std::string_view wanted) {
      return std::find(words.begin(), words.end(), wanted) != words.end();
    };
    return (has("vprintf") || has("__assertfail")) &&
           std::all_of(waiting_.begin(), waiting_.end(), has);
  }

  const Function& function_;
  VariableNames tainted_;
  VariableNames given_;    // parameters that hold an address
  VariableNames waiting_;  // and those of them that no call has taken
};

bool IsGlobal(std::string_view section) { return section.starts_with(".nv.global"); }
// The bank of __constant__ variables; the others are the launch's parameters and the compiler's
// own.
bool IsConstant(std::string_view section) { return section == ".nv.constant3"; }

VariableNames VariablesOf(size_t section, const std::vector<ElfSymbol>& symbols) {
  VariableNames names;
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.section == section && !symbol.name.empty()) names.insert(symbol.name);
  }
  return names;
}

}  // namespace

std::string CodeOf(std::string_view ptx) {
  constexpr std::string_view kHarmless = "\"nounroll\"";
  if (ptx.find("/*") != std::string_view::npos) return "";
  std::string code;
  while (!ptx.empty()) {
    const size_t end = std::min(ptx.find('\n'), ptx.size());
    std::string_view line = ptx.substr(0, end);
    if (line.find('#') != std::string_view::npos) return "";
    line = line.substr(0, line.find("//"));
    const size_t quote = line.find('"');
    const bool is_harmless = quote != std::string_view::npos &&
                             line.substr(quote).starts_with(kHarmless) &&
                             line.find('"', quote + kHarmless.size()) == std::string_view::npos;
    if (quote != std::string_view::npos && !is_harmless) return "";
    code += line;
    code += '\n';
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
  }
  return code;
}

bool OnlyReads(std::string_view code, const VariableNames& variables) {
  const std::vector<Function> functions = FunctionsOf(code);
  return std::all_of(functions.begin(), functions.end(), [&](const Function& function) {
    return Follower(function, variables).OnlyReads();
  });
}

Result<int64_t> WritableGlobalBytes(std::string_view image, std::string_view ptx) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<ElfSection> sections = TRY(ReadElfSections(image));
  const std::vector<ElfSymbol> symbols = TRY(ReadElfSymbols(image));
  const std::string code = CodeOf(ptx);
  int64_t total = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    const bool is_constant = IsConstant(sections[i].name);
    if (!IsGlobal(sections[i].name) && !is_constant) continue;
    // Of constants nothing is known without PTX; with one that hides something, they count, too.
    if (is_constant && ptx.empty()) continue;
    const VariableNames variables = VariablesOf(i, symbols);
    if (!code.empty() && !variables.empty() && OnlyReads(code, variables)) continue;
    const auto room = static_cast<uint64_t>(kMost - total);
    total += static_cast<int64_t>(std::min(sections[i].bytes, room));
  }
  return total;
}

Result<bool> HasVariables(std::string_view image) {
  const std::vector<ElfSection> sections = TRY(ReadElfSections(image));
  return std::any_of(sections.begin(), sections.end(), [](const ElfSection& section) {
    return IsGlobal(section.name) || IsConstant(section.name);
  });
}

namespace {

constexpr std::string_view kEntry = "Compiling entry function '";
constexpr std::string_view kOtherFunction = "Function properties for ";

struct Quantity {
  std::string_view unit;  // what follows the number
  int KernelResources::*field;
};
constexpr Quantity kQuantities[] = {
    {" registers", &KernelResources::registers_per_thread},
    {" bytes smem", &KernelResources::static_shared_bytes},
    {" bytes stack frame", &KernelResources::stack_bytes},
    {" bytes spill stores", &KernelResources::spill_store_bytes},
    {" bytes spill loads", &KernelResources::spill_load_bytes},
};

// The number just before `unit` in `line`, or -1.
int NumberBefore(std::string_view line, std::string_view unit) {
  const size_t end = line.find(unit);
  if (end == std::string_view::npos) return -1;
  size_t start = end;
  while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9') --start;
  int number = -1;
  const auto parsed = std::from_chars(line.data() + start, line.data() + end, number);
  return parsed.ec == std::errc() ? number : -1;
}

void ReadQuantities(std::string_view line, KernelResources* kernel) {
  for (const Quantity& quantity : kQuantities) {
    const int number = NumberBefore(line, quantity.unit);
    if (number >= 0) kernel->*quantity.field = number;
  }
}

bool IsWarning(std::string_view line) {
  return line.find("): warning") != std::string_view::npos ||
         line.find("warning : ") != std::string_view::npos ||
         line.find("warning:") != std::string_view::npos ||
         line.find(" (C7") != std::string_view::npos;
}

// "'gemm' for 'sm_90a'" -> "gemm"
std::string QuotedName(std::string_view rest) {
  return std::string(rest.substr(0, rest.find('\'')));
}

class Parser {
 public:
  void Line(std::string_view line) {
    if (const size_t at = line.find(kEntry); at != std::string_view::npos) {
      report_.kernels.push_back({});
      report_.kernels.back().name = QuotedName(line.substr(at + kEntry.size()));
      current_ = &report_.kernels.back();
    } else if (const size_t other = line.find(kOtherFunction); other != std::string_view::npos) {
      // Properties of a called function are not the kernel's.
      current_ = Find(line.substr(other + kOtherFunction.size()));
    } else if (current_ != nullptr) {
      ReadQuantities(line, current_);
    }
    if (IsWarning(line)) AddWarning(line);
  }

  ResourceReport Take() { return std::move(report_); }

 private:
  KernelResources* Find(std::string_view name) {
    for (KernelResources& kernel : report_.kernels) {
      if (kernel.name == name) return &kernel;
    }
    return nullptr;
  }

  void AddWarning(std::string_view line) {
    std::string text(line.substr(std::min(line.find_first_not_of(" \t"), line.size())));
    if (known_warnings_.insert(text).second) report_.warnings.push_back(std::move(text));
  }

  ResourceReport report_;
  std::set<std::string> known_warnings_;
  KernelResources* current_ = nullptr;
};

}  // namespace

ResourceReport ParseResourceReport(std::string_view log) {
  Parser parser;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    parser.Line(line);
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return parser.Take();
}

}  // namespace warpsmith::compile
