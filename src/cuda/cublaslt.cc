#include "cuda/cublaslt.h"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cuda/blas.h"
#include "cuda/library.h"
#include "cuda/lt_functions.h"

namespace warpsmith::cuda {
namespace {

// All configurations of cuBLASLt's algorithms, by what their capabilities say. Private to this
// folder.

constexpr int kMostAlgorithms = 1000;
constexpr uint32_t kMostCustomOptions = 64;  // of an algorithm: some claim many thousands

// clang-format off
#define WARPSMITH_CUBLASLT_SEARCH_FUNCTIONS(X)                                             \
  X(cublasLtMatmulAlgoGetIds) X(cublasLtMatmulAlgoInit) X(cublasLtMatmulAlgoCapGetAttribute) \
  X(cublasLtMatmulAlgoConfigSetAttribute)
// clang-format on

struct LtSearchFunctions {
  WARPSMITH_CUBLASLT_SEARCH_FUNCTIONS(WARPSMITH_MEMBER)
};

Result<LtSearchFunctions> LoadSearch() {
  const Library library = TRY(Library::Open("libcublasLt.so.13", "install cuBLAS 13"));
  LtSearchFunctions api;
  const SymbolSlot slots[] = {WARPSMITH_CUBLASLT_SEARCH_FUNCTIONS(WARPSMITH_SLOT)};
  TRY(LoadSymbols(library, slots));
  return api;
}

// One algorithm and the values that each of its settings may have.
struct Space {
  struct Split {
    int32_t parts;
    uint32_t reduction;
  };
  cublasLtMatmulAlgo_t base{};
  std::vector<uint32_t> tiles, stages, swizzles, customs;
  std::vector<Split> splits;
  std::vector<uint16_t> clusters;
  uint64_t next = 0, step = 1;  // which configuration comes next, and how far on the one after it

  uint64_t size() const {
    return uint64_t{1} * tiles.size() * stages.size() * swizzles.size() * customs.size() *
           splits.size() * clusters.size();
  }
};

template <typename T>
T Capability(const LtSearchFunctions& api, const cublasLtMatmulAlgo_t& algorithm,
             cublasLtMatmulAlgoCapAttributes_t which) {
  T value{};
  size_t written = 0;
  const auto status =
      api.cublasLtMatmulAlgoCapGetAttribute(&algorithm, which, &value, sizeof(value), &written);
  return status == CUBLAS_STATUS_SUCCESS ? value : T{};
}

// An algorithm that names none has one: undefined, which is 0.
std::vector<uint32_t> Listed(const LtSearchFunctions& api, const cublasLtMatmulAlgo_t& algorithm,
                             cublasLtMatmulAlgoCapAttributes_t which) {
  size_t bytes = 0;
  auto status = api.cublasLtMatmulAlgoCapGetAttribute(&algorithm, which, nullptr, 0, &bytes);
  std::vector<uint32_t> values(status == CUBLAS_STATUS_SUCCESS ? bytes / sizeof(uint32_t) : 0);
  if (!values.empty()) {
    status = api.cublasLtMatmulAlgoCapGetAttribute(&algorithm, which, values.data(),
                                                   values.size() * sizeof(uint32_t), &bytes);
  }
  if (values.empty() || status != CUBLAS_STATUS_SUCCESS) return {0};
  return values;
}

std::vector<Space::Split> SplitsOf(const LtSearchFunctions& api,
                                   const cublasLtMatmulAlgo_t& algorithm) {
  std::vector<Space::Split> splits = {{1, CUBLASLT_REDUCTION_SCHEME_NONE}};
  if (Capability<int32_t>(api, algorithm, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT) == 0) return splits;
  const auto mask = Capability<uint32_t>(api, algorithm, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK);
  for (const uint32_t reduction :
       {CUBLASLT_REDUCTION_SCHEME_INPLACE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}) {
    if ((mask & reduction) == 0) continue;
    for (const int32_t parts : {2, 3, 4, 5, 6, 8, 12, 16, 32}) splits.push_back({parts, reduction});
  }
  return splits;
}

std::vector<uint32_t> UpTo(uint32_t most) {
  std::vector<uint32_t> values(most + 1);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

// A step near the golden section of `size` that shares no factor with it visits every index once.
uint64_t ScatteringStep(uint64_t size) {
  auto step = std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(size) * 0.618));
  while (std::gcd(step, size) != 1) ++step;
  return step;
}

Space SpaceOf(const LtSearchFunctions& api, const cublasLtMatmulAlgo_t& algorithm) {
  Space space;
  space.base = algorithm;
  space.tiles = Listed(api, algorithm, CUBLASLT_ALGO_CAP_TILE_IDS);
  space.stages = Listed(api, algorithm, CUBLASLT_ALGO_CAP_STAGES_IDS);
  space.swizzles = UpTo(
      Capability<uint32_t>(api, algorithm, CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT) != 0 ? 1 : 0);
  const auto most = Capability<int32_t>(api, algorithm, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX);
  space.customs =
      UpTo(std::min(static_cast<uint32_t>(std::max<int32_t>(most, 0)), kMostCustomOptions - 1));
  space.splits = SplitsOf(api, algorithm);
  space.clusters = {CUBLASLT_CLUSTER_SHAPE_AUTO};
  for (uint16_t shape = CUBLASLT_CLUSTER_SHAPE_1x1x1; shape < CUBLASLT_CLUSTER_SHAPE_END; ++shape) {
    space.clusters.push_back(shape);
  }
  space.step = ScatteringStep(space.size());
  return space;
}

template <typename T>
T TakeFrom(const std::vector<T>& values, uint64_t& index) {
  const T value = values[index % values.size()];
  index /= values.size();
  return value;
}

// False where the library does not let an attribute be set so.
bool ConfigureNext(const LtSearchFunctions& api, Space& space, cublasLtMatmulAlgo_t& algorithm) {
  algorithm = space.base;
  uint64_t index = space.next;
  space.next = (space.next + space.step) % space.size();
  const uint16_t cluster = TakeFrom(space.clusters, index);
  const uint32_t tile = TakeFrom(space.tiles, index), stages = TakeFrom(space.stages, index);
  const Space::Split split = TakeFrom(space.splits, index);
  const uint32_t custom = TakeFrom(space.customs, index), swizzle = TakeFrom(space.swizzles, index);
  const auto set = [&](cublasLtMatmulAlgoConfigAttributes_t which, const auto& value) {
    return api.cublasLtMatmulAlgoConfigSetAttribute(&algorithm, which, &value, sizeof(value)) ==
           CUBLAS_STATUS_SUCCESS;
  };
  return set(CUBLASLT_ALGO_CONFIG_TILE_ID, tile) && set(CUBLASLT_ALGO_CONFIG_STAGES_ID, stages) &&
         set(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, split.parts) &&
         set(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, split.reduction) &&
         set(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, swizzle) &&
         set(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, custom) &&
         set(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster);
}

// Calls `take` with one configuration after the other, algorithms taking turns, each algorithm's
// in a scattered order, none twice, until all were had or `seconds` are over. Whether a
// configuration fits a product is for cublasLtMatmulAlgoCheck to say. FP32 sums, all operands of
// `type`.
Status ForEveryAlgorithm(cublasLtHandle_t library, cudaDataType_t type, double seconds,
                         const std::function<void(const cublasLtMatmulAlgo_t&)>& take) {
  static const Result<LtSearchFunctions> table = LoadSearch();
  if (!table.ok()) return table.error();
  const LtSearchFunctions& api = *table;
  const double until = MonotonicSeconds() + seconds;
  std::array<int, kMostAlgorithms> ids{};
  int count = 0;
  const cublasStatus_t listed =
      api.cublasLtMatmulAlgoGetIds(library, CUBLAS_COMPUTE_32F, CUDA_R_32F, type, type, type, type,
                                   kMostAlgorithms, ids.data(), &count);
  if (listed != CUBLAS_STATUS_SUCCESS) return BlasError("cublasLtMatmulAlgoGetIds", listed, "");
  std::vector<Space> spaces;
  uint64_t longest = 0;
  for (int i = 0; i < count; ++i) {
    cublasLtMatmulAlgo_t algorithm{};
    const cublasStatus_t status = api.cublasLtMatmulAlgoInit(
        library, CUBLAS_COMPUTE_32F, CUDA_R_32F, type, type, type, type, ids.at(i), &algorithm);
    if (status != CUBLAS_STATUS_SUCCESS) continue;
    spaces.push_back(SpaceOf(api, algorithm));
    longest = std::max(longest, spaces.back().size());
  }
  for (uint64_t turn = 0; turn < longest; ++turn) {
    for (Space& space : spaces) {
      if (turn >= space.size()) continue;
      if (MonotonicSeconds() > until) return {};
      cublasLtMatmulAlgo_t algorithm{};
      if (ConfigureNext(api, space, algorithm)) take(algorithm);
    }
  }
  return {};
}

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
