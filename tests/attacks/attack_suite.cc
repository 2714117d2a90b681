// attack_suite: every attack of a folder against the naive judge and ours. README.md says more.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "command_line.h"
#include "core/provenance.h"
#include "naive_judge.h"
#include "search/machine/machine.h"
#include "suite.h"

namespace warpsmith::attacks {
namespace {

struct Options {
  std::string folder, only, csv, gpu, server, token_file, architecture = "sm_90a";
  int runs = 1, first_run = 1;
  bool list = false, no_gpu = false, compile_all = false, append = false;
  std::string command;  // what the user wrote
};

void AddOptions(CLI::App& app, Options& options) {
  app.add_option("--folder", options.folder, "where the attacks are")->required();
  app.add_option("--only", options.only, "attacks whose names contain this text");
  app.add_option("--runs", options.runs, "how often everything is judged");
  app.add_option("--first-run", options.first_run, "the first run's number");
  app.add_option("--csv", options.csv, "also write the rows to this file, as they come");
  app.add_flag("--append", options.append, "go on in the file");
  app.add_option("--gpu", options.gpu, "index or UUID");
  app.add_option("--server", options.server,
                 "http://HOST:PORT of 'warpsmith serve --client-tasks': kernels and programs are "
                 "judged there, and by no naive judge");
  app.add_option("--token-file", options.token_file, "holds the server's token");
  app.add_flag("--list", options.list, "say what there is, judge nothing");
  app.add_flag("--no-gpu", options.no_gpu, "judge what needs none; compile the other kernels");
  app.add_flag("--compile-all", options.compile_all, "with --no-gpu: compile programs too");
  app.add_option("--architecture", options.architecture, "with --no-gpu: what is compiled for");
}

// Rows on stdout and in the file, one by one: what is there stays when a later attack ends us.
class Writer {
 public:
  // `provenance`: where and by what the rows are made; each call that writes says it.
  Writer(const Options& options, const std::string& provenance) {
    if (!options.csv.empty()) file_ = std::fopen(options.csv.c_str(), options.append ? "a" : "w");
    Line("# " + provenance);
    if (!options.append) Line(kCsvHeader);
  }
  ~Writer() {
    if (file_ != nullptr) std::fclose(file_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void Write(const Row& row) {
    Line(CsvLine(row));
    if (!row.remark.empty()) std::fprintf(stderr, "  %s\n", row.remark.c_str());
    ++(row.ok ? good_ : bad_);
  }
  int Finish() const {
    std::fprintf(stderr, "%d rows as they should be, %d not\n", good_, bad_);
    return bad_ == 0 && good_ > 0 ? 0 : 1;
  }

 private:
  void Line(const std::string& text) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
    if (file_ == nullptr) return;
    std::fprintf(file_, "%s\n", text.c_str());
    std::fflush(file_);
  }
  FILE* file_ = nullptr;
  int good_ = 0, bad_ = 0;
};

int Threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 2); }

Bench BenchOf(const Options& options) {
  Bench bench;
  bench.builder.architecture = options.architecture;
  bench.compile_programs = options.compile_all;
  bench.gemm_reference = std::filesystem::path(options.folder) / "twins/gemm16-kernel";
  return bench;
}

Result<int> RunWithoutGpu(const Options& options, const std::vector<Attack>& attacks) {
  compile::CompilerOptions compiler_options;
  compiler_options.workers = Threads();
  compile::WorkerCompiler compiler(compiler_options);
  Bench bench = BenchOf(options);
  bench.builder.compiler = &compiler;
  Suite suite(bench);
  Writer writer(options,
                "no GPU, " + UtcTimestamp() + ", commit " + CommitText() + ", " + options.command);
  if (options.compile_all) suite.CompileAhead(attacks, Threads());
  for (const Attack& attack : attacks) {
    const auto rows = attack.needs_gpu ? suite.CompileOnly(attack) : suite.Judge(attack, 1);
    for (const Row& row : rows) writer.Write(row);
  }
  return writer.Finish();
}

Result<int> RunOnGpu(const Options& options, const std::vector<Attack>& attacks) {
  search::DeviceOptions device;
  device.device = "local";
  device.gpu = options.gpu;
  search::Machine machine = TRY(search::Machine::Open(device));
  Bench bench = BenchOf(options);
  compile::CompilerOptions naive_options;
  naive_options.libraries = {"cublas"};
  compile::WorkerCompiler naive_compiler(naive_options);
  bench.naive_compiler = &naive_compiler;
  bench.builder.compiler = &machine.compiler();
  bench.builder.architecture = machine.info().architecture;
  bench.device = &machine.device();
  bench.compile_programs = true;
  Suite suite(bench);
  Writer writer(options, ProvenanceText(machine.info(), options.command));
  suite.CompileAhead(attacks, Threads());
  for (int run = options.first_run; run < options.first_run + options.runs; ++run) {
    for (const Attack& attack : attacks) {
      for (const Row& row : suite.Judge(attack, run)) writer.Write(row);
    }
  }
  return writer.Finish();
}

Result<int> RunAtServer(const Options& options, std::vector<Attack> attacks) {
  search::DeviceOptions device;
  device.device = options.server;
  device.token_file = options.token_file;
  search::Machine machine = TRY(search::Machine::Open(device));
  std::erase_if(attacks, [](const Attack& attack) {
    return attack.form != Target::kKernel && attack.form != Target::kProgram;
  });
  Bench bench = BenchOf(options);
  bench.device = &machine.device();
  Suite suite(bench);
  Writer writer(options, ProvenanceText(machine.info(), options.command));
  for (int run = options.first_run; run < options.first_run + options.runs; ++run) {
    TRY(suite.SendAhead(attacks, run));
    for (const Attack& attack : attacks) {
      for (const Row& row : suite.Judge(attack, run)) writer.Write(row);
    }
  }
  return writer.Finish();
}

Result<int> Run(const Options& options) {
  std::vector<Attack> attacks = TRY(LoadAttacks(options.folder));
  std::erase_if(attacks, [&](const Attack& attack) {
    return attack.name.find(options.only) == std::string::npos;
  });
  if (!options.list && !options.server.empty()) return RunAtServer(options, std::move(attacks));
  if (!options.list) {
    return options.no_gpu ? RunWithoutGpu(options, attacks) : RunOnGpu(options, attacks);
  }
  for (const Attack& attack : attacks) {
    std::printf("%-36s %-10s %s\n", attack.name.c_str(), std::string(Name(attack.form)).c_str(),
                attack.note.c_str());
  }
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Judges known cheats and their honest twins");
  AddOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  options.command = CommandText({argv, argv + argc});
  const Result<int> status = Run(options);
  if (status.ok()) return *status;
  std::fprintf(stderr, "attack_suite: %s\n", status.error().Line().c_str());
  return Describe(status.error().code).exit_status;
}

}  // namespace
}  // namespace warpsmith::attacks

// Runners, programs and compile workers are this program, started again.
int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], warpsmith::attacks::kNaiveSubcommand) == 0) {
    return warpsmith::attacks::NaiveMain(argv[2]);
  }
  if (argc > 1 && std::strncmp(argv[1], "internal-", 9) == 0) {
    return warpsmith::cli::Main(argc, argv);
  }
  return warpsmith::attacks::Main(argc, argv);
}
