#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>

#include "base/build_info.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/json_reader.h"
#include "commands.h"
#include "core/verdict.h"
#include "report/run_report.h"
#include "report/summary.h"
#include "report/terminal.h"

namespace warpsmith::cli {
namespace {

const KernelResources* Largest(const std::vector<KernelResources>& kernels) {
  const KernelResources* largest = nullptr;
  for (const KernelResources& kernel : kernels) {
    if (largest == nullptr || kernel.registers_per_thread > largest->registers_per_thread) {
      largest = &kernel;
    }
  }
  return largest;
}

template <typename Report>
Status WriteOut(const Report& report, const ReportFiles& files, bool json,
                const std::string& text) {
  if (!files.html.empty()) TRY(WriteFileAtomic(files.html, report::ToHtml(report)));
  if (!files.csv.empty()) TRY(WriteFileAtomic(files.csv, report::ToCsv(report)));
  const std::string document = JsonText(report::ToJson(report), 1) + "\n";
  if (!files.json.empty()) TRY(WriteFileAtomic(files.json, document));
  std::fputs((json ? document : text).c_str(), stdout);
  if (!json && !files.html.empty()) std::printf("report: %s\n", files.html.c_str());
  return {};
}

// Within 80 columns.
void PrintBuilt(const std::string& workload, const Artifact& artifact, const Evidence& recorded) {
  const KernelResources* here = Largest(artifact.kernels);
  std::printf("  %-30s %3d registers, %d spilled, %.0f ms, %s\n", workload.c_str(),
              here == nullptr ? 0 : here->registers_per_thread,
              here == nullptr ? 0 : here->spill_store_bytes, artifact.compile_ms,
              artifact.image_sha256 == recorded.artifact_sha256 ? "as measured" : "differs");
  std::fflush(stdout);
}

}  // namespace

std::string ExitCodesMarkdown() {
  std::string page =
      "# Exit codes\n\n"
      "Made by `warpsmith exit-codes`; a test holds this page to the program.\n\n"
      "| status | name | meaning |\n| --- | --- | --- |\n"
      "| 0 | ok | done; the answer is yes |\n";
  for (const ErrorCodeRow& row : ErrorCodeTable()) {
    page += "| " + std::to_string(row.exit_status) + " | " + std::string(row.name) + " | " +
            std::string(row.meaning) + " |\n";
  }
  return page +
         "\nWith `--json` an error is a document: "
         "`{\"schema\":\"warpsmith.error\",\"version\":1,\"error\":{\"code\",\"message\",\"fix\"}}`"
         ", "
         "its `code` being the name above.\n";
}

std::string ErrorJson(const Error& error) {
  const nlohmann::json document = {
      {"schema", "warpsmith.error"},
      {"version", 1},
      {"error",
       {{"code", Describe(error.code).name}, {"message", error.message}, {"fix", error.fix}}}};
  // A message may quote bytes of a file that are no text.
  return JsonText(document);
}

Status CompileWinners(search::Machine& machine, const std::vector<search::SearchEnd>& ends) {
  int built = 0, failed = 0;
  std::string toolchain;
  std::printf("\nthe winners, built here for %s:\n", machine.info().architecture.c_str());
  for (const search::SearchEnd& end : ends) {
    if (!end.winner) continue;
    const auto outcome =
        machine.compiler().Compile(end.winner->candidate, machine.info().architecture);
    if (!outcome.ok()) {
      std::printf("  not built: %s\n", outcome.error().Line().c_str());
      return {};
    }
    if (const auto* artifact = std::get_if<Artifact>(&*outcome)) {
      PrintBuilt(report::ShapeLabel(end.report), *artifact, end.winner->verdict.evidence);
      toolchain = artifact->toolchain;
      ++built;
    } else {
      std::printf("  %-30s %s\n", report::ShapeLabel(end.report).c_str(),
                  std::get<CompileFailed>(*outcome).reason.c_str());
      ++failed;
    }
  }
  std::printf("%d built by %s, %d failed\n", built, toolchain.c_str(), failed);
  return {};
}

std::string Document(std::string_view schema, nlohmann::json fields, int indent) {
  fields["schema"] = "warpsmith." + std::string(schema);
  fields["version"] = 1;
  return JsonText(fields, indent);
}

void PrintDocument(std::string_view schema, nlohmann::json fields) {
  std::printf("%s\n", Document(schema, std::move(fields), 1).c_str());
}

int StatusNow() { return Interrupted() ? Describe(ErrorCode::kInterrupted).exit_status : 0; }

void SayOrigin(search::Machine& machine, const search::CommonOptions& common, bool has_answered) {
  if (common.quiet || (machine.recorded() != nullptr) != has_answered) return;
  std::fprintf(stderr, "%s\n", machine.notice().c_str());
}

report::Origin OriginOf(search::Machine& machine, const std::vector<search::SearchEnd>& ends,
                        const std::string& command) {
  report::Origin origin;
  origin.device = machine.info().name;
  origin.driver = machine.info().driver;
  origin.command = command;
  origin.program = "warpsmith " + build_info::VersionText();
  if (machine.recorded() != nullptr) origin.recording = machine.info().origin;
  for (const search::SearchEnd& end : ends) {
    if (!end.winner) continue;
    const Evidence& evidence = end.winner->verdict.evidence;
    origin.toolkit = evidence.toolchain;
    origin.baseline_library = evidence.baseline_library;
    origin.date = std::max(origin.date, evidence.date);
  }
  return origin;
}

Status Publish(const report::RunReport& report, const ReportFiles& files, bool json) {
  if (report.shapes.empty() && Interrupted()) {
    return Error{ErrorCode::kInterrupted, "stopped before anything was measured", "start it again"};
  }
  if (report.shapes.empty()) {
    return Error{ErrorCode::kNothingMeasured, "no shape was measured: there is nothing to report",
                 "raise the budget or --max-seconds, or look at the errors above"};
  }
  return WriteOut(report, files, json,
                  report::RenderReport(report, report::StyleOf(STDOUT_FILENO)));
}

Status Publish(const report::RunComparison& comparison, const ReportFiles& files, bool json) {
  return WriteOut(comparison, files, json,
                  report::RenderComparison(comparison, report::StyleOf(STDOUT_FILENO).colour));
}

void PrintDryRun(const std::vector<hgemm::PlannedSearch>& rows, bool json) {
  double seconds = 0;
  for (const hgemm::PlannedSearch& row : rows) seconds += row.seconds;
  if (json) {
    nlohmann::json list = nlohmann::json::array();
    for (const hgemm::PlannedSearch& row : rows) {
      list.push_back({{"job", row.label},
                      {"configurations", row.configurations},
                      {"evaluations", row.evaluations}});
    }
    PrintDocument("dry-run", {{"jobs", list}, {"estimated_seconds", seconds}});
    return;
  }
  for (const hgemm::PlannedSearch& row : rows) {
    std::printf("%-24s %6zu configurations, %6ld evaluations\n", row.label.c_str(),
                row.configurations, static_cast<long>(row.evaluations));
  }
  std::printf("about %s in all; nothing was run\n", report::DurationText(seconds).c_str());
}

Result<int> ExitStatus(const report::RunReport& report, const std::string& fail_on) {
  const report::Tally tally = report::TallyOf(report, std::nullopt);
  for (size_t begin = 0; begin < fail_on.size();) {
    const size_t end = std::min(fail_on.find(',', begin), fail_on.size());
    const std::string condition = fail_on.substr(begin, end - begin);
    begin = end + 1;
    if (condition == "regression") {
      if (tally.slower + tally.nothing_passed > 0) return 1;
    } else if (condition == "incorrect") {
      for (const report::ShapeReport& shape : report.shapes) {
        for (const report::FailureCount& failure : shape.failures) {
          if (failure.kind == "incorrect") return 1;
        }
      }
    } else if (condition != "never") {
      return Error{ErrorCode::kUsage, "--fail-on '" + condition + "' is not known",
                   "write regression, incorrect or never, separated by commas"};
    }
  }
  return 0;
}

}  // namespace warpsmith::cli
