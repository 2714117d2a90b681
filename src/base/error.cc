#include "base/error.h"

#include <cstdlib>

namespace warpsmith {
namespace {

constexpr ErrorCodeRow kTable[] = {
    {ErrorCode::kAnswerIsNo, 1, "answer-is-no",
     "ran, but a result was wrong or a --fail-on condition held"},
    {ErrorCode::kUsage, 2, "usage", "the command line is off; nothing was run"},
    {ErrorCode::kBadInput, 65, "bad-input", "a task, plan, recording, store or size is malformed"},
    {ErrorCode::kNoInput, 66, "no-input", "a file that was named does not exist or cannot be read"},
    {ErrorCode::kUnknownDevice, 68, "unknown-device",
     "--gpu or --device names nothing that is here"},
    {ErrorCode::kUnavailable, 69, "unavailable",
     "no GPU, no driver, a driver too old, a library missing, or a server out of reach"},
    {ErrorCode::kInternal, 70, "internal", "a bug in warpsmith; please report it"},
    {ErrorCode::kNothingMeasured, 72, "nothing-measured", "the run ended with zero measured rows"},
    {ErrorCode::kNotRecorded, 73, "not-recorded",
     "a replay was asked for something that was never measured"},
    {ErrorCode::kIo, 74, "io", "reading or writing failed: disk full, permission, broken pipe"},
    {ErrorCode::kBusy, 75, "busy", "another process holds the device or the store; try again"},
    {ErrorCode::kVersion, 76, "version", "a file of a version that this program does not read"},
    {ErrorCode::kPermission, 77, "permission",
     "profiler counters or device nodes are not allowed to this user"},
    {ErrorCode::kConfig, 78, "config", "settings that contradict each other"},
    {ErrorCode::kAwaiting, 79, "awaiting",
     "answers are awaited from outside; everything was kept, run again when they are there"},
    {ErrorCode::kTimeout, 124, "timeout", "a time limit was reached before there was any answer"},
    {ErrorCode::kInterrupted, 130, "interrupted",
     "stopped by Ctrl-C; everything measured was kept"},
};

}  // namespace

std::span<const ErrorCodeRow> ErrorCodeTable() { return kTable; }

const ErrorCodeRow& Describe(ErrorCode code) {
  for (const ErrorCodeRow& row : kTable) {
    if (row.code == code) return row;
  }
  std::abort();
}

std::string Error::Line() const { return fix.empty() ? message : message + " (" + fix + ")"; }

}  // namespace warpsmith
