#include "judge/standalone/callee.h"

#include <dlfcn.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "core/program_shim.h"
#include "core/resolved_plan.h"
#include "cuda/module.h"
#include "cuda/plan/prepared_plan.h"

namespace warpsmith::standalone {
namespace {

namespace fs = std::filesystem;

Status CheckArchitecture(const StandaloneJob& job, const cuda::Context& context) {
  const std::string here = cuda::ArchitectureOf(context.device());
  if (job.architecture.empty() || job.architecture == here) return {};
  return Error{ErrorCode::kUnknownDevice,
               "stand-alone run: the image is for " + job.architecture + ", the device is " + here,
               "compile for " + here};
}

Result<Callee> KernelCallee(const StandaloneJob& job, const fs::path& dir,
                            const cuda::Context& context, const cuda::Stream& stream,
                            const Buffers& buffers) {
  const std::string image = TRY(ReadFile(ImagePath(dir)));
  auto module = std::make_shared<const cuda::Module>(TRY(cuda::Module::Load(image)));
  const int sm_count = context.device().sm_count;
  ResolvedPlan plan = TRY(Resolve(job.candidate.plan, job.task, job.workload.sizes, sm_count,
                                  plan::OccupancyOf(*module, sm_count)));
  const auto prepared = TRY(plan::PreparedPlan::Prepare(std::move(plan), module));
  auto bound = std::make_shared<const plan::BoundPlan>(TRY(prepared.Bind(buffers.bindings)));
  return Callee([bound, &stream] { return bound->Execute(stream); });
}

Error LoaderError(const fs::path& path, const char* call) {
  const char* words = dlerror();  // NOLINT(concurrency-mt-unsafe): one thread
  return Error{ErrorCode::kBadInput,
               path.string() + ": " + call + ": " + (words != nullptr ? words : "no reason given"),
               "compile the program again"};
}

Result<Callee> ProgramCallee(const fs::path& dir, const Buffers& buffers) {
  const fs::path path = ImagePath(dir);
  void* library = dlopen(fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return LoaderError(path, "dlopen");
  auto* entry = reinterpret_cast<void (*)(void* const*)>(dlsym(library, kProgramEntry));
  if (entry == nullptr) return LoaderError(path, "dlsym");
  std::vector<void*> tensors;
  for (const plan::Binding& binding : buffers.bindings) {
    tensors.push_back(reinterpret_cast<void*>(binding.address));
  }
  return Callee([entry, tensors = std::move(tensors)]() -> Status {
    entry(tensors.data());
    return {};
  });
}

}  // namespace

Result<Callee> MakeCallee(const StandaloneJob& job, const fs::path& dir,
                          const cuda::Context& context, const cuda::Stream& stream,
                          const Buffers& buffers) {
  TRY(CheckArchitecture(job, context));
  if (job.candidate.form == Form::kProgram) return ProgramCallee(dir, buffers);
  return KernelCallee(job, dir, context, stream, buffers);
}

}  // namespace warpsmith::standalone
