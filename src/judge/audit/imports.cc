#include "judge/audit/imports.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/elf.h"
#include "base/text.h"
#include "judge/audit/finding.h"

namespace warpsmith::audit {
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
// program's kernels are also held against those of its own image (activity.h).
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
