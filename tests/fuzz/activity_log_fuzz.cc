// Records of device activity, written inside a candidate's own process.
#include "fuzz.h"
#include "judge/audit/audit.h"
#include "judge/standalone/run_folder.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto log = standalone::ActivityLogFromText("input", fuzz::TextOf(data, size));
  if (fuzz::ValueOf(log) == nullptr) return 0;
  const std::string written = standalone::ActivityLogToText(*log);
  const auto again = standalone::ActivityLogFromText("written", written);
  CHECK(again.ok() && standalone::ActivityLogToText(*again) == written);
  audit::JudgeActivity(*log, {Form::kKernel, {"own"}, {}});
  audit::JudgeActivity(*log, {Form::kProgram, {}, {"cublas"}});
  const auto times = audit::TimesPerCall(*log);
  if (times) CHECK(times->busy_us >= 0);
  return 0;
}
