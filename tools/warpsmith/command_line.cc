#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "agent/split/composition.h"
#include "base/build_info.h"
#include "base/caught.h"
#include "base/display_text.h"
#include "base/interrupt.h"
#include "command_tree.h"
#include "commands.h"
#include "compile/worker_compiler.h"
#include "core/device.h"
#include "judge/program_session.h"
#include "judge/runner.h"
#include "judge/standalone/standalone.h"

namespace warpsmith::cli {

void AddOwnDevice(CLI::App* command, search::DeviceOptions& device) {
  command
      ->add_option("--device", device.device,
                   "auto, local, recorded, a .wsrec file, a folder, a bundle, or http://HOST:PORT")
      ->capture_default_str();
  command->add_option("--gpu", device.gpu, "GPU by UUID (or its beginning) or index");
  command->add_option("--store", device.store, "results database: a file, or postgresql://...");
  command
      ->add_option(
          "--wait", device.wait_seconds,
          "seconds to wait while another process measures on the GPU; who waits takes turns")
      ->check(CheckWholeNumber);
  command->add_flag("--unsandboxed", device.unsandboxed,
                    "run programs with all that you may do; for code that you trust");
}

void AddDevice(CLI::App* command, search::DeviceOptions& device) {
  AddOwnDevice(command, device);
  command->add_option("--token-file", device.token_file,
                      "a file with the token that the server of --device asks for");
  command->add_flag("--plain-http", device.plain_http,
                    "allow http:// to other machines, where others can read what is sent");
}

void AddPace(CLI::App* command, search::PaceOptions& pace) {
  command->add_option("--max-seconds", pace.max_seconds, "stop by itself after so long, resumably")
      ->check(CheckSeconds);
  command->add_option("--slice", pace.slice, "i/n: the i-th of n parts")->capture_default_str();
}

void AddDType(CLI::App* command, hgemm::ProductOptions& product,
              const std::vector<std::string>& values) {
  command->add_option("--dtype", product.dtype, "of A, B and C; sums are FP32")
      ->check(CLI::IsMember(values))
      ->capture_default_str();
}

void AddProduct(CLI::App* command, hgemm::ProductOptions& product) {
  command->add_option("--layout", product.layout, "of B: NN row-major, TN column-major")
      ->check(CLI::IsMember({"NN", "TN"}))
      ->capture_default_str();
  AddDType(command, product);
}

void AddSearch(CLI::App* command, search::SearchOptions& search,
               const std::vector<std::string>& proposers) {
  command->add_option("--proposer", search.proposer, "where candidates come from")
      ->check(CLI::IsMember(proposers))
      ->capture_default_str();
  command->add_option("--budget", search.budget, "evals=N,gpu=30s,time=10m,tokens=N,money=N")
      ->capture_default_str();
  command->add_option("--seed", search.seed, "of the proposer's random streams")
      ->check(CheckWholeNumber)
      ->capture_default_str();
  command->add_option("--batch", search.batch, "proposals a generation")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--finalists", search.finalists, "re-judged as certified on fresh data")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  command->add_option("--reward", search.reward,
                      "what kernels are chosen by: form=raw|eq3|smoothed|ordinal|log,alpha=,beta=,"
                      "clip=; default: the ratio alone (form=raw)");
  command->add_flag("--paper-protocol", search.paper_protocol,
                    "certify by CUDA-L2's 10 s warm-up and 30 s of timing");
  CLI::Option* run = command->add_option("--run", search.run, "name of the run");
  command->add_option("--resume", search.resume, "go on with this run")->excludes(run);
  command->add_option("--fail-on", search.fail_on, "regression, incorrect: exit 1 when one occurs")
      ->check(CheckFailOn);
  command->add_flag("--dry-run", search.dry_run, "say what would be done and how long it takes");
}

void AddReportFiles(CLI::App* command, ReportFiles& files) {
  command->add_option("--html", files.html, "write the report here")->check(CheckOutputFile);
  command->add_option("--csv", files.csv, "write the table here")->check(CheckOutputFile);
  command->add_option("--json-file", files.json, "write the report as JSON here")
      ->check(CheckOutputFile);
}

void AddTuneLike(CLI::App* command, TuneOptions& options) {
  AddDevice(command, options.device);
  AddPace(command, options.pace);
  AddSearch(command, options.search);
  AddReportFiles(command, options.files);
  AddProduct(command, options.product);
}

namespace {

void AddPages(CLI::App& app, SelectedCommand& chosen) {
  app.add_subcommand("exit-codes", "what each exit status means, as Markdown")->callback([&chosen] {
    chosen.run = []() -> Result<int> {
      std::fputs(ExitCodesMarkdown().c_str(), stdout);
      return 0;
    };
  });
  app.add_subcommand("man", "the manual page, for man(1)")->callback([&app, &chosen] {
    chosen.run = [&app]() -> Result<int> {
      std::fputs(ManualPage(app, "warpsmith " + build_info::VersionText()).c_str(), stdout);
      return 0;
    };
  });
  CLI::App* completion = app.add_subcommand("completion", "a shell's completion script");
  auto shell = std::make_shared<std::string>();
  completion->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&app, &chosen, shell] {
    chosen.run = [&app, shell]() -> Result<int> {
      std::fputs(CompletionScript(app, *shell).c_str(), stdout);
      return 0;
    };
  });
}

void AddAll(CLI::App& app, SelectedCommand& chosen) {
  app.require_subcommand(1);
  app.set_version_flag("--version", "warpsmith " + build_info::VersionText());
  app.footer("First: 'warpsmith doctor' says what is here. Exit statuses: 'warpsmith exit-codes'.");
  AddDoctor(app, chosen);
  AddDemo(app, chosen);
  AddHgemm(app, chosen);
  AddOptimize(app, chosen);
  AddEvaluate(app, chosen);
  AddCompare(app, chosen);
  AddProfile(app, chosen);
  AddTask(app, chosen);
  AddRecord(app, chosen);
  AddBundle(app, chosen);
  AddReport(app, chosen);
  AddExport(app, chosen);
  AddStore(app, chosen);
  AddKnowledge(app, chosen);
  AddMcp(app, chosen);
  AddServe(app, chosen);
  AddPages(app, chosen);
}

int Fail(const Error& error, bool json) {
  const ErrorCodeRow& row = Describe(error.code);
  if (json) {
    std::printf("%s\n", ErrorJson(error).c_str());
  } else {
    // It may also quote what would move a terminal's cursor.
    std::fprintf(stderr, "warpsmith: %s\n", LinesForTerminal(error.Line()).c_str());
  }
  return row.exit_status;
}

// Our own children: not for people, so not in the help.
std::optional<int> RunAsWorker(int argc, char** argv) {
  if (argc >= 2 && argv[1] == standalone::kStandaloneSubcommand)
    return standalone::StandaloneMain({argv + 2, argv + argc});
  if (argc >= 2 && argv[1] == standalone::kConfinedSubcommand) {
    return standalone::ConfinedMain({argv + 2, argv + argc});
  }
  if (argc >= 2 && argv[1] == split::kConfinedSubcommand) {
    return split::ConfinedMain({argv + 2, argv + argc});
  }
  if (argc >= 2 && argv[1] == std::string_view(compile::kNvccSubcommand)) {
    return compile::NvccMain({argv + 2, argv + argc});
  }
  if (argc != 3) return std::nullopt;
  const std::string role = argv[1];
  if (role == "internal-runner") return judge::RunnerMain(std::atoi(argv[2]));
  if (role == judge::kProgramSubcommand) return judge::ProgramMain(std::atoi(argv[2]));
  if (role == "internal-compile-worker") return compile::CompileWorkerMain(std::atoi(argv[2]));
  return std::nullopt;
}

// CLI11 says that a subcommand is missing even where one was given that does not exist.
std::string UnknownSubcommand(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("-")) continue;
    const auto named =
        at->get_subcommands([&](const CLI::App* command) { return command->get_name() == word; });
    if (named.empty()) return at->get_subcommands({}).empty() ? "" : "no subcommand '" + word + "'";
    at = named.front();
  }
  return "";
}

// One place for every command: what was printed is out, or the exit status says that it is not. A
// write that failed long before the end is remembered by the stream, not by its last flush.
int Finish(int status) {
  const bool lost = std::ferror(stdout) != 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && !lost) return status;
  return Fail({ErrorCode::kIo, "writing stdout failed; what was printed is not whole",
               "look at free space, and at who reads it"},
              false);
}

}  // namespace

int Main(int argc, char** argv) {
  if (const auto status = RunAsWorker(argc, argv)) return *status;
  const bool json = AsksForJson(argc, argv);
  if (const std::string wrong = CheckIsUtf8(argc, argv); !wrong.empty()) {
    return Fail({ErrorCode::kUsage, wrong, "rename the file or use ASCII"}, json);
  }
  CLI::App app{"warpsmith makes CUDA kernels faster and proves it.", "warpsmith"};
  SelectedCommand chosen;
  chosen.command = CommandText({argv, argv + argc});
  AddAll(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return Finish(app.exit(help));
  } catch (const CLI::CallForVersion& version) {
    return Finish(app.exit(version));
  } catch (const CLI::ParseError& error) {
    const std::string unknown = UnknownSubcommand(app, argc, argv);
    const std::string what = unknown.empty() ? error.what() : unknown;
    const bool port = what.find("--port") != what.npos;
    const char* const fix = port ? "serve takes --listen 127.0.0.1:PORT" : "try --help";
    return Fail({ErrorCode::kUsage, what, fix}, json);
  }
  InstallInterruptHandler();
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the limit is then an error of write(), told as one
  const Result<int> status = Caught(chosen.run);
  return Finish(status.ok() ? *status : Fail(status.error(), chosen.json));
}

}  // namespace warpsmith::cli
