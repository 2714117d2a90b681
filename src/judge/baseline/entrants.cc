#include "judge/baseline/entrants.h"

#include <set>
#include <utility>

#include <dlfcn.h>
#include <warpsmith/gemm.h>
#include <warpsmith/rival.h>

#include "cuda/cublas.h"
#include "cuda/cublaslt.h"
#include "cuda/memory.h"

namespace warpsmith::baseline {
namespace {

class List {
 public:
  List(const GemmBaselineName& name, std::string library)
      : name_(name), library_(std::move(library)) {}

  void Add(const cuda::GemmShape& shape, std::optional<cuda::LtAlgorithm> algorithm,
           bool exhaustive = false) {
    GemmBaselineChoice choice;
    choice.name = name_;
    choice.shape = shape;
    choice.algorithm = std::move(algorithm);
    choice.library = library_;
    choice.exhaustive = exhaustive;
    choices_.push_back(std::move(choice));
  }

  std::vector<GemmBaselineChoice> Take() { return DistinctCalls(std::move(choices_)); }

 private:
  const GemmBaselineName& name_;
  const std::string library_;
  std::vector<GemmBaselineChoice> choices_;
};

Status AddLt(const cuda::GemmShape& shape, int algorithms, const EntrantOptions& options,
             List& list) {
  const cuda::LtMatmul matmul = TRY(cuda::LtMatmul::Create(shape));
  for (cuda::LtAlgorithm& algorithm : TRY(matmul.Heuristic({.algorithms = algorithms,
                                      .workspace_bytes = kLibraryWorkspaceBytes,
                                      .alignment_bytes = options.alignment_bytes}))) {
    list.Add(shape, algorithm);
  }
  return {};
}

Status AddEvery(const cuda::GemmShape& shape, double seconds, List& list) {
  const cuda::LtMatmul matmul = TRY(cuda::LtMatmul::Create(shape));
  for (cuda::LtAlgorithm& algorithm : TRY(matmul.EveryAlgorithm(kLibraryWorkspaceBytes, seconds))) {
    list.Add(shape, algorithm, true);
  }
  return {};
}

}  // namespace

Result<std::vector<GemmBaselineChoice>> Entrants(const GemmBaselineName& name,
                                                 const GemmProblem& problem,
                                                 const EntrantOptions& options) {
  CHECK(name.library != GemmLibrary::kThirdParty);
  const bool is_cublas = name.library == GemmLibrary::kCublas;
  const bool is_auto = name.library == GemmLibrary::kLtAuto;
  const bool is_bar = is_auto && !name.layout;
  List list(name, TRY(is_cublas ? cuda::CublasVersion() : cuda::CublasLtVersion()));
  std::vector<cuda::GemmShape> shapes;
  for (const cuda::GemmLayout layout : {cuda::GemmLayout::kNN, cuda::GemmLayout::kTN}) {
    if (name.layout && *name.layout != layout) continue;
    shapes.push_back({problem.m, problem.n, problem.k, layout, problem.type});
  }
  for (const cuda::GemmShape& shape : shapes) {
    if (!is_cublas) TRY(AddLt(shape, is_auto ? options.algorithms : 1, options, list));
    if (is_cublas || (is_bar && cuda::CublasVersion().ok())) list.Add(shape, {});
  }
  if (is_auto && options.exhaustive_seconds > 0) {
    const double seconds = options.exhaustive_seconds / static_cast<double>(shapes.size());
    for (const cuda::GemmShape& shape : shapes) TRY(AddEvery(shape, seconds, list));
  }
  return list.Take();
}

std::vector<GemmBaselineChoice> DistinctCalls(std::vector<GemmBaselineChoice> entrants) {
  std::set<std::string> calls;
  std::erase_if(entrants, [&](const GemmBaselineChoice& entrant) {
    return !calls.insert(CallOf(entrant)).second;
  });
  return entrants;
}

namespace {

constexpr char kFix[] = "include/warpsmith/rival.h says what such a library exports";

Error BadLibrary(const std::string& path, const std::string& what) {
  return {ErrorCode::kBadInput, "library " + path + ": " + what, kFix};
}

// Never closed: CUDA code does not survive it.
Result<void*> Open(const std::string& path) {
  if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is per thread
  return BadLibrary(path, reason != nullptr ? reason : "could not be opened");
}

template <typename Function>
Function FindFunction(void* handle, const char* name, Function /*as*/) {
  return reinterpret_cast<Function>(dlsym(handle, name));
}

void* Pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

struct Operands {
  void *a = nullptr, *b = nullptr, *c = nullptr;
};

Result<Operands> ThirdPartyOperandsOf(std::span<const plan::Binding> bindings) {
  Operands operands;
  for (const plan::Binding& binding : bindings) {
    if (binding.tensor == "A") operands.a = Pointer(binding.address);
    if (binding.tensor == "B") operands.b = Pointer(binding.address);
    if (binding.tensor == "C") operands.c = Pointer(binding.address);
  }
  if (operands.a != nullptr && operands.b != nullptr && operands.c != nullptr) return operands;
  return Error{ErrorCode::kBadInput, "a library's product needs the tensors A, B and C", ""};
}

// ---- warpsmith/rival.h ----

using ThirdPartyEntry = decltype(&warpsmith_rival_gemm);

ThirdPartyEntry FindEntry(void* handle, const std::string& name, cuda::HalfType type) {
  const bool is_bf16 = type == cuda::HalfType::kBF16;
  return FindFunction(handle, (name + (is_bf16 ? "_bf16" : "")).c_str(), ThirdPartyEntry());
}

Result<plan::TimedCallable> FromEntry(const std::string& path, void* handle, ThirdPartyEntry entry,
                                      const cuda::GemmShape& shape) {
  const ThirdPartyEntry prepare = FindEntry(handle, "warpsmith_rival_prepare", shape.type);
  auto prepared = std::make_shared<bool>(prepare == nullptr);
  return plan::TimedCallable{
      path, [=](const cuda::Stream& stream, std::span<const plan::Binding> bindings) -> Status {
        const Operands at = TRY(ThirdPartyOperandsOf(bindings));
        const int transpose_b = shape.layout == cuda::GemmLayout::kTN ? 1 : 0;
        if (!*prepared) {
          if (prepare(shape.m, shape.n, shape.k, transpose_b, at.a, at.b, at.c, stream.handle()) !=
              0) {
            return BadLibrary(path, "warpsmith_rival_prepare has no kernel for this product");
          }
          *prepared = true;
        }
        const int result =
            entry(shape.m, shape.n, shape.k, transpose_b, at.a, at.b, at.c, stream.handle());
        if (result == 0) return {};
        return BadLibrary(path, "warpsmith_rival_gemm gave " + std::to_string(result) +
                                    ": no kernel for this product");
      }};
}

// ---- warpsmith/gemm.h ----

struct OpenedLibrary {
  decltype(&warpsmith_gemm_create) create = nullptr;
  decltype(&warpsmith_gemm_destroy) destroy = nullptr;
  decltype(&warpsmith_gemm_workspace) workspace = nullptr;
  decltype(&warpsmith_gemm_run) run = nullptr;
  decltype(&warpsmith_gemm_last_error) last_error = nullptr;
  warpsmith_gemm* library = nullptr;
  warpsmith_gemm_problem problem{};
  cuda::DeviceBuffer memory;

  ~OpenedLibrary() {
    if (library != nullptr) destroy(library);
  }
};

Result<plan::TimedCallable> FromGemmLibrary(const std::string& path, void* handle,
                                            const cuda::GemmShape& shape) {
  auto state = std::make_shared<OpenedLibrary>();
  state->create = FindFunction(handle, "warpsmith_gemm_create", state->create);
  state->destroy = FindFunction(handle, "warpsmith_gemm_destroy", state->destroy);
  state->workspace = FindFunction(handle, "warpsmith_gemm_workspace", state->workspace);
  state->run = FindFunction(handle, "warpsmith_gemm_run", state->run);
  state->last_error = FindFunction(handle, "warpsmith_gemm_last_error", state->last_error);
  if (state->create == nullptr || state->destroy == nullptr || state->workspace == nullptr ||
      state->run == nullptr || state->last_error == nullptr) {
    return BadLibrary(path, "it exports neither warpsmith_rival_gemm nor all of warpsmith/gemm.h");
  }
  const int transpose_b = shape.layout == cuda::GemmLayout::kTN ? 1 : 0;
  state->problem = warpsmith_gemm_dense(shape.m, shape.n, shape.k, 0, transpose_b);
  state->problem.dtype =
      shape.type == cuda::HalfType::kBF16 ? WARPSMITH_GEMM_BF16 : WARPSMITH_GEMM_F16;
  size_t bytes = 0;
  if (state->create(nullptr, &state->library) != WARPSMITH_GEMM_OK ||
      state->workspace(state->library, &state->problem, &bytes) != WARPSMITH_GEMM_OK) {
    return BadLibrary(path, state->last_error());
  }
  if (bytes > 0) state->memory = TRY(cuda::DeviceBuffer::Allocate(bytes));
  return plan::TimedCallable{
      path, [=](const cuda::Stream& stream, std::span<const plan::Binding> bindings) -> Status {
        const Operands at = TRY(ThirdPartyOperandsOf(bindings));
        const auto status =
            state->run(state->library, &state->problem, at.a, at.b, at.c,
                       Pointer(state->memory.address()), state->memory.bytes(), stream.handle());
        return status == WARPSMITH_GEMM_OK ? Status()
                                           : Status(BadLibrary(path, state->last_error()));
      }};
}

}  // namespace

Result<std::string> ThirdPartyVersion(const std::string& path) {
  void* handle = TRY(Open(path));
  const auto version =
      FindFunction(handle, "warpsmith_gemm_version", decltype (&warpsmith_gemm_version)());
  return version == nullptr ? path : "libwarpsmith_gemm " + std::string(version());
}

Result<plan::TimedCallable> MakeThirdParty(const std::string& path, const cuda::GemmShape& shape) {
  void* handle = TRY(Open(path));
  const ThirdPartyEntry entry = FindEntry(handle, "warpsmith_rival_gemm", shape.type);
  if (entry != nullptr) return FromEntry(path, handle, entry, shape);
  if (FindEntry(handle, "warpsmith_rival_gemm", cuda::HalfType::kF16) != nullptr) {
    return BadLibrary(path, "it multiplies FP16 only: it exports no warpsmith_rival_gemm_bf16");
  }
  return FromGemmLibrary(path, handle, shape);
}

}  // namespace warpsmith::baseline
