#include "cuda/cublas.h"

#include <cublas_v2.h>

#include <utility>

#include "cuda/blas.h"
#include "cuda/library.h"

namespace warpsmith::cuda {
namespace {

// What cuBLAS itself takes on sm_90; on other devices more than it asks for.
constexpr size_t kWorkspaceBytes = size_t{32} << 20;

#define WARPSMITH_CUBLAS_FUNCTIONS(X) \
  X(cublasCreate)                     \
  X(cublasDestroy)                    \
  X(cublasSetMathMode)                \
  X(cublasSetStream) X(cublasSetWorkspace) X(cublasGemmEx_64) X(cublasGetProperty)

struct CublasApi {
  WARPSMITH_CUBLAS_FUNCTIONS(WARPSMITH_MEMBER)
};

Result<CublasApi> LoadCublas() {
  const Library library = TRY(Library::Open(
      "libcublas.so.13", "install cuBLAS 13: pip install nvidia-cublas, or a CUDA 13 toolkit"));
  CublasApi api;
  const SymbolSlot slots[] = {WARPSMITH_CUBLAS_FUNCTIONS(WARPSMITH_SLOT)};
  TRY(LoadSymbols(library, slots));
  return api;
}

Result<const CublasApi*> CublasTable() {
  static const Result<CublasApi> api = LoadCublas();
  if (!api.ok()) return api.error();
  return &*api;
}

}  // namespace

Cublas::Cublas(void* handle, HalfType type, DeviceBuffer workspace)
    : handle_(handle), type_(type), workspace_(std::move(workspace)) {}

Cublas::Cublas(Cublas&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      type_(other.type_),
      workspace_(std::move(other.workspace_)),
      bound_stream_(std::exchange(other.bound_stream_, nullptr)) {}

Cublas::~Cublas() {
  if (handle_ != nullptr) (*CublasTable())->cublasDestroy(static_cast<cublasHandle_t>(handle_));
}

Result<Cublas> Cublas::Create(HalfType type) {
  const CublasApi* api = TRY(CublasTable());
  cublasHandle_t handle = nullptr;
  TRY(CheckedBlas("cublasCreate", api->cublasCreate(&handle), ""));
  Cublas cublas(handle, type, DeviceBuffer());
  if (type == HalfType::kBF16) {
    TRY(CheckedBlas(
        "cublasSetMathMode",
        api->cublasSetMathMode(handle, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION), ""));
  }
  cublas.workspace_ = TRY(DeviceBuffer::Allocate(kWorkspaceBytes));
  return cublas;
}

Status Cublas::Gemm(const GemmShape& shape, const GemmOperands& operands,
                    const Stream& stream) const {
  CHECK(shape.type == type_);
  const CublasApi* api = TRY(CublasTable());
  auto* handle = static_cast<cublasHandle_t>(handle_);
  if (bound_stream_ != stream.handle()) {
    TRY(CheckedBlas("cublasSetStream", api->cublasSetStream(handle, stream.handle()), ""));
    // Setting the stream resets the workspace to the library's own pool.
    TRY(CheckedBlas("cublasSetWorkspace",
                    api->cublasSetWorkspace(handle, reinterpret_cast<void*>(workspace_.address()),
                                            workspace_.bytes()),
                    ""));
    bound_stream_ = stream.handle();
  }
  const ColumnMajorGemm view = ColumnMajor(shape);
  const cudaDataType_t type = DataType(shape.type);
  const float alpha = 1, beta = 0;
  const cublasStatus_t status = api->cublasGemmEx_64(
      handle, view.transpose_first ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, shape.n, shape.m,
      shape.k, &alpha, reinterpret_cast<const void*>(operands.b), type, view.first_rows,
      reinterpret_cast<const void*>(operands.a), type, shape.k, &beta,
      reinterpret_cast<void*>(operands.c), type, shape.n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  return CheckedBlas("cublasGemmEx_64", status, ShapeText(shape));
}

Result<std::string> CublasVersion() {
  const CublasApi* api = TRY(CublasTable());
  std::string text = "cuBLAS ";
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int value = 0;
    TRY(CheckedBlas("cublasGetProperty", api->cublasGetProperty(part, &value), ""));
    text += (part == MAJOR_VERSION ? "" : ".") + std::to_string(value);
  }
  return text;
}

}  // namespace warpsmith::cuda
