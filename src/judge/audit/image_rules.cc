#include "judge/audit/image_rules.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/elf.h"

namespace warpsmith::audit {
namespace {

// Instructions have 16 bytes since 7.0; the lowest 12 bits say which it is.
constexpr size_t kInstructionBytes = 16;
constexpr uint64_t kOpcodeBits = 0xfff, kWaitsForGrids = 0x82e;

bool Waits(std::string_view code) {
  for (size_t at = 0; at + kInstructionBytes <= code.size(); at += kInstructionBytes) {
    uint64_t word = 0;
    std::memcpy(&word, code.data() + at, sizeof(word));
    if ((word & kOpcodeBits) == kWaitsForGrids) return true;
  }
  return false;
}

// In .nv.info.NAME: records of a format, an attribute and a size, whose contents follow where the
// format says so. One KPARAM_INFO, or its second version for large parameters, is one parameter.
size_t CountParameters(std::string_view info) {
  constexpr size_t kHead = 4;
  constexpr uint8_t kHasContents = 4, kParameter = 0x17, kParameterV2 = 0x45;
  size_t count = 0;
  for (size_t at = 0; at + kHead <= info.size();) {
    const auto format = static_cast<uint8_t>(info[at]),
               attribute = static_cast<uint8_t>(info[at + 1]);
    uint16_t bytes = 0;
    std::memcpy(&bytes, info.data() + at + 2, sizeof(bytes));
    count += attribute == kParameter || attribute == kParameterV2 ? 1 : 0;
    at += kHead + (format == kHasContents ? bytes : 0);
  }
  return count;
}

const ElfSection* Find(const std::vector<ElfSection>& sections, const std::string& name) {
  const auto found = std::ranges::find(sections, name, &ElfSection::name);
  return found == sections.end() ? nullptr : &*found;
}

bool Waits(const std::string& kernel, const std::vector<ElfSection>& sections) {
  const ElfSection* code = Find(sections, ".text." + kernel);
  return code != nullptr && Waits(code->contents);
}

// Functions that the driver provides, which a cubin leaves undefined.
const ElfSymbol* FindHeapCall(const std::vector<ElfSymbol>& symbols) {
  constexpr std::array<std::string_view, 3> kHeap = {"malloc", "free", "__cuda_syscall_malloc"};
  const auto found = std::find_if(symbols.begin(), symbols.end(), [&](const ElfSymbol& symbol) {
    return symbol.section == 0 && std::count(kHeap.begin(), kHeap.end(), symbol.name) > 0;
  });
  return found == symbols.end() ? nullptr : &*found;
}

}  // namespace

std::optional<Rejected> RefuseImage(const LaunchPlan& plan, std::string_view image) {
  const auto sections = ReadElfSections(image);
  const auto symbols = ReadElfSymbols(image);
  if (!sections.ok() || !symbols.ok()) return std::nullopt;
  if (const ElfSymbol* call = FindHeapCall(*symbols)) {
    return Rejected{"device-heap", "a kernel calls " + call->name +
                                       " on the device, whose memory could carry something from "
                                       "one call to the next; use a workspace of the plan"};
  }
  for (const Operation& operation : plan.operations) {
    const auto* launch = std::get_if<LaunchOperation>(&operation);
    if (launch == nullptr || !launch->programmatic || Waits(launch->kernel, *sections)) continue;
    return Rejected{"programmatic-launch",
                    "kernel " + launch->kernel +
                        " is launched programmatically and never waits for what was launched "
                        "before it (griddepcontrol.wait): behind a real producer it would read "
                        "inputs that are not there yet"};
  }
  return std::nullopt;
}

std::optional<std::string> PlanMismatch(const LaunchPlan& plan, std::string_view image) {
  const auto sections = ReadElfSections(image);
  if (!sections.ok()) return std::nullopt;
  for (const Operation& operation : plan.operations) {
    const auto* launch = std::get_if<LaunchOperation>(&operation);
    if (launch == nullptr) continue;
    if (Find(*sections, ".text." + launch->kernel) == nullptr) {
      return "no kernel is called '" + launch->kernel + "' (write extern \"C\" before it)";
    }
    const ElfSection* info = Find(*sections, ".nv.info." + launch->kernel);
    const size_t count = info == nullptr ? 0 : CountParameters(info->contents);
    if (count == launch->arguments.size()) continue;
    return "kernel '" + launch->kernel + "' takes " + std::to_string(count) +
           " parameters, the plan gives " + std::to_string(launch->arguments.size());
  }
  return std::nullopt;
}

}  // namespace warpsmith::audit
