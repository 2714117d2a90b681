// What went wrong in the harness, and the process exit code it ends in.
//
// The table in error.cc is the only place where exit codes are named: the CLI, its help, the shell
// completion and docs/commands.md are all made from it.
#ifndef WARPSMITH_BASE_ERROR_H_
#define WARPSMITH_BASE_ERROR_H_

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace warpsmith {

enum class ErrorCode {
  kAnswerIsNo,       // ran, but wrong result or regression (--fail-on)
  kUsage,            // the command line is off
  kBadInput,         // malformed task, plan, recording, store, sizes
  kVersion,          // a file of a version this program does not read
  kNotRecorded,      // a replay was asked for something never measured
  kNoInput,          // a file that was named does not exist
  kUnavailable,      // no GPU, no driver, a driver older than the toolkit, no library, no server
  kUnknownDevice,    // --gpu names no device here
  kInternal,         // a bug of ours
  kIo,               // disk full, permission, broken pipe
  kBusy,             // another process holds the device or the store: try again
  kPermission,       // profiler counters, device nodes
  kConfig,           // settings that contradict each other
  kNothingMeasured,  // zero measured rows
  kAwaiting,         // somebody outside has yet to answer: run again when they have
  kTimeout,          // a limit the user gave was reached before any answer
  kInterrupted,      // Ctrl-C
};

struct ErrorCodeRow {
  ErrorCode code;
  int exit_status;
  std::string_view name;
  std::string_view meaning;
};

// All codes, by rising exit status.
std::span<const ErrorCodeRow> ErrorCodeTable();
const ErrorCodeRow& Describe(ErrorCode code);

// `message` says what was tried, on what, and what was found; `fix` what to do next (may be empty).
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string fix;

  // One line for a person: "message (fix)".
  std::string Line() const;
};

// The commonest error: what was read does not fit.
inline Error BadInput(std::string message, std::string fix = "") {
  return {ErrorCode::kBadInput, std::move(message), std::move(fix)};
}

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_ERROR_H_
