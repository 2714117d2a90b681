#include "gemm_library/fake/host_gemm.h"

#include <cstdlib>

#include "cuda/fake/fake_control.h"
#include "cuda/fake/half.h"

namespace warpsmith::gemm_library::fake {
namespace {

using cuda::fake::Half;
using cuda::fake::kBF16;
using cuda::fake::kF16;

const Half& HalfOf(DType dtype) { return dtype == DType::kBF16 ? kBF16 : kF16; }

constexpr uint16_t kPoison = 0x7d5a;  // a NaN that no product gives
constexpr float kBeforeC = 3;

struct Matrix {
  uint16_t* data = nullptr;
  int64_t pitch = 0;
  uint16_t& at(int64_t row, int64_t column) const { return data[row * pitch + column]; }
};

// C = A * B with B stored n x k.
void Multiply(const Matrix& a, const Matrix& b, const Matrix& c, int m, int n, int k,
              const Half& half = kF16) {
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int p = 0; p < k; ++p) sum += half.from(a.at(i, p)) * half.from(b.at(j, p));
      c.at(i, j) = half.to(sum);
    }
  }
}

template <typename T>
T Value(void** arguments, int i) {
  return *static_cast<T*>(arguments[i]);
}

uint16_t* Halves(void** arguments, int i) {
  return reinterpret_cast<uint16_t*>(Value<uint64_t>(arguments, i));
}

void MultiplyAtPointers(void** x, const Half& half) {
  const int m = Value<int>(x, 3), n = Value<int>(x, 4), k = Value<int>(x, 5);
  Multiply({Halves(x, 0), k}, {Halves(x, 1), k}, {Halves(x, 2), n}, m, n, k, half);
}
void PointersKernel(void** x) { MultiplyAtPointers(x, kF16); }
void PointersBf16Kernel(void** x) { MultiplyAtPointers(x, kBF16); }

// The fake's maps: address, rank, dims from word 2, strides from word 7.
Matrix MatrixOf(void* map) {
  const auto* words = static_cast<const uint64_t*>(map);
  return {reinterpret_cast<uint16_t*>(words[0]), static_cast<int64_t>(words[7] / 2)};
}

void MapsKernel(void** x) {
  Multiply(MatrixOf(x[0]), MatrixOf(x[1]), MatrixOf(x[2]), Value<int>(x, 3), Value<int>(x, 4),
           Value<int>(x, 5));
}

// Adds into the workspace, which has to be zero.
void PartialsKernel(void** x) {
  const int m = Value<int>(x, 3), n = Value<int>(x, 4), k = Value<int>(x, 5);
  auto* sums = reinterpret_cast<float*>(Value<uint64_t>(x, 2));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int p = 0; p < k; ++p) {
        sums[i * n + j] += kF16.from(Halves(x, 0)[i * k + p]) * kF16.from(Halves(x, 1)[j * k + p]);
      }
    }
  }
}

void ReduceKernel(void** x) {
  const auto* sums = reinterpret_cast<const float*>(Value<uint64_t>(x, 0));
  for (int i = 0; i < Value<int>(x, 2); ++i) Halves(x, 1)[i] = kF16.to(sums[i]);
}

Expression Text(const std::string& text) { return Expression::Literal(text); }

TensorMapArgument Map(const char* tensor, const char* rows, const char* columns) {
  TensorMapArgument map;
  map.tensor = tensor;
  map.dims = {Text(columns), Text(rows)};
  map.strides_bytes = {Text(std::string("2 * ") + columns)};
  map.box = {Expression::Constant(64), Expression::Constant(64)};
  map.element_strides = {Expression::Constant(1), Expression::Constant(1)};
  map.swizzle = Swizzle::k128B;
  return map;
}

LaunchOperation Launch(const char* kernel, std::vector<Argument> arguments) {
  LaunchOperation launch;
  launch.kernel = kernel;
  launch.block[0] = Expression::Constant(128);
  launch.arguments = std::move(arguments);
  return launch;
}

void AddSizes(LaunchOperation* launch) {
  for (const char* size : {"M", "N", "K"}) launch->arguments.emplace_back(IntArgument{Text(size)});
}

PackKernel Kernel(int64_t variant, const std::string& image,
                  std::vector<LaunchOperation> launches) {
  PackKernel kernel;
  kernel.point = {"host", {{"variant", variant}}};
  kernel.image = image;
  for (LaunchOperation& launch : launches) kernel.plan.operations.emplace_back(std::move(launch));
  return kernel;
}

std::vector<PackKernel> Kernels() {
  LaunchOperation pointers =
      Launch("pointers", {TensorArgument{"A"}, TensorArgument{"B"}, TensorArgument{"C"}});
  AddSizes(&pointers);
  LaunchOperation maps =
      Launch("maps", {Map("A", "M", "K"), Map("B", "N", "K"), Map("C", "M", "N")});
  AddSizes(&maps);
  LaunchOperation partials =
      Launch("partials", {TensorArgument{"A"}, TensorArgument{"B"}, WorkspaceArgument{"partials"}});
  AddSizes(&partials);
  LaunchOperation reduce = Launch(
      "reduce", {WorkspaceArgument{"partials"}, TensorArgument{"C"}, IntArgument{Text("M * N")}});
  std::vector<PackKernel> kernels = {
      Kernel(0, "kernel pointers 8 8 8 4 4 4", {pointers}),
      Kernel(1, "kernel maps 128 128 128 4 4 4", {maps}),
      Kernel(2, "kernel partials 8 8 8 4 4 4\nkernel reduce 8 8 4", {partials, reduce}),
      Kernel(3, "kernel pointers-bf16 8 8 8 4 4 4", {pointers})};
  kernels[3].dtype = DType::kBF16;
  std::get<LaunchOperation>(kernels[3].plan.operations[0]).kernel = "pointers-bf16";
  kernels[2].plan.workspaces.push_back({"partials", Text("4 * M * N"), true});
  return kernels;
}

hgemm::CatalogueRow Row(int64_t size, DType dtype, hgemm::Choice choice, const Point& kernel) {
  hgemm::CatalogueRow row;
  row.problem = {size, size, size, hgemm::Layout::kTN, dtype};
  row.device = "Fake GPU";
  row.choice = choice;
  row.kernel = kernel;
  row.candidate = row.plan_id = row.artifact = std::string(64, '0');
  row.results = {{Mode::kDeviceHot, "cublaslt-auto", 1, 1.5, 1.5, {1.4, 1.6}}};
  row.architecture = "sm_90a";
  row.driver = "13.0";
  row.toolkit = "none";
  row.library = "cuBLASLt 13.99.0";
  row.level = "certified";
  row.date = "2026-11-21T00:00:00Z";
  return row;
}

}  // namespace

void OpenFakeDevice() {
  static const cuda::Context context = cuda::fake::OpenContext();
  CHECK(context.MakeCurrent().ok());
  setenv("WARPSMITH_CUBLASLT", cuda::fake::CublasLtPath(), 1);  // NOLINT(concurrency-mt-unsafe)
  cuda::fake::DefineKernel("pointers", PointersKernel);
  cuda::fake::DefineKernel("pointers-bf16", PointersBf16Kernel);
  cuda::fake::DefineKernel("maps", MapsKernel);
  cuda::fake::DefineKernel("partials", PartialsKernel);
  cuda::fake::DefineKernel("reduce", ReduceKernel);
  cuda::fake::TakeLaunches();
}

Pack HostPack() {
  Pack pack;
  pack.architecture = "sm_90a";
  pack.toolkit = "none";
  pack.kernels = Kernels();
  const auto add = [&pack](int64_t size, DType dtype, int kernel, const std::string& algorithm) {
    const bool ours = kernel >= 0;
    const Point& point = pack.kernels[ours ? static_cast<size_t>(kernel) : 0].point;
    const auto choice = ours ? hgemm::Choice::kKernel : hgemm::Choice::kCublasLt;
    pack.catalogue.rows.push_back(Row(size, dtype, choice, point));
    pack.rows.push_back({kernel, algorithm});
  };
  add(16, DType::kF16, 0, "");
  add(16, DType::kBF16, 3, "");
  add(32, DType::kF16, 1, "");
  add(64, DType::kF16, 2, "");
  add(128, DType::kF16, -1, "0000000066616b65" + std::string(112, '0'));
  const auto packed = WritePack(pack);
  CHECK(packed.ok());
  return ReadPack("host pack", *packed).value();
}

HostProduct::HostProduct(const Problem& problem) : checked_(Check(problem).value()) {
  const Half& half = HalfOf(problem.dtype);
  const auto fill = [&half](const Storage& storage, int seed, std::vector<uint16_t>* data) {
    data->resize(static_cast<size_t>(storage.rows * storage.leading) + 16);
    for (size_t i = 0; i < data->size(); ++i) {
      (*data)[i] = half.to(static_cast<float>(static_cast<int>((i * 7 + i / 5) % 5) - seed));
    }
  };
  fill(checked_.storage[0], 1, &a_);
  fill(checked_.storage[1], 2, &b_);
  fill(checked_.storage[2], 0, &c_);
  ClearC();
}

Addresses HostProduct::addresses() const {
  const auto address = [](const auto& data) {
    return (reinterpret_cast<uint64_t>(data.data()) + 15) / 16 * 16;
  };
  Addresses addresses{address(a_), address(b_), address(c_), 0, workspace_bytes_};
  if (workspace_bytes_ > 0) {
    addresses.workspace = (reinterpret_cast<uint64_t>(workspace_.data()) + 255) / 256 * 256;
  }
  return addresses;
}

void HostProduct::UseWorkspace(size_t bytes) {
  workspace_.assign(bytes + 256, 0xee);
  workspace_bytes_ = bytes;
}

void HostProduct::ClearC() {
  for (uint16_t& bits : c_) bits = kPoison;
  auto* c = reinterpret_cast<uint16_t*>(addresses().c);
  const Storage& storage = checked_.storage[2];
  for (int64_t i = 0; i < storage.rows; ++i) {
    for (int64_t j = 0; j < storage.columns; ++j) {
      c[i * storage.leading + j] = HalfOf(checked_.problem.dtype).to(kBeforeC);
    }
  }
}

float HostProduct::Expected(int64_t row, int64_t column) const {
  const Problem& p = checked_.problem;
  const auto* a = reinterpret_cast<const uint16_t*>(addresses().a);
  const auto* b = reinterpret_cast<const uint16_t*>(addresses().b);
  const Half& half = HalfOf(p.dtype);
  float sum = 0;
  for (int64_t i = 0; i < p.k; ++i) {
    sum += half.from(p.transpose_a ? a[i * p.lda + row] : a[row * p.lda + i]) *
           half.from(p.transpose_b ? b[column * p.ldb + i] : b[i * p.ldb + column]);
  }
  return half.from(half.to(p.alpha * sum + (p.beta == 0 ? 0 : p.beta * kBeforeC)));
}

int64_t HostProduct::Wrong() const {
  const auto* c = reinterpret_cast<const uint16_t*>(addresses().c);
  const Storage& storage = checked_.storage[2];
  const Half& half = HalfOf(checked_.problem.dtype);
  int64_t wrong = 0;
  for (int64_t i = 0; i < storage.rows; ++i) {
    for (int64_t j = 0; j < storage.leading; ++j) {
      const uint16_t bits = c[i * storage.leading + j];
      const bool last_gap = i + 1 == storage.rows && j >= storage.columns;
      if (j < storage.columns) {
        wrong += half.from(bits) != Expected(i, j) ? 1 : 0;
      } else {
        wrong += !last_gap && bits != kPoison ? 1 : 0;
      }
    }
  }
  return wrong;
}

}  // namespace warpsmith::gemm_library::fake
