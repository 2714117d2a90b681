#include "gemm_library/library.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include "base/file.h"
#include "core/task.h"
#include "cuda/context.h"
#include "cuda/failure.h"
#include "cuda/guest.h"
#include "cuda/lt_product.h"
#include "cuda/plan/half_type.h"
#include "cuda/plan/prepared_plan.h"
#include "cuda/plan/steps.h"
#include "gemm_library/choice.h"
#include "gemm_library/pack.h"
#include "gemm_library/plan_cache.h"
#include "gemm_library/problem.h"

namespace warpsmith::gemm_library {

// A kernel's plan for one problem, ready to run.
class KernelPlan {
 public:
  // Loads nothing: `module` holds the kernel's image, in the current context. kBadInput where the
  // plan is not valid for the problem's sizes, or cannot take its leading dimensions.
  static Result<KernelPlan> Prepare(const PackKernel& kernel, const CheckedProblem& checked,
                                    std::shared_ptr<const cuda::Module> module, int sm_count);

  size_t workspace_bytes() const { return workspace_bytes_; }
  // `addresses` have passed CheckAddresses, hold so much workspace, and are 16-byte aligned.
  // Allocates nothing; thread-safe.
  Status Run(const Addresses& addresses, CUstream_st* stream) const;

 private:
  std::shared_ptr<const cuda::Module> module_;
  plan::Launches launches_;
  std::vector<plan::BoundStep> steps_;
  size_t workspace_bytes_ = 0;
};

// What a problem came to. Never changed once made.
struct Settled {
  CheckedProblem checked;
  // Nothing to multiply (no size, or k is 0), a kernel, or cuBLASLt.
  std::variant<std::monostate, KernelPlan, cuda::LtProduct> with;
  size_t workspace_bytes = 0;
  std::string name, reason;  // for Explain
};

namespace {

static_assert(kMostArguments <= plan::kMostPatchedArguments);

// What the steps' places count from: the order of the addresses that Run hands over.
constexpr int kWorkspaceBase = 3;

// The task whose tensors a plan speaks of, of dense matrices.
Task TaskOf(const PackKernel& kernel) {
  const auto size = [](const char* name) { return Expression::Literal(name); };
  const bool row_major_b = kernel.layout == hgemm::Layout::kNN;
  Task task;
  task.tensors = {{"A", kernel.dtype, Role::kInput, {size("M"), size("K")}},
                  {"B",
                   kernel.dtype,
                   Role::kInput,
                   {size(row_major_b ? "K" : "N"), size(row_major_b ? "N" : "K")}},
                  {"C", kernel.dtype, Role::kOutput, {size("M"), size("N")}}};
  return task;
}

// The matrices as the caller lays them out, and the plan's workspaces one after the other in the
// caller's; `workspace_bytes` becomes what they take.
plan::Memories MemoriesOf(const CheckedProblem& checked, const ResolvedPlan& resolved,
                          size_t& workspace_bytes) {
  plan::Memories memories;
  for (const int matrix : {0, 1, 2}) {
    const Storage& storage = checked.storage[static_cast<size_t>(matrix)];
    plan::Memory memory{{matrix, 0}, storage.bytes()};
    if (!storage.dense()) {
      memory.rows = static_cast<uint64_t>(storage.rows);
      memory.row_bytes = 2 * static_cast<uint64_t>(storage.columns);
      memory.pitch_bytes = 2 * static_cast<uint64_t>(storage.leading);
    }
    memories[std::string(1, "ABC"[matrix])] = memory;
  }
  workspace_bytes = 0;
  for (const ResolvedWorkspace& workspace : resolved.workspaces) {
    memories[workspace.name] = {{kWorkspaceBase, workspace_bytes}, workspace.bytes};
    workspace_bytes += (static_cast<uint64_t>(workspace.bytes) + kWorkspaceAlignment - 1) /
                       kWorkspaceAlignment * kWorkspaceAlignment;
  }
  return memories;
}

}  // namespace

Result<KernelPlan> KernelPlan::Prepare(const PackKernel& kernel, const CheckedProblem& checked,
                                       std::shared_ptr<const cuda::Module> module, int sm_count) {
  TRY(CanCarryOut(kernel.plan));
  const Problem& problem = checked.problem;
  const Sizes sizes = {{"M", problem.m}, {"N", problem.n}, {"K", problem.k}};
  const ResolvedPlan resolved = TRY(
      Resolve(kernel.plan, TaskOf(kernel), sizes, sm_count, plan::OccupancyOf(*module, sm_count)));
  KernelPlan made;
  made.module_ = std::move(module);
  made.launches_ = TRY(plan::PrepareLaunches(resolved, *made.module_));
  const plan::Memories memories = MemoriesOf(checked, resolved, made.workspace_bytes_);
  made.steps_ = TRY(plan::MakeSteps(resolved, made.launches_, {}, memories));
  return made;
}

Status KernelPlan::Run(const Addresses& addresses, CUstream_st* stream) const {
  const std::array<cuda::DevicePointer, 4> bases = {addresses.a, addresses.b, addresses.c,
                                                    addresses.workspace};
  return plan::RunSteps(steps_, bases, stream);
}

namespace {

constexpr uint64_t kKernelAlignment = 16;

// log2 of an address's alignment, from 0 to 4: what kernels and heuristics tell apart.
int AlignmentBits(uint64_t address) {
  return address == 0 ? 4 : std::min(4, std::countr_zero(address));
}

PlanKey KeyOf(const Problem& p, const Addresses& addresses) {
  PlanKey key;
  // Kernels are for alpha 1 and beta 0; cuBLASLt is handed both at each call. So of their values no
  // more than this decides what a problem comes to.
  const bool plain = p.alpha == 1 && p.beta == 0;
  const int64_t bits = static_cast<int64_t>(p.transpose_a) |
                       static_cast<int64_t>(p.transpose_b) << 1 | static_cast<int64_t>(plain) << 2 |
                       static_cast<int64_t>(p.dtype) << 3 |
                       static_cast<int64_t>(AlignmentBits(addresses.a)) << 8 |
                       static_cast<int64_t>(AlignmentBits(addresses.b)) << 11 |
                       static_cast<int64_t>(AlignmentBits(addresses.c)) << 14;
  key.words = {p.m, p.n, p.k, p.lda, p.ldb, p.ldc, static_cast<int64_t>(addresses.workspace_bytes),
               bits};
  return key;
}

// Addresses that stand for aligned ones where there are none yet.
Addresses Aligned(size_t workspace_bytes) {
  return {kKernelAlignment, kKernelAlignment, kKernelAlignment, kWorkspaceAlignment,
          workspace_bytes};
}

cuda::LtProductSpec SpecOf(const Problem& p) {
  return {
      p.m, p.n, p.k, p.transpose_a, p.transpose_b, p.lda, p.ldb, p.ldc, plan::HalfTypeOf(p.dtype)};
}

// C = beta C, where there is nothing to add.
Status ScaleOnly(const CheckedProblem& checked, float beta, const Addresses& addresses,
                 CUstream_st* stream) {
  if (checked.nothing || beta == 1) return {};
  const Storage& c = checked.storage[2];
  if (beta == 0) {
    return cuda::FillRowsAsync({addresses.c, static_cast<size_t>(2 * c.leading),
                                static_cast<size_t>(2 * c.columns), static_cast<size_t>(c.rows)},
                               0, stream);
  }
  return Error{ErrorCode::kUnavailable, "with k of 0, beta must be 0 or 1", ""};
}

Status Submit(const Settled& settled, const Problem& problem, const Addresses& addresses,
              CUstream_st* stream) {
  if (const auto* kernel = std::get_if<KernelPlan>(&settled.with)) {
    return kernel->Run(addresses, stream);
  }
  if (const auto* product = std::get_if<cuda::LtProduct>(&settled.with)) {
    return product->Run({problem.alpha, problem.beta, addresses.a, addresses.b, addresses.c,
                         addresses.workspace, addresses.workspace_bytes, stream});
  }
  return ScaleOnly(settled.checked, problem.beta, addresses, stream);
}

// What a thread's first call meets, where the thread has not touched CUDA before.
bool IsLackOfContext(const Error& error) {
  const auto failure = cuda::FailureFrom(error);
  return failure && failure->code == "CUDA_ERROR_INVALID_CONTEXT";
}

}  // namespace

struct Library::State {
  std::optional<Pack> pack;
  bool check_pointers = false;
  std::optional<cuda::Context> retained;  // where the caller had none
  CUctx_st* context = nullptr;
  cuda::DeviceProperties device;
  hgemm::Target target;
  std::string no_kernels;  // why none can be used; empty: they can

  PlanCache<Settled> cache;
  std::mutex mutex;                                               // of what follows
  std::map<size_t, std::shared_ptr<const cuda::Module>> modules;  // by index in the pack
  std::shared_ptr<const cuda::LtLibrary> lt;

  Status FindContext();
  Status EnterContext() const;
  Result<std::shared_ptr<const cuda::Module>> ModuleOf(size_t kernel);
  Result<std::shared_ptr<const cuda::LtLibrary>> LtOf();
  Result<Settled> Settle(const Problem& problem, const Addresses& addresses);
  Result<Settled> SettleKernel(const CheckedProblem& checked, size_t kernel,
                               const Addresses& addresses);
  Result<Settled> SettleLt(const CheckedProblem& checked, const Addresses& addresses,
                           const Chosen& chosen);
  Chosen ChooseFor(const CheckedProblem& checked, const Addresses& addresses) const;
  Status CheckMemory(const CheckedProblem& checked, const Addresses& addresses) const;
};

Status Library::State::FindContext() {
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  context = TRY(cuda::CurrentContext());
  if (context == nullptr) {
    retained.emplace(TRY(cuda::Context::Retain(TRY(driver->Properties(0)))));
    context = TRY(cuda::CurrentContext());
  }
  device = TRY(driver->Properties(TRY(cuda::CurrentDevice())));
  return {};
}

// A thread that has no context of its own gets the library's.
Status Library::State::EnterContext() const {
  CUctx_st* current = TRY(cuda::CurrentContext());
  if (current == context) return {};
  if (current == nullptr) return cuda::MakeCurrent(context);
  return Error{ErrorCode::kBadInput, "the current CUDA context is not the library's",
               "create a library in each context, or make the right one current"};
}

Result<std::shared_ptr<const cuda::Module>> Library::State::ModuleOf(size_t kernel) {
  const std::lock_guard lock(mutex);
  std::shared_ptr<const cuda::Module>& module = modules[kernel];
  if (module == nullptr) {
    const std::string image = TRY(Image(pack->kernels[kernel]));
    module = std::make_shared<const cuda::Module>(TRY(cuda::Module::Load(image)));
  }
  return module;
}

Result<std::shared_ptr<const cuda::LtLibrary>> Library::State::LtOf() {
  const std::lock_guard lock(mutex);
  if (lt == nullptr) lt = TRY(cuda::LtLibrary::Open());
  return lt;
}

Chosen Library::State::ChooseFor(const CheckedProblem& checked, const Addresses& addresses) const {
  if (!no_kernels.empty()) return {.reason = no_kernels};
  if ((addresses.a | addresses.b | addresses.c) % kKernelAlignment != 0) {
    return {.reason = "kernels are for addresses that are 16-byte aligned"};
  }
  return Choose(*pack, checked.problem, target);
}

Result<Settled> Library::State::SettleKernel(const CheckedProblem& checked, size_t kernel,
                                             const Addresses& addresses) {
  const PackKernel& wanted = pack->kernels[kernel];
  KernelPlan plan =
      TRY(KernelPlan::Prepare(wanted, checked, TRY(ModuleOf(kernel)), device.sm_count));
  const size_t needed = plan.workspace_bytes();
  if (needed > addresses.workspace_bytes) {
    return Error{ErrorCode::kBadInput,
                 "it needs a workspace of " + std::to_string(needed) + " bytes", ""};
  }
  return Settled{checked, std::move(plan), needed, PointName(wanted.point), ""};
}

Result<Settled> Library::State::SettleLt(const CheckedProblem& checked, const Addresses& addresses,
                                         const Chosen& chosen) {
  const auto library = TRY(LtOf());
  cuda::LtProduct product = TRY(cuda::LtProduct::Create(library, SpecOf(checked.problem)));
  const size_t limit = std::min(addresses.workspace_bytes, kMostLtWorkspaceBytes);
  const auto aligned = [](uint64_t address) { return uint32_t{1} << AlignmentBits(address); };
  std::string name = library->version() + ", its heuristic's";
  const bool dense = std::all_of(checked.storage.begin(), checked.storage.end(),
                                 [](const Storage& storage) { return storage.dense(); });
  bool taken = false;
  if (dense && !chosen.lt_algorithm.empty() && chosen.lt_version == library->version()) {
    const auto algorithm = cuda::LtAlgorithmFromHex(chosen.lt_algorithm);
    taken = algorithm.ok() && product.Take(*algorithm, limit).ok();
    if (taken) name = library->version() + ", the algorithm that was fastest when measured";
  }
  if (!taken) {
    TRY(product.Choose(limit, {aligned(addresses.a), aligned(addresses.b), aligned(addresses.c)}));
  }
  const size_t bytes = product.workspace_bytes();
  return Settled{checked, std::move(product), bytes, name, chosen.reason};
}

Result<Settled> Library::State::Settle(const Problem& problem, const Addresses& addresses) {
  const CheckedProblem checked = TRY(Check(problem));
  if (checked.nothing || problem.k == 0) {
    return Settled{checked, std::monostate(), 0, "nothing", "no products to add"};
  }
  TRY(EnterContext());
  const cuda::CaptureTolerance tolerance;  // modules are loaded here
  Chosen chosen = ChooseFor(checked, addresses);
  std::string passed_over;
  for (const size_t kernel : chosen.kernels) {
    auto settled = SettleKernel(checked, kernel, addresses);
    if (settled.ok()) {
      settled->reason = chosen.reason;
      return settled;
    }
    passed_over +=
        "; not " + PointName(pack->kernels[kernel].point) + ": " + settled.error().message;
  }
  chosen.reason += passed_over;
  auto settled = SettleLt(checked, addresses, chosen);
  if (settled.ok()) return settled;
  Error error = settled.error();
  error.message = Text(problem) + ": " + error.message + " (" + chosen.reason + ")";
  return error;
}

Status Library::State::CheckMemory(const CheckedProblem& checked,
                                   const Addresses& addresses) const {
  const bool reads = checked.problem.k != 0;
  for (const auto& [name, address, used] :
       {std::tuple("a", addresses.a, reads),
        {"b", addresses.b, reads},
        {"c", addresses.c, true},
        {"workspace", addresses.workspace, addresses.workspace_bytes > 0}}) {
    if (!used || cuda::MemoryBehind(address) == cuda::MemoryKind::kDevice) continue;
    return Error{ErrorCode::kBadInput, std::string(name) + " is no device memory",
                 "copy it to the GPU first"};
  }
  return {};
}

Library::Library(std::unique_ptr<State> state) : state_(std::move(state)) {}

Library::~Library() {
  // Modules leave in the context that they are in.
  if (state_->context != nullptr) (void)state_->EnterContext();
}

Result<std::unique_ptr<Library>> Library::Create(std::optional<Pack> pack, bool check_pointers) {
  auto state = std::make_unique<State>();
  state->pack = std::move(pack);
  state->check_pointers = check_pointers;
  TRY(state->FindContext());
  const std::string architecture = cuda::ArchitectureOf(state->device);
  state->target = {state->device.compute_capability(), state->device.sm_count,
                   state->device.max_shared_bytes_per_block};
  if (!state->pack) {
    state->no_kernels = "the library has no pack of kernels";
  } else if (state->pack->architecture != architecture) {
    state->no_kernels = "the pack's kernels are for " + state->pack->architecture + ", " +
                        state->device.name + " is " + architecture;
  }
  return std::unique_ptr<Library>(new Library(std::move(state)));
}

Status Library::Run(const Problem& problem, const Addresses& addresses, CUstream_st* stream) {
  const PlanKey key = KeyOf(problem, addresses);
  const Settled* settled = state_->cache.Find(key);
  std::optional<Settled> uncached;
  if (settled == nullptr) {
    uncached = TRY(state_->Settle(problem, addresses));
    settled = state_->cache.Insert(key, std::move(*uncached));
    if (settled == nullptr) settled = &*uncached;
  }
  if (settled->checked.nothing) return {};
  TRY(CheckAddresses(settled->checked, addresses));
  if (state_->check_pointers) TRY(state_->CheckMemory(settled->checked, addresses));
  Status submitted = Submit(*settled, problem, addresses, stream);
  // A thread without a context is found by the driver's refusal. To look at the context before
  // would cost every call.
  if (submitted.ok() || !IsLackOfContext(submitted.error())) return submitted;
  TRY(state_->EnterContext());
  return Submit(*settled, problem, addresses, stream);
}

Status Library::Prepare(const Problem& problem, size_t workspace_bytes) {
  const Addresses addresses = Aligned(workspace_bytes);
  const PlanKey key = KeyOf(problem, addresses);
  if (state_->cache.Find(key) != nullptr) return {};
  state_->cache.Insert(key, TRY(state_->Settle(problem, addresses)));
  return {};
}

Result<size_t> Library::Workspace(const Problem& problem) {
  constexpr size_t kPlenty = size_t{1} << 46;
  return TRY(state_->Settle(problem, Aligned(kPlenty))).workspace_bytes;
}

Result<std::string> Library::Explain(const Problem& problem, size_t workspace_bytes) {
  const Settled settled = TRY(state_->Settle(problem, Aligned(workspace_bytes)));
  return Text(problem) + ": " + settled.name + ", workspace " +
         std::to_string(settled.workspace_bytes) + " bytes; " + settled.reason;
}

std::optional<std::filesystem::path> PackPath(const std::string& named,
                                              const std::filesystem::path& folder) {
  if (!named.empty()) return named;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here calls setenv
  const char* variable = std::getenv("WARPSMITH_GEMM_PACK");
  if (variable != nullptr && *variable != '\0') return variable;
  const std::filesystem::path beside = folder / "warpsmith" / "gemm.wspack";
  std::error_code failure;
  if (std::filesystem::exists(beside, failure)) return beside;
  return std::nullopt;
}

Result<std::optional<Pack>> FindPack(const std::string& named,
                                     const std::filesystem::path& folder) {
  const auto path = PackPath(named, folder);
  if (!path) return std::optional<Pack>();
  return std::optional(TRY(ReadPack(path->string(), TRY(ReadFile(*path)))));
}

}  // namespace warpsmith::gemm_library
