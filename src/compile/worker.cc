#include "compile/worker_compiler.h"

#include <chrono>
#include <filesystem>

#include "base/frame.h"
#include "compile/compilation.h"
#include "compile/cubin.h"
#include "compile/nvcc.h"
#include "cuda/failure.h"
#include "cuda/nvrtc.h"

namespace warpsmith::compile {
namespace {

constexpr std::chrono::hours kForever{24 * 365};

// NVRTC ran out of memory or crashed into an error of its own: the candidate's doing as a rule, yet
// another machine or limit may well compile it.
Result<Compiled> FromNvrtcError(const Error& error) {
  const auto failure = cuda::FailureFrom(error);
  if (!failure || failure->call != "nvrtcCompileProgram") return error;
  Compiled compiled;
  compiled.failure = failure->code;
  compiled.repeatable = false;
  return compiled;
}

// cuda_fp16.h and its like are no part of NVRTC, but of the toolkit (or the wheels) that it lies
// in: beside the library's folder. Empty where it came alone; including them fails as it should
// then.
std::string CudaHeaders(const std::filesystem::path& nvrtc) {
  const std::filesystem::path folder = nvrtc.parent_path().parent_path() / "include";
  std::error_code ignored;
  return std::filesystem::exists(folder / "cuda_fp16.h", ignored) ? folder.string() : "";
}

// NVRTC in this process.
Result<Compiled> CompileWithNvrtc(const Compilation& compilation, const Limits& limits) {
  const cuda::Nvrtc* nvrtc = TRY(cuda::Nvrtc::Open());
  cuda::NvrtcInput input;
  input.name = compilation.entry;
  input.options = compilation.flags;
  const std::string cuda_headers = CudaHeaders(nvrtc->path());
  if (!cuda_headers.empty()) input.options.push_back("--include-path=" + cuda_headers);
  for (const auto& [path, text] : compilation.sources) {
    if (path == compilation.entry) {
      input.source = text;
    } else {
      input.headers.emplace_back(path, text);
    }
  }
  auto output = nvrtc->Compile(input);
  if (!output.ok()) return FromNvrtcError(output.error());
  Compiled compiled;
  compiled.log = TidyLog(output->log, limits.output_bytes);
  compiled.failure = output->failure;
  if (output->cubin.size() > static_cast<size_t>(limits.image_bytes)) {
    compiled.failure = "the image of " + std::to_string(output->cubin.size()) +
                       " bytes is over the limit of " + std::to_string(limits.image_bytes);
  } else if (output->compiled) {
    compiled.writable_global_bytes = TRY(WritableGlobalBytes(output->cubin, output->ptx));
    compiled.image = std::move(output->cubin);
  }
  return compiled;
}

Result<Compiled> Answer(const Result<sandbox::Reached>& confined, std::string_view payload) {
  if (!confined.ok()) return confined.error();
  const auto [compilation, limits] = TRY(UnpackCompilation(payload));
  Compiled compiled = TRY(CompileWithNvrtc(compilation, limits));
  compiled.unconfined = Unconfined(*confined);
  return compiled;
}

}  // namespace

int CompileWorkerMain(int socket) {
  const auto confined = sandbox::Enter(NvrtcPolicy(socket));
  while (true) {
    const auto request = ReceiveFrame(socket, kForever);
    if (!request.ok()) return 0;  // our parent has closed: the only way this ends
    const auto compiled = Answer(confined, request->payload);
    const Status sent = compiled.ok()
                            ? SendFrame(socket, R"({"compiled":1})", PackCompiled(*compiled))
                            : SendFrame(socket, R"({"error":1})", compiled.error().Line());
    if (!sent.ok()) return 0;
  }
}

}  // namespace warpsmith::compile
