#include "judge/audit/library_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "judge/audit/contains.h"

namespace warpsmith::audit {
namespace {

template <typename Predicate>
const LibraryFamily* FirstFamily(Predicate matches) {
  for (const LibraryFamily& family : LibraryFamilies()) {
    if (matches(family)) return &family;
  }
  return nullptr;
}

}  // namespace

// Kernel names as seen in traces of these libraries; a library may have others, which is why a
// program's kernels are also held against those of its own image (audit/activity.h).
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

bool IsOfEveryProgram(std::string_view file) {
  constexpr std::array<std::string_view, 14> kFiles = {
      "libc.so.",       "libm.so.",     "libmvec.so.",   "libdl.so.",    "librt.so.",
      "libpthread.so.", "libgcc_s.so.", "libstdc++.so.", "libgomp.so.",  "libatomic.so.",
      "ld-linux-",      "libcuda.so.",  "libcudart.so.", "libcudadevrt."};
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return std::any_of(kFiles.begin(), kFiles.end(),
                     [name](std::string_view begin) { return name.starts_with(begin); });
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

const LibraryFamily* ForbiddenIn(std::string_view bytes, const std::vector<std::string>& allow) {
  return FirstFamily([bytes, &allow](const LibraryFamily& family) {
    return !Allows(allow, family.name) &&
           std::any_of(family.files.begin(), family.files.end(),
                       [bytes](std::string_view file) { return Contains(bytes, file); });
  });
}

std::string Demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : name;
}

}  // namespace warpsmith::audit
