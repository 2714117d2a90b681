// The subcommands. Each returns the process's exit status, or the Error that decides it.
#ifndef WARPSMITH_TOOLS_COMMANDS_H_
#define WARPSMITH_TOOLS_COMMANDS_H_

#include <string>

#include "base/result.h"
#include "options.h"

namespace warpsmith::cli {

Result<int> RunDoctor(const DoctorOptions& options);
Result<int> RunDemo(const DemoOptions& options);
Result<int> RunHgemmTune(const TuneOptions& options);
Result<int> RunHgemmBench(const BenchOptions& options);
Result<int> RunHgemmVerify(const VerifyOptions& options);
Result<int> RunHgemmShow(const ShowOptions& options);
Result<int> RunHgemmFeatures(const FeaturesOptions& options);
Result<int> RunOptimize(const OptimizeOptions& options);
Result<int> RunEvaluate(const EvaluateOptions& options);
Result<int> RunProfile(const ProfileOptions& options);
Result<int> RunCompare(const CompareOptions& options);
Result<int> RunRecording(const RecordOptions& options);
Result<int> RunBundleMake(const BundleOptions& options);
Result<int> RunBundleRun(const BundleOptions& options);
Result<int> RunBundleTake(const BundleOptions& options);
Result<int> RunReport(const ReportOptions& options);
Result<int> RunExport(const ExportOptions& options);
Result<int> RunTaskImport(const TaskImportOptions& options);

// docs/commands.md, from the table in util/error.cc.
std::string ExitCodesMarkdown();
std::string ErrorJson(const Error& error);  // the document of --json, in one line

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_COMMANDS_H_
