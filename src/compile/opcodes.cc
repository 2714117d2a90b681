#include "compile/opcodes.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/subprocess.h"
#include "cuda/library.h"

namespace warpsmith::compile {
namespace {

constexpr int64_t kListingBytes = int64_t{256} << 20;

struct Disassembler {
  const char* program;
  std::vector<std::string> flags;
};

// An ELF file for the device; a program's library is one for the host, with such files inside,
// which nvdisasm does not look for.
bool IsCubin(std::string_view image) {
  constexpr size_t kMachineAt = 18;
  constexpr unsigned kMachineCuda = 190;
  return image.size() > kMachineAt && static_cast<unsigned char>(image[kMachineAt]) == kMachineCuda;
}

std::optional<std::vector<std::string>> FindDisassembler(bool is_cubin) {
  for (const Disassembler& known :
       {Disassembler{"nvdisasm", {"-c"}}, Disassembler{"cuobjdump", {"-sass"}}}) {
    if (!is_cubin && std::string_view(known.program) == "nvdisasm") continue;
    const auto path = cuda::FindTool(known.program);
    if (!path.ok()) continue;
    std::vector<std::string> argv = {path->string()};
    argv.insert(argv.end(), known.flags.begin(), known.flags.end());
    return argv;
  }
  return std::nullopt;
}

std::string_view Skip(std::string_view text, std::string_view characters) {
  return text.substr(std::min(text.find_first_not_of(characters), text.size()));
}

// The instruction's text after its address comment "/*0010*/", or nothing.
std::string_view InstructionOf(std::string_view line) {
  line = Skip(line, " \t");
  if (!line.starts_with("/*")) return {};
  const size_t close = line.find("*/");
  if (close == std::string_view::npos) return {};
  const std::string_view address = line.substr(2, close - 2);
  const bool is_address = !address.empty() && address.size() <= 8 &&
                          address.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return is_address ? Skip(line.substr(close + 2), " \t{") : std::string_view();
}

// "HMMA", "IGMMA", "UTCHMMA.2CTA", ...; "HFMA2.MMA" is none, for what matters comes first.
bool IsTensorProduct(std::string_view whole) {
  return whole.substr(0, whole.find('.')).ends_with("MMA");
}

std::string_view OpcodeOf(std::string_view instruction) {
  if (instruction.starts_with('@')) {  // a predicate
    instruction =
        Skip(instruction.substr(std::min(instruction.find(' '), instruction.size())), " ");
  }
  const std::string_view whole = instruction.substr(0, instruction.find_first_of(" ;\t"));
  const size_t dot = whole.find('.');
  if (dot == std::string_view::npos || IsTensorProduct(whole)) return whole;
  return whole.substr(0, whole.find('.', dot + 1));
}

}  // namespace

OpcodeCounts ParseDisassembly(std::string_view listing) {
  OpcodeCounts counts;
  while (!listing.empty()) {
    const size_t end = std::min(listing.find('\n'), listing.size());
    const std::string_view opcode = OpcodeOf(InstructionOf(listing.substr(0, end)));
    // The second word of an encoding is a comment alone: "/* 0x000fe200078e00ff */".
    if (!opcode.empty() && opcode.front() >= 'A' && opcode.front() <= 'Z') {
      ++counts[std::string(opcode)];
    }
    listing.remove_prefix(std::min(end + 1, listing.size()));
  }
  return counts;
}

Result<OpcodeCounts> CountOpcodes(std::string_view cubin) {
  auto argv = FindDisassembler(IsCubin(cubin));
  if (!argv) {
    return Error{ErrorCode::kUnavailable, "no nvdisasm and no cuobjdump here",
                 "pip install nvidia-cuda-nvdisasm, or a CUDA toolkit"};
  }
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("warpsmith-sass"));
  const std::filesystem::path file = folder.path() / "image.cubin";
  TRY(WriteFileAtomic(file, cubin));
  argv->push_back(file.string());
  ProcessLimits limits;
  limits.output_bytes = kListingBytes;
  const ProcessOutcome outcome = TRY(RunProcess(*argv, limits));
  if (outcome.exit_status != 0 || outcome.signal != 0 || outcome.timed_out) {
    return Error{ErrorCode::kUnavailable,
                 argv->front() + " failed: " + outcome.output.substr(0, 400), ""};
  }
  return ParseDisassembly(outcome.output);
}

}  // namespace warpsmith::compile
