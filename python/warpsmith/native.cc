// torch.ops.warpsmith.matmul in C++ by PyTorch's stable ABI, for processes in which the Python package
// is not: a program that runs a model of AOTInductor opens it first. What was compiled once
// (python -m warpsmith.native) serves torch 2.10 and newer. Without gradients.
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <warpsmith/gemm.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#ifndef WARPSMITH_DEVICE
#define WARPSMITH_DEVICE CUDA  // CPU: for a test's driver, whose device memory is the host's
#define WARPSMITH_HAS_STREAMS
#endif

namespace {

using torch::stable::Tensor;
using torch::stable::accelerator::DeviceGuard;

// The functions of libwarpsmith_gemm that are needed.
struct Api {
  decltype(&warpsmith_gemm_create) create;
  decltype(&warpsmith_gemm_workspace) workspace;
  decltype(&warpsmith_gemm_run) run;
  decltype(&warpsmith_gemm_status_text) status_text;
  decltype(&warpsmith_gemm_last_error) last_error;
};

// As python/warpsmith/_library.py looks for it: by name, beside this file, where the loader looks.
void* OpenLibrary() {
  const std::string soname = "libwarpsmith_gemm.so.1";
  if (const char* named = std::getenv("WARPSMITH_GEMM_LIBRARY")) return dlopen(named, RTLD_NOW);
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&OpenLibrary), &here) != 0) {
    const std::string file = here.dli_fname;
    const std::string beside = file.substr(0, file.rfind('/') + 1) + soname;
    if (void* found = dlopen(beside.c_str(), RTLD_NOW)) return found;
  }
  return dlopen(soname.c_str(), RTLD_NOW);
}

const Api& Library() {
  static const Api api = [] {
    void* const library = OpenLibrary();
    STD_TORCH_CHECK(library != nullptr, "could not open libwarpsmith_gemm.so.1: ", dlerror(),
                    "; name the file in WARPSMITH_GEMM_LIBRARY");
    const auto function = [&](auto& pointer, const char* name) {
      void* const found = dlsym(library, name);
      STD_TORCH_CHECK(found != nullptr, "libwarpsmith_gemm lacks ", name, "; install a newer one");
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(found);
    };
    Api made{};
    function(made.create, "warpsmith_gemm_create");
    function(made.workspace, "warpsmith_gemm_workspace");
    function(made.run, "warpsmith_gemm_run");
    function(made.status_text, "warpsmith_gemm_status_text");
    function(made.last_error, "warpsmith_gemm_last_error");
    return made;
  }();
  return api;
}

void CheckTorch(AOTITorchError status) {
  STD_TORCH_CHECK(status == AOTI_TORCH_SUCCESS, "a call of PyTorch's failed");
}

void Check(warpsmith_gemm_status status) {
  STD_TORCH_CHECK(status == WARPSMITH_GEMM_OK, Library().status_text(status), ": ",
                  Library().last_error());
}

// Of a device, whose context is current; made when it is met first, for as long as the process runs.
warpsmith_gemm* LibraryOf(int device) {
  thread_local std::pair<int, warpsmith_gemm*> latest{-2, nullptr};
  if (latest.first == device) return latest.second;
  static std::mutex mutex;
  static std::map<int, warpsmith_gemm*> made;
  const std::lock_guard lock(mutex);
  warpsmith_gemm*& library = made[device];
  if (library == nullptr) Check(Library().create(nullptr, &library));
  latest = {device, library};
  return library;
}

struct Storage {
  int transposed;
  int64_t leading;
};

// How a matrix can be taken as it lies; none where neither its rows nor its columns lie densely.
std::optional<Storage> StorageOf(const Tensor& tensor) {
  const int64_t rows = tensor.size(0), columns = tensor.size(1);
  const int64_t down = tensor.stride(0), across = tensor.stride(1);
  if ((across == 1 || columns <= 1) && (down >= columns || rows <= 1)) {
    return Storage{0, rows > 1 ? std::max(down, columns) : columns};
  }
  if ((down == 1 || rows <= 1) && (across >= rows || columns <= 1)) {
    return Storage{1, columns > 1 ? std::max(across, rows) : rows};
  }
  return std::nullopt;
}

void CheckOperands(const Tensor& a, const Tensor& b) {
  using torch::headeronly::ScalarType;
  const ScalarType type = a.scalar_type();
  STD_TORCH_CHECK(type == ScalarType::Half || type == ScalarType::BFloat16,
                  "warpsmith.matmul: expected operands of torch.float16 or torch.bfloat16");
  STD_TORCH_CHECK(b.scalar_type() == type, "warpsmith.matmul: a and b are of two types");
  STD_TORCH_CHECK(a.dim() == 2 && b.dim() == 2,
                  "warpsmith.matmul: expected a and b of two "
                  "dimensions, found ",
                  a.dim(), " and ", b.dim());
  STD_TORCH_CHECK(a.size(1) == b.size(0), "warpsmith.matmul: a is ", a.size(0), " x ", a.size(1),
                  " and b ", b.size(0), " x ", b.size(1), "; a's last extent must be b's first");
  STD_TORCH_CHECK(a.get_device_index() == b.get_device_index(),
                  "warpsmith.matmul: a and b are on two devices");
}

Tensor Empty(std::initializer_list<int64_t> sizes, int32_t dtype, const Tensor& like) {
  int32_t device_type = 0;
  CheckTorch(aoti_torch_get_device_type(like.get(), &device_type));
  const std::array<int64_t, 2> strides = {sizes.size() == 2 ? sizes.begin()[1] : 1, 1};
  AtenTensorHandle made = nullptr;
  CheckTorch(aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.begin(),
                                      strides.data(), dtype, device_type, like.get_device_index(),
                                      &made));
  return Tensor(made);
}

void* CurrentStream([[maybe_unused]] int device) {
  void* stream = nullptr;
#ifdef WARPSMITH_HAS_STREAMS
  CheckTorch(aoti_torch_get_current_cuda_stream(device, &stream));
#endif
  return stream;
}

// `out` is empty, dense, and of the problem's extents.
void Multiply(const Tensor& a, Storage from_a, const Tensor& b, Storage from_b, const Tensor& out) {
  const int device = a.get_device_index();
#ifdef WARPSMITH_HAS_STREAMS
  std::optional<DeviceGuard> guard;
  if (torch::stable::accelerator::getCurrentDeviceIndex() != device) guard.emplace(device);
#endif
  warpsmith_gemm* const library = LibraryOf(device);
  warpsmith_gemm_problem problem =
      warpsmith_gemm_dense(a.size(0), b.size(1), a.size(1), from_a.transposed, from_b.transposed);
  problem.lda = from_a.leading;
  problem.ldb = from_b.leading;
  if (a.scalar_type() == torch::headeronly::ScalarType::BFloat16)
    problem.dtype = WARPSMITH_GEMM_BF16;
  size_t bytes = 0;
  Check(Library().workspace(library, &problem, &bytes));
  std::optional<Tensor>
      workspace;  // in stream order: torch gives it to nobody else before it is used
  void* address = nullptr;
  if (bytes > 0) {
    const auto padded = static_cast<int64_t>(bytes) + 255;
    workspace = Empty({padded}, aoti_torch_dtype_uint8(), a);
    const auto start = reinterpret_cast<uintptr_t>(workspace->data_ptr());
    address = reinterpret_cast<void*>((start + 255) & ~uintptr_t{255});
  }
  Check(Library().run(library, &problem, a.data_ptr(), b.data_ptr(), out.data_ptr(), address, bytes,
                      CurrentStream(device)));
}

Tensor Product(const Tensor& a, const Tensor& b) {
  CheckOperands(a, b);
  const std::optional<Storage> from_a = StorageOf(a), from_b = StorageOf(b);
  if (!from_a || !from_b) {
    return Product(from_a ? a : torch::stable::contiguous(a),
                   from_b ? b : torch::stable::contiguous(b));
  }
  int32_t dtype = 0;
  CheckTorch(aoti_torch_get_dtype(a.get(), &dtype));
  Tensor out = Empty({a.size(0), b.size(1)}, dtype, a);
  Multiply(a, *from_a, b, *from_b, out);
  return out;
}

}  // namespace

STABLE_TORCH_LIBRARY(warpsmith, m) { m.def("matmul(Tensor a, Tensor b) -> Tensor"); }

STABLE_TORCH_LIBRARY_IMPL(warpsmith, WARPSMITH_DEVICE, m) { m.impl("matmul", TORCH_BOX(&Product)); }
