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

bool Waits(const std::string& kernel, const std::vector<ElfSection>& sections) {
  return std::any_of(sections.begin(), sections.end(), [&](const ElfSection& section) {
    return section.name == ".text." + kernel && Waits(section.contents);
  });
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

}  // namespace warpsmith::audit
