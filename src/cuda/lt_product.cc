#include "cuda/lt_product.h"

#include <cublasLt.h>
#include <dlfcn.h>

#include <cstdlib>
#include <utility>

#include "cuda/blas.h"
#include "cuda/library.h"
#include "cuda/lt_functions.h"

namespace warpsmith::cuda {

namespace {

constexpr char kFix[] =
    "install cuBLAS 13 (pip install nvidia-cublas, or a CUDA 13 toolkit), or name the file in "
    "WARPSMITH_CUBLASLT";

// dlopen's handle of a copy that the process already has; null: none, or a file that is named.
void* OpenNamedOrLoaded() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here calls setenv
  if (const char* named = std::getenv("WARPSMITH_CUBLASLT"); named != nullptr && *named != '\0') {
    return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  }
  for (const char* soname : {"libcublasLt.so.13", "libcublasLt.so.12"}) {
    if (void* handle = dlopen(soname, RTLD_NOW | RTLD_NOLOAD)) return handle;
  }
  return nullptr;
}

bool IsNamed() {
  const char* named = std::getenv("WARPSMITH_CUBLASLT");  // NOLINT(concurrency-mt-unsafe)
  return named != nullptr && *named != '\0';
}

// `find` gives a function's address by its name, or an Error.
template <typename Find>
Result<LtFunctions> FunctionsFrom(const Find& find) {
  LtFunctions api;
  const SymbolSlot slots[] = {WARPSMITH_CUBLASLT_FUNCTIONS(WARPSMITH_SLOT)};
  for (const SymbolSlot& slot : slots) *slot.function = TRY(find(slot.symbol));
  return api;
}

Result<LtFunctions> FunctionsOf(void* handle) {
  return FunctionsFrom([handle](const char* name) -> Result<void*> {
    if (void* symbol = dlsym(handle, name)) return symbol;
    return Error{ErrorCode::kUnavailable, std::string("cuBLASLt has no function ") + name, kFix};
  });
}

Result<LtFunctions> FunctionsOf(const Library& library) {
  return FunctionsFrom([&](const char* name) { return library.Symbol(name); });
}

Result<LtFunctions> LoadLtProductFunctions() {
  if (void* handle = OpenNamedOrLoaded()) return FunctionsOf(handle);
  if (IsNamed()) {
    const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is per thread
    return Error{ErrorCode::kUnavailable,
                 std::string("opening WARPSMITH_CUBLASLT failed: ") +
                     (reason != nullptr ? reason : "unknown"),
                 "name a libcublasLt.so.13"};
  }
  const auto newest = Library::Open("libcublasLt.so.13", kFix);
  if (newest.ok()) return FunctionsOf(*newest);
  const auto older = Library::Open("libcublasLt.so.12", kFix);
  if (older.ok()) return FunctionsOf(*older);
  return newest.error();
}

std::string SpecText(const LtProductSpec& spec) {
  return ShapeText({spec.m, spec.n, spec.k, spec.transpose_b ? GemmLayout::kTN : GemmLayout::kNN}) +
         (spec.transpose_a ? ", A transposed" : "");
}

}  // namespace

LtLibrary::LtLibrary(std::unique_ptr<LtFunctions> functions) : functions_(std::move(functions)) {}

LtLibrary::~LtLibrary() {
  if (handle_ != nullptr) functions_->cublasLtDestroy(static_cast<cublasLtHandle_t>(handle_));
}

Status LtLibrary::Start() {
  cublasLtHandle_t handle = nullptr;
  TRY(CheckedBlas("cublasLtCreate", functions_->cublasLtCreate(&handle), ""));
  handle_ = handle;
  version_ = "cuBLASLt ";
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int value = 0;
    TRY(CheckedBlas("cublasLtGetProperty", functions_->cublasLtGetProperty(part, &value), ""));
    version_ += (part == MAJOR_VERSION ? "" : ".") + std::to_string(value);
  }
  return {};
}

Result<std::shared_ptr<const LtLibrary>> LtLibrary::Open() {
  auto library =
      std::make_shared<LtLibrary>(std::make_unique<LtFunctions>(TRY(LoadLtProductFunctions())));
  TRY(library->Start());
  return std::shared_ptr<const LtLibrary>(std::move(library));
}

// In cuBLAS's column-major terms C^T = op(B)^T op(A)^T: B is its first operand.
struct LtProduct::State {
  std::shared_ptr<const LtLibrary> library;
  LtProductSpec spec;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, product = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  size_t workspace_bytes = 0;

  const LtFunctions& api() const { return library->functions(); }
  cublasLtHandle_t handle() const { return static_cast<cublasLtHandle_t>(library->handle()); }

  Status SetTranspose(cublasLtMatmulDescAttributes_t which, bool transposed) const {
    const cublasOperation_t value = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    return CheckedBlas(
        "cublasLtMatmulDescSetAttribute",
        api().cublasLtMatmulDescSetAttribute(operation, which, &value, sizeof(value)), "transpose");
  }
  Status MakeLayout(cublasLtMatrixLayout_t* layout, int64_t rows, int64_t columns,
                    int64_t leading) const {
    const cudaDataType_t type = DataType(spec.type);
    return CheckedBlas("cublasLtMatrixLayoutCreate",
                       api().cublasLtMatrixLayoutCreate(layout, type, static_cast<uint64_t>(rows),
                                                        static_cast<uint64_t>(columns), leading),
                       SpecText(spec));
  }
  Status Make() {
    TRY(CheckedBlas("cublasLtMatmulDescCreate",
                    api().cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                    ""));
    TRY(SetTranspose(CUBLASLT_MATMUL_DESC_TRANSA, spec.transpose_b));
    TRY(SetTranspose(CUBLASLT_MATMUL_DESC_TRANSB, spec.transpose_a));
    const bool b = spec.transpose_b, a = spec.transpose_a;
    TRY(MakeLayout(&first, b ? spec.k : spec.n, b ? spec.n : spec.k, spec.ldb));
    TRY(MakeLayout(&second, a ? spec.m : spec.k, a ? spec.k : spec.m, spec.lda));
    return MakeLayout(&product, spec.n, spec.m, spec.ldc);
  }
  ~State() {
    for (cublasLtMatrixLayout_t layout : {first, second, product}) {
      if (layout != nullptr) api().cublasLtMatrixLayoutDestroy(layout);
    }
    if (operation != nullptr) api().cublasLtMatmulDescDestroy(operation);
  }
};

LtProduct::LtProduct(std::unique_ptr<State> state) : state_(std::move(state)) {}
LtProduct::LtProduct(LtProduct&&) noexcept = default;
LtProduct& LtProduct::operator=(LtProduct&&) noexcept = default;
LtProduct::~LtProduct() = default;

Result<LtProduct> LtProduct::Create(std::shared_ptr<const LtLibrary> library,
                                    const LtProductSpec& spec) {
  auto state = std::make_unique<State>();
  state->library = std::move(library);
  state->spec = spec;
  TRY(state->Make());
  return LtProduct(std::move(state));
}

Status LtProduct::Choose(size_t workspace_limit_bytes, const LtAlignment& alignment) {
  const LtFunctions& api = state_->api();
  const auto preference =
      TRY(LtNativePreference::Create(api, workspace_limit_bytes, alignment, LtSums::kInFp32));
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  TRY(CheckedBlas("cublasLtMatmulAlgoGetHeuristic",
                  api.cublasLtMatmulAlgoGetHeuristic(
                      state_->handle(), state_->operation, state_->first, state_->second,
                      state_->product, state_->product, preference.handle(), 1, &result, &found),
                  SpecText(state_->spec)));
  if (found == 0 || result.state != CUBLAS_STATUS_SUCCESS) {
    return Error{ErrorCode::kUnavailable, "cuBLASLt has no algorithm for " + SpecText(state_->spec),
                 ""};
  }
  state_->algorithm = result.algo;
  state_->workspace_bytes = result.workspaceSize;
  return {};
}

Status LtProduct::Take(const LtAlgorithm& algorithm, size_t workspace_limit_bytes) {
  const cublasLtMatmulAlgo_t native = Native(algorithm);
  cublasLtMatmulHeuristicResult_t result{};
  TRY(CheckedBlas("cublasLtMatmulAlgoCheck",
                  state_->api().cublasLtMatmulAlgoCheck(
                      state_->handle(), state_->operation, state_->first, state_->second,
                      state_->product, state_->product, &native, &result),
                  SpecText(state_->spec)));
  if (result.workspaceSize > workspace_limit_bytes) {
    return Error{ErrorCode::kBadInput, "the algorithm needs more workspace than there is", ""};
  }
  state_->algorithm = native;
  state_->workspace_bytes = result.workspaceSize;
  return {};
}

size_t LtProduct::workspace_bytes() const { return state_->workspace_bytes; }

Status LtProduct::Run(const LtProductCall& call) const {
  auto* c = reinterpret_cast<void*>(call.c);
  const cublasStatus_t status = state_->api().cublasLtMatmul(
      state_->handle(), state_->operation, &call.alpha, reinterpret_cast<const void*>(call.b),
      state_->first, reinterpret_cast<const void*>(call.a), state_->second, &call.beta, c,
      state_->product, c, state_->product, &state_->algorithm,
      reinterpret_cast<void*>(call.workspace), call.workspace_bytes, call.stream);
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return BlasError("cublasLtMatmul", status, SpecText(state_->spec));
}

}  // namespace warpsmith::cuda
