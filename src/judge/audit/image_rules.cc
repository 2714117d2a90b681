#include "judge/audit/image_rules.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <cxxabi.h>

#include "base/elf.h"
#include "base/text.h"

namespace warpsmith::audit {
namespace {

struct Precision {
  std::string_view name;
  std::vector<ProductInput> admitted;
  bool sums_in_f32 = true;
};

const std::vector<Precision>& Precisions() {
  using enum ProductInput;
  static const std::vector<Precision> precisions = {
      {"f64", {kF64}},
      {"f32", {kF64}},
      {"tf32", {kF64, kTF32}},
      {"f16", {kF64, kTF32, kF16, kBF16}},
      {"bf16", {kF64, kTF32, kF16, kBF16}},
      {"f8", {kF64, kTF32, kF16, kBF16, kF8}, false},
  };
  return precisions;
}

std::vector<std::string_view> PartsOf(std::string_view opcode) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t dot = opcode.find('.');
    parts.push_back(opcode.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    opcode.remove_prefix(dot + 1);
  }
}

bool Has(const std::vector<std::string_view>& parts, std::string_view part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

// HMMA and its kind: the first type is the sum's, a second one the inputs', f16 where there is
// none.
TensorProduct HalfProduct(const std::vector<std::string_view>& parts) {
  TensorProduct product;
  if (Has(parts, "TF32")) {
    product.input = ProductInput::kTF32;
  } else if (Has(parts, "BF16") || Has(parts, "BF16_V2")) {
    product.input = ProductInput::kBF16;
  }
  product.sums_in_f16 =
      product.input == ProductInput::kF16 && Has(parts, "F16") && !Has(parts, "F32");
  return product;
}

TensorProduct ByteProduct(const std::vector<std::string_view>& parts) {
  const bool four = Has(parts, "E2M1");
  const bool sums_in_f16 = Has(parts, "F16") && !Has(parts, "F32");
  return {four ? ProductInput::kF4 : ProductInput::kF8, sums_in_f16};
}

std::string_view NameOf(ProductInput input) {
  constexpr std::array<std::string_view, 8> kNames = {"f64", "tf32", "f16",     "bf16",
                                                      "f8",  "f4",   "integer", "one-bit"};
  return kNames.at(static_cast<size_t>(input));
}

std::optional<std::string> Violation(const std::string& opcode, int64_t count,
                                     const Precision& precision) {
  const auto product = TensorProductOf(opcode);
  if (!product) return std::nullopt;
  const std::string seen = opcode + " (" + std::to_string(count) + " times)";
  const auto& admitted = precision.admitted;
  if (std::find(admitted.begin(), admitted.end(), product->input) == admitted.end()) {
    return seen + " multiplies " + std::string(NameOf(product->input)) + " values in a task of " +
           std::string(precision.name);
  }
  if (product->sums_in_f16 && precision.sums_in_f32) {
    return seen + " sums in f16 in a task of " + std::string(precision.name);
  }
  return std::nullopt;
}

}  // namespace

std::optional<TensorProduct> TensorProductOf(std::string_view opcode) {
  const std::vector<std::string_view> parts = PartsOf(opcode);
  std::string_view name = parts.front();
  if (!name.ends_with("MMA")) return std::nullopt;
  // The fifth generation's types are in a descriptor: the widest that it may be.
  if (name == "UTCHMMA") return TensorProduct{ProductInput::kTF32, false};
  if (name.starts_with("UTC")) name.remove_prefix(3);  // UTCQMMA, UTCOMMA, UTCIMMA
  if (name == "HMMA" || name == "HGMMA") return HalfProduct(parts);
  if (name == "QMMA" || name == "QGMMA") return ByteProduct(parts);
  if (name == "OMMA") return TensorProduct{ProductInput::kF4, false};
  if (name == "DMMA") return TensorProduct{ProductInput::kF64, false};
  if (name == "IMMA" || name == "IGMMA") return TensorProduct{ProductInput::kInteger, false};
  if (name == "BMMA" || name == "BGMMA") return TensorProduct{ProductInput::kBit, false};
  return TensorProduct{ProductInput::kF4, false};  // newer than this table: the narrowest there is
}

AuditFinding AuditOpcodes(const std::map<std::string, int64_t>& opcodes,
                          std::string_view precision) {
  if (precision.empty()) return Clean(kOpcodes, "the task declares no precision");
  const auto& known = Precisions();
  const auto wanted = std::find_if(known.begin(), known.end(),
                                   [&](const Precision& p) { return p.name == precision; });
  if (wanted == known.end()) {
    return Absent(kOpcodes, "precision '" + std::string(precision) +
                                "' is none of f64, f32, tf32, f16, bf16, f8");
  }
  if (opcodes.empty()) {
    return Absent(
        kOpcodes,
        "no instructions were counted: no disassembler for this image (nvdisasm, cuobjdump)");
  }
  int64_t instructions = 0;
  for (const auto& [opcode, count] : opcodes) {
    if (const auto violation = Violation(opcode, count, *wanted)) {
      return Violated(kOpcodes, *violation);
    }
    instructions += count;
  }
  return Clean(kOpcodes, std::to_string(instructions) + " instructions, none below " +
                             std::string(precision));
}

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

namespace {

template <typename Predicate>
const LibraryFamily* FirstFamily(Predicate matches) {
  for (const LibraryFamily& family : LibraryFamilies()) {
    if (matches(family)) return &family;
  }
  return nullptr;
}

// A trailing '*' stands for any ending.
struct CallGroup {
  std::string_view what;
  std::string_view allowed_by;  // empty: nothing allows it
  std::vector<std::string_view> names;
};

const std::array<CallGroup, 2>& ConvictingCalls() {
  static const std::array<CallGroup, 2> groups = {{
      {"loads libraries at run time",
       "dlopen",
       {"dlopen", "dlmopen", "dlsym", "dlvsym", "__libc_dlopen_mode", "__libc_dlsym"}},
      {"loads device code at run time",
       "nvrtc",
       {"cuModuleLoad*", "cuLibraryLoad*", "cuLink*", "cudaLibraryLoad*", "nvrtc*", "nvJitLink*",
        "nvPTXCompiler*"}},
  }};
  return groups;
}

constexpr char kToldCalls[] =
    "system popen execl execle execlp execv execve execvp execvpe fexecve fork vfork clone "
    "posix_spawn ptrace socket posix_spawnp process_vm_readv process_vm_writev pthread_create "
    "memfd_create mprotect cudaGetDriverEntryPoint* cuGetProcAddress*";

// Names that reach the same calls through cuGetProcAddress and its like.
constexpr std::array<std::string_view, 4> kLoadersByName = {"cuModuleLoad", "cuLibraryLoad",
                                                            "cuLinkCreate", "cudaLibraryLoad"};

bool Matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

template <typename Patterns>
bool MatchesAny(std::string_view name, const Patterns& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [name](std::string_view pattern) { return Matches(name, pattern); });
}

// What every program may need: the C and C++ libraries, the CUDA runtime and driver.
bool IsOfEveryProgram(std::string_view file) {
  constexpr std::array<std::string_view, 14> kFiles = {
      "libc.so.",       "libm.so.",     "libmvec.so.",   "libdl.so.",    "librt.so.",
      "libpthread.so.", "libgcc_s.so.", "libstdc++.so.", "libgomp.so.",  "libatomic.so.",
      "ld-linux-",      "libcuda.so.",  "libcudart.so.", "libcudadevrt."};
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return std::any_of(kFiles.begin(), kFiles.end(),
                     [name](std::string_view begin) { return name.starts_with(begin); });
}

std::optional<std::string> ForbiddenLibrary(const ElfImports& imports,
                                            const std::vector<std::string>& allow) {
  for (const std::string& library : imports.libraries) {
    if (IsOfEveryProgram(library)) continue;
    const LibraryFamily* family = FamilyOfFile(library);
    if (family == nullptr) return "it needs " + library + ", a library that no list knows";
    if (Allows(allow, family->name)) continue;
    return "it needs " + library + ", and the task does not allow " + std::string(family->name);
  }
  return std::nullopt;
}

std::optional<std::string> ForbiddenCall(const ElfImports& imports,
                                         const std::vector<std::string>& allow) {
  for (const CallGroup& group : ConvictingCalls()) {
    if (Allows(allow, group.allowed_by)) continue;
    for (const std::string& symbol : imports.symbols) {
      if (!MatchesAny(symbol, group.names)) continue;
      return "it " + std::string(group.what) + ": it calls " + symbol;
    }
  }
  return std::nullopt;
}

// The first family that is named, as a file, anywhere in `bytes` and is not allowed.
const LibraryFamily* ForbiddenIn(std::string_view bytes, const std::vector<std::string>& allow) {
  return FirstFamily([bytes, &allow](const LibraryFamily& family) {
    return !Allows(allow, family.name) &&
           std::any_of(family.files.begin(), family.files.end(),
                       [bytes](std::string_view file) { return Contains(bytes, file); });
  });
}

std::optional<std::string> NamedLibrary(std::string_view image,
                                        const std::vector<std::string>& allow) {
  const LibraryFamily* family = ForbiddenIn(image, allow);
  if (family == nullptr) return std::nullopt;
  return "it names " + std::string(family->files.front()) + ", and the task does not allow " +
         std::string(family->name);
}

std::optional<std::string> NamedLoader(std::string_view image,
                                       const std::vector<std::string>& allow) {
  if (Allows(allow, "nvrtc")) return std::nullopt;
  for (const std::string_view name : kLoadersByName) {
    if (image.find(name) == std::string_view::npos) continue;
    return "it names " + std::string(name) + ", which loads device code at run time";
  }
  return std::nullopt;
}

// The static runtime's own names, which its objects leave in the symbol table.
bool HoldsStaticRuntime(std::string_view image, const ElfImports& imports) {
  const bool shared =
      std::any_of(imports.libraries.begin(), imports.libraries.end(),
                  [](const std::string& library) { return library.starts_with("libcudart.so"); });
  return !shared && image.find("libcudart_static_") != std::string_view::npos;
}

std::string Summary(const ElfImports& imports) {
  std::string text = std::to_string(imports.libraries.size()) + " libraries, " +
                     std::to_string(imports.symbols.size()) + " symbols";
  const auto calls = Split(kToldCalls, ' ');
  std::string told;
  for (const std::string& symbol : imports.symbols) {
    if (MatchesAny(symbol, calls)) told += (told.empty() ? "" : ", ") + symbol;
  }
  return told.empty() ? text : text + "; it calls " + told;
}

}  // namespace

// Kernel names as seen in traces of these libraries; a library may have others, which is why a
// program's kernels are also held against those of its own image (audit.h).
const std::vector<LibraryFamily>& LibraryFamilies() {
  static const std::vector<LibraryFamily> families = {
      {"cublas",
       {"libcublas", "libnvblas"},
       {"cublas",         "nvjet_",           "gemmk1_kernel",         "gemvNSP_kernel",
        "gemv2T_kernel",  "gemv2N_kernel",    "dot_kernel<float, 128", "splitKreduce_kernel",
        "sm70_xmma_gemm", "sm75_xmma_gemm",   "sm80_xmma_gemm",        "sm86_xmma_gemm",
        "sm89_xmma_gemm", "sm90_xmma_gemm",   "sm100_xmma_gemm",       "ampere_sgemm",
        "ampere_hgemm",   "ampere_dgemm",     "ampere_fp16_",          "ampere_bf16_",
        "volta_sgemm",    "volta_hgemm",      "volta_h884gemm",        "volta_fp16_",
        "turing_fp16_",   "turing_h1688gemm", "maxwell_sgemm",         "maxwell_hgemm",
        "cutlass_70_",    "cutlass_75_",      "cutlass_80_",           "cutlass3x_sm"}},
      {"cudnn",
       {"libcudnn"},
       {"cudnn", "xmma_fprop", "xmma_dgrad", "xmma_wgrad", "implicit_convolve_sgemm",
        "winograd_nonfused", "fft2d_r2c", "fft2d_c2r", "nchwToNhwcKernel", "nhwcToNchwKernel"}},
      {"torch",
       {"libtorch", "libc10", "libcaffe2", "libshm"},
       {"at::native", "at_cuda_detail", "c10::", "triton_poi_", "triton_red_", "triton_per_",
        "triton_tem_"}},
      {"nvrtc", {"libnvrtc", "libnvJitLink", "libnvptxcompiler"}, {}},
      {"cufft",
       {"libcufft"},
       {"regular_fft", "vector_fft", "multi_bluestein_fft", "regular_bluestein_fft", "cufft"}},
      {"cusparse", {"libcusparse"}, {"cusparse"}},
      {"cusolver", {"libcusolver"}, {"cusolver"}},
      {"curand", {"libcurand"}, {"curand_", "gen_sequenced<curand"}},
      {"nccl", {"libnccl"}, {"ncclDevKernel", "ncclKernel"}},
      {"cutensor", {"libcutensor"}, {"cutensor"}},
      {"tensorrt", {"libnvinfer"}, {"nvinfer", "trt_"}},
      {"npp", {"libnpp"}, {"nppi", "npps"}},
  };
  return families;
}

bool Allows(const std::vector<std::string>& allow, std::string_view name) {
  return std::find(allow.begin(), allow.end(), name) != allow.end();
}

const LibraryFamily* FamilyOfFile(std::string_view file) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return FirstFamily([name](const LibraryFamily& family) {
    return std::any_of(family.files.begin(), family.files.end(),
                       [name](std::string_view begin) { return name.starts_with(begin); });
  });
}

const LibraryFamily* FamilyOfKernel(std::string_view demangled) {
  return FirstFamily([demangled](const LibraryFamily& family) {
    return std::any_of(family.kernels.begin(), family.kernels.end(),
                       [demangled](std::string_view part) { return Contains(demangled, part); });
  });
}

std::string Demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : name;
}

AuditFinding AuditImports(std::string_view image, const std::vector<std::string>& allow) {
  const auto imports = ReadElfImports(image);
  if (!imports.ok()) {
    return Violated(kImports, "what it imports cannot be read: " + imports.error().message);
  }
  if (const auto found = ForbiddenLibrary(*imports, allow)) return Violated(kImports, *found);
  if (const auto found = NamedLibrary(image, allow)) return Violated(kImports, *found);
  const auto call = ForbiddenCall(*imports, allow), named = NamedLoader(image, allow);
  if ((call || named) && HoldsStaticRuntime(image, *imports)) {
    return Absent(kImports, (call ? *call : *named) +
                                ", but so does the static CUDA runtime that it was linked with");
  }
  if (call) return Violated(kImports, *call);
  if (named) return Violated(kImports, *named);
  return Clean(kImports, Summary(*imports));
}

}  // namespace warpsmith::audit
