#include "compile/resource_report.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace warpsmith::compile {
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
