#include "cuda/cublaslt.h"

#include <cublasLt.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <utility>

#include "cuda/blas.h"
#include "cuda/lt_every_algorithm.h"
#include "cuda/lt_functions.h"
#include "cuda/lt_preference.h"
#include "cuda/symbol_table.h"

namespace warpsmith::cuda {
namespace {

Result<LtFunctions> LoadLtFunctions() {
  const Library library = TRY(Library::Open(
      "libcublasLt.so.13", "install cuBLAS 13: pip install nvidia-cublas, or a CUDA 13 toolkit"));
  LtFunctions api;
  const SymbolSlot slots[] = {WARPSMITH_CUBLASLT_FUNCTIONS(WARPSMITH_SLOT)};
  TRY(LoadSymbols(library, slots));
  return api;
}

Result<const LtFunctions*> LtTable() {
  static const Result<LtFunctions> api = LoadLtFunctions();
  if (!api.ok()) return api.error();
  return &*api;
}

#define LT_CALL(detail, name, ...) \
  [&]() -> Status { return CheckedBlas(#name, TRY(LtTable())->name(__VA_ARGS__), detail); }()

LtAlgorithm FromResult(const cublasLtMatmulHeuristicResult_t& result) {
  LtAlgorithm algorithm;
  std::memcpy(algorithm.bytes.data(), &result.algo, sizeof(result.algo));
  algorithm.workspace_bytes = result.workspaceSize;
  algorithm.waves = result.wavesCount;
  return algorithm;
}

}  // namespace

struct LtMatmul::Handles {
  GemmShape shape;
  cublasLtHandle_t library = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, product = nullptr;

  ~Handles() {
    const LtFunctions* api = *LtTable();
    for (cublasLtMatrixLayout_t layout : {first, second, product}) {
      if (layout != nullptr) api->cublasLtMatrixLayoutDestroy(layout);
    }
    if (operation != nullptr) api->cublasLtMatmulDescDestroy(operation);
    if (library != nullptr) api->cublasLtDestroy(library);
  }
};

LtMatmul::LtMatmul(std::unique_ptr<Handles> handles) : handles_(std::move(handles)) {}
LtMatmul::LtMatmul(LtMatmul&&) noexcept = default;
LtMatmul& LtMatmul::operator=(LtMatmul&&) noexcept = default;
LtMatmul::~LtMatmul() = default;

Result<LtMatmul> LtMatmul::Create(const GemmShape& shape) {
  TRY(LtTable());
  auto handles = std::make_unique<Handles>();
  handles->shape = shape;
  TRY(LT_CALL("", cublasLtCreate, &handles->library));
  TRY(LT_CALL("", cublasLtMatmulDescCreate, &handles->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const ColumnMajorGemm view = ColumnMajor(shape);
  const cudaDataType_t type = DataType(shape.type);
  const cublasOperation_t transpose = view.transpose_first ? CUBLAS_OP_T : CUBLAS_OP_N;
  TRY(LT_CALL("transpose", cublasLtMatmulDescSetAttribute, handles->operation,
              CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof(transpose)));
  TRY(LT_CALL(ShapeText(shape), cublasLtMatrixLayoutCreate, &handles->first, type, view.first_rows,
              view.first_columns, view.first_rows));
  TRY(LT_CALL(ShapeText(shape), cublasLtMatrixLayoutCreate, &handles->second, type, shape.k,
              shape.m, shape.k));
  TRY(LT_CALL(ShapeText(shape), cublasLtMatrixLayoutCreate, &handles->product, type, shape.n,
              shape.m, shape.n));
  return LtMatmul(std::move(handles));
}

Result<std::vector<LtAlgorithm>> LtMatmul::Heuristic(const LtPreference& preference) const {
  const uint32_t aligned = preference.alignment_bytes;
  const auto native = TRY(LtNativePreference::Create(
      *TRY(LtTable()), preference.workspace_bytes, {aligned, aligned, aligned},
      handles_->shape.type == HalfType::kBF16 ? LtSums::kInFp32 : LtSums::kAny));
  std::vector<cublasLtMatmulHeuristicResult_t> results(preference.algorithms);
  int found = 0;
  TRY(LT_CALL(ShapeText(handles_->shape), cublasLtMatmulAlgoGetHeuristic, handles_->library,
              handles_->operation, handles_->first, handles_->second, handles_->product,
              handles_->product, native.handle(), preference.algorithms, results.data(), &found));
  std::vector<LtAlgorithm> algorithms;
  for (int i = 0; i < found; ++i) {
    if (results[i].state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(FromResult(results[i]));
  }
  if (algorithms.empty()) {
    return Error{ErrorCode::kUnavailable,
                 "cuBLASLt has no algorithm for " + ShapeText(handles_->shape), ""};
  }
  return algorithms;
}

Result<std::vector<LtAlgorithm>> LtMatmul::EveryAlgorithm(size_t workspace_bytes,
                                                          double seconds) const {
  const LtFunctions* api = TRY(LtTable());
  const Handles& h = *handles_;
  std::vector<LtAlgorithm> found;
  TRY(ForEveryAlgorithm(
      h.library, DataType(h.shape.type), seconds, [&](const cublasLtMatmulAlgo_t& configured) {
        cublasLtMatmulHeuristicResult_t result{};
        const cublasStatus_t status = api->cublasLtMatmulAlgoCheck(
            h.library, h.operation, h.first, h.second, h.product, h.product, &configured, &result);
        if (status != CUBLAS_STATUS_SUCCESS) return;
        if (result.workspaceSize > workspace_bytes) return;
        result.algo = configured;
        found.push_back(FromResult(result));
      }));
  return found;
}

Result<LtAlgorithm> LtMatmul::Check(LtAlgorithm algorithm) const {
  const cublasLtMatmulAlgo_t native = Native(algorithm);
  cublasLtMatmulHeuristicResult_t result{};
  const Status checked = LT_CALL(
      ShapeText(handles_->shape), cublasLtMatmulAlgoCheck, handles_->library, handles_->operation,
      handles_->first, handles_->second, handles_->product, handles_->product, &native, &result);
  if (!checked.ok()) {
    return Error{ErrorCode::kBadInput, checked.error().message,
                 "a stored algorithm of another library or device: measure it again"};
  }
  algorithm.workspace_bytes = result.workspaceSize;
  algorithm.waves = result.wavesCount;
  return algorithm;
}

Status LtMatmul::Run(const LtAlgorithm& algorithm, const GemmOperands& operands,
                     const DeviceBuffer& workspace, const Stream& stream) const {
  CHECK(workspace.bytes() >= algorithm.workspace_bytes);
  const cublasLtMatmulAlgo_t native = Native(algorithm);
  const float alpha = 1, beta = 0;
  auto* product = reinterpret_cast<void*>(operands.c);
  return LT_CALL(ShapeText(handles_->shape), cublasLtMatmul, handles_->library, handles_->operation,
                 &alpha, reinterpret_cast<const void*>(operands.b), handles_->first,
                 reinterpret_cast<const void*>(operands.a), handles_->second, &beta, product,
                 handles_->product, product, handles_->product, &native,
                 reinterpret_cast<void*>(workspace.address()), workspace.bytes(), stream.handle());
}

std::string ToHex(const LtAlgorithm& algorithm) {
  std::string digits;
  for (const uint64_t word : algorithm.bytes) {
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(word));
    digits += text.data();
  }
  return digits;
}

Result<LtAlgorithm> LtAlgorithmFromHex(const std::string& digits) {
  LtAlgorithm algorithm;
  bool good = digits.size() == algorithm.bytes.size() * 16;
  for (size_t i = 0; good && i < algorithm.bytes.size(); ++i) {
    const char* start = digits.data() + i * 16;
    const auto parsed = std::from_chars(start, start + 16, algorithm.bytes[i], 16);
    good = parsed.ec == std::errc() && parsed.ptr == start + 16;
  }
  if (good) return algorithm;
  return Error{ErrorCode::kBadInput,
               "a cuBLASLt algorithm is 128 hexadecimal digits, found '" + digits + "'", ""};
}

Result<std::string> CublasLtVersion() {
  std::string text = "cuBLASLt ";
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int value = 0;
    TRY(LT_CALL("", cublasLtGetProperty, part, &value));
    text += (part == MAJOR_VERSION ? "" : ".") + std::to_string(value);
  }
  return text;
}

}  // namespace warpsmith::cuda
