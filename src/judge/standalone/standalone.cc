#include "judge/standalone/standalone.h"

#include <charconv>
#include <cstdio>
#include <optional>

#include "base/file.h"
#include "cuda/context.h"
#include "cuda/driver.h"
#include "cuda/profiler_window.h"
#include "cuda/stream.h"
#include "cuda/visible_device.h"
#include "judge/standalone/activity_tracer.h"
#include "judge/standalone/buffers.h"
#include "judge/standalone/callee.h"
#include "judge/standalone/job.h"

namespace warpsmith::standalone {
namespace {

namespace fs = std::filesystem;

Error Usage(const std::string& what) {
  return Error{ErrorCode::kUsage, std::string(kStandaloneSubcommand) + ": " + what,
               "DIR [--runs N] [--profile-window] [--activity FILE] [--gpu UUID]"};
}

Result<int> RunsFrom(const std::string& text) {
  int runs = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, runs);
  if (parsed.ec != std::errc() || parsed.ptr != end || runs < 1 || runs > kMaxStandaloneRuns) {
    return Usage("--runs is '" + text + "', must be from 1 to " +
                 std::to_string(kMaxStandaloneRuns));
  }
  return runs;
}

// Reads the value of the option at `*at`.
Result<std::string> ValueOf(const std::vector<std::string>& arguments, size_t* at) {
  if (*at + 1 >= arguments.size()) return Usage(arguments[*at] + " needs a value");
  return arguments[++*at];
}

// One call and the wait for it, stamped where a tracer watches.
Status CallOnce(const Callee& callee, const cuda::Context& context, ActivityTracer* tracer) {
  if (tracer != nullptr) tracer->CallBegins();
  TRY(callee());
  if (tracer != nullptr) tracer->CallReturned();
  TRY(context.Synchronize());
  if (tracer != nullptr) tracer->DeviceIdle();
  return {};
}

Status CallAll(const StandaloneOptions& options, const Callee& callee, const cuda::Context& context,
               CUstream_st* stream) {
  std::optional<ActivityTracer> tracer;
  if (!options.activity.empty()) tracer.emplace(stream);
  if (options.profile_window) {
    TRY(CallOnce(callee, context, nullptr));
    TRY(cuda::OpenProfilerWindow());
  }
  for (int run = 0; run < options.runs; ++run) {
    TRY(CallOnce(callee, context, tracer ? &*tracer : nullptr));
  }
  if (options.profile_window) TRY(cuda::CloseProfilerWindow());
  if (tracer) TRY(WriteFileAtomic(options.activity, ActivityLogToText(tracer->Finish())));
  return {};
}

}  // namespace

Result<StandaloneOptions> ParseStandaloneOptions(const std::vector<std::string>& arguments) {
  StandaloneOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--runs") {
      options.runs = TRY(RunsFrom(TRY(ValueOf(arguments, &i))));
    } else if (word == "--profile-window") {
      options.profile_window = true;
    } else if (word == "--activity") {
      options.activity = TRY(ValueOf(arguments, &i));
    } else if (word == "--gpu") {
      options.device_uuid = TRY(ValueOf(arguments, &i));
    } else if (!word.starts_with("-") && options.dir.empty()) {
      options.dir = word;
    } else {
      return Usage("unexpected '" + word + "'");
    }
  }
  if (options.dir.empty()) return Usage("no folder was named");
  return options;
}

Status RunStandalone(const StandaloneOptions& options) {
  std::error_code ignored;
  fs::remove(FinishedPath(options.dir), ignored);  // of an earlier run
  const StandaloneJob job = TRY(ReadStandaloneJob(options.dir));
  cuda::SeeOnlyDevice(options.device_uuid);
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  const cuda::DeviceProperties device = TRY(driver->FindDevice(options.device_uuid));
  const cuda::Context context = TRY(cuda::Context::Retain(device, cuda::HostWait::kBlock));
  const cuda::Stream stream = TRY(cuda::Stream::Create());
  const Buffers buffers = TRY(MakeBuffers(job, options.dir));
  const Callee callee = TRY(MakeCallee(job, options.dir, context, stream, buffers));
  const bool program = job.candidate.form == Form::kProgram;  // which works on streams of its own
  TRY(CallAll(options, callee, context, program ? nullptr : stream.handle()));
  return WriteFileAtomic(FinishedPath(options.dir), std::to_string(options.runs) + "\n");
}

int StandaloneMain(const std::vector<std::string>& arguments) {
  const Status ran = [&]() -> Status {
    return RunStandalone(TRY(ParseStandaloneOptions(arguments)));
  }();
  if (ran.ok()) return 0;
  std::fprintf(stderr, "warpsmith: %s\n", ran.error().Line().c_str());
  return Describe(ran.error().code).exit_status;
}

}  // namespace warpsmith::standalone
