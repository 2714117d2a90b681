// The subcommands. Each returns the process's exit status, or the Error that decides it.
#ifndef WARPSMITH_TOOLS_COMMANDS_H_
#define WARPSMITH_TOOLS_COMMANDS_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/protocol.h"
#include "options.h"

namespace warpsmith::cli {

Result<int> RunDoctor(const DoctorOptions& options);
Result<int> RunDemo(const DemoOptions& options);
Result<int> RunHgemmTune(const TuneOptions& options);
Result<int> RunHgemmBench(const hgemm::BenchOptions& options);
Result<int> RunHgemmVerify(const hgemm::VerifyOptions& options);
Result<int> RunHgemmShow(const ShowOptions& options);
Result<int> RunHgemmFeatures(const FeaturesOptions& options);
Result<int> RunOptimize(const OptimizeOptions& options);
Result<int> RunEvaluate(const EvaluateOptions& options);
Result<int> RunProfile(const ProfileOptions& options);
Result<int> RunCompare(const CompareOptions& options);
Result<int> RunRecording(const hgemm::RecordOptions& options);
Result<int> RunBundleMake(const BundleOptions& options);
Result<int> RunBundleRun(const BundleOptions& options);
Result<int> RunBundleTake(const BundleOptions& options);
Result<int> RunReport(const ReportOptions& options);
Result<int> RunExport(const ExportOptions& options);
Result<int> RunTaskImport(const TaskImportOptions& options);

Result<int> RunCatalogueMake(const CatalogueOptions& options);
Result<int> RunCatalogueMerge(const CatalogueOptions& options);
Result<int> RunCatalogueCheck(const CatalogueOptions& options);
Result<int> RunCatalogueGuard(const CatalogueOptions& options);
Result<int> RunCataloguePage(const CatalogueOptions& options);
Result<int> RunHgemmBuild(const hgemm::BuildOptions& options);
Result<int> RunHgemmAudit(const hgemm::AuditOptions& options);
Result<int> RunKnowledgeShow(const KnowledgeOptions& options);
Result<int> RunKnowledgeMerge(const KnowledgeOptions& options);   // into the base
Result<int> RunKnowledgeImport(const KnowledgeOptions& options);  // the same; the base is new
Result<int> RunKnowledgeDiff(const KnowledgeOptions& options);    // 1 where they differ
Result<int> RunKnowledgeExport(const KnowledgeOptions& options);  // "-": stdout
Result<int> RunKnowledgeVerify(const KnowledgeOptions& options);
Result<int> RunTaskInit(const TaskInitOptions& options);
// 1 where the task is refused.
Result<int> RunTaskCheck(const TaskCheckOptions& options);
Result<int> RunTaskSplit(const agent::TaskSplitOptions& options);
Result<int> RunStoreCheck(const StoreOptions& options);   // 1 where something is damaged
Result<int> RunStoreRepair(const StoreOptions& options);  // 1 where something was lost
Result<int> RunMcp(const McpOptions& options);
// Of --proposer agent: a language model writes the kernels.
Result<int> RunAgent(const OptimizeOptions& options);
// Each of options.runs is a side: the run of that name, and every run below it ("name/...").
Result<int> CompareStoredRuns(const ReportOptions& options);
Protocol ProtocolOf(const EvaluateOptions& options);

// Under options.many, every folder with a task.toml is a task, and every candidate.toml below it a
// candidate of it (a folder named "current" or "reference" is none). What cannot be loaded is a row
// of the table, not the end. Verdicts go into the store, so that a second run goes on where the
// first one stopped.
Result<int> RunEvaluateMany(const EvaluateOptions& options);

// A document of --json as text; bytes that are no text are replaced. `indent` -1: one line.
std::string Document(std::string_view schema, nlohmann::json fields, int indent);
// The one document that --json puts on stdout.
void PrintDocument(std::string_view schema, nlohmann::json fields);
// That of an interrupted call, else 0.
int StatusNow();

// docs/commands.md, from the table in base/error.cc.
std::string ExitCodesMarkdown();
std::string ErrorJson(const Error& error);  // the document of --json, in one line

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_COMMANDS_H_
