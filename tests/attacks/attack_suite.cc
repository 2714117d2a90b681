// attack_suite: every attack of a folder against the naive judge and ours. README.md says more.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "commands.h"
#include "core/device.h"
#include "naive_judge.h"
#include "search/machine/machine.h"
#include "suite.h"

namespace warpsmith::attacks {
namespace {

struct Options {
  std::string folder, only, csv, gpu, server, token_file, architecture = "sm_90a";
  int runs = 1, first_run = 1;
  int slice = 1, slices = 1;
  bool list = false, no_gpu = false, compile_all = false, append = false;
  std::string command;  // what the user wrote
};

void AddOptions(CLI::App& app, Options& options) {
  app.add_option("--folder", options.folder, "where the attacks are")->required();
  app.add_option("--only", options.only, "attacks whose names contain this text");
  app.add_option("--runs", options.runs, "how often everything is judged");
  app.add_option("--first-run", options.first_run, "the first run's number");
  app.add_option("--csv", options.csv, "also write the rows to this file, as they come");
  app.add_flag("--append", options.append, "go on in the file, with what it has no rows of");
  app.add_option("--slice", options.slice, "which of --slices")->check(CLI::PositiveNumber);
  app.add_option("--slices", options.slices, "judge one attack in so many: each slice on a GPU")
      ->check(CLI::PositiveNumber);
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

// Rows on stdout and in the file, as they come: what is there stays when a later attack ends us.
class Writer {
 public:
  // `provenance`: where and by what the rows are made; each call that writes says it.
  Writer(const Options& options, const std::string& provenance) {
    const bool goes_on = options.append && std::filesystem::exists(options.csv);
    if (goes_on) ReadWhatIsThere(options.csv);
    if (!options.csv.empty()) file_ = std::fopen(options.csv.c_str(), goes_on ? "a" : "w");
    Put("# " + provenance + "\n");
    if (!goes_on) Put(std::string(kCsvHeader) + "\n");
  }
  ~Writer() {
    if (file_ != nullptr) std::fclose(file_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  bool Has(const Attack& attack, int run) const {
    return there_.contains({attack.name, std::to_string(run)});
  }
  // An attack's rows are written in one piece: a file that was cut off holds them or not.
  void Write(const std::vector<Row>& rows) {
    std::string text;
    for (const Row& row : rows) {
      text += CsvLine(row) + "\n";
      if (!row.remark.empty()) std::fprintf(stderr, "  %s\n", row.remark.c_str());
      ++(row.ok ? good_ : bad_);
    }
    Put(text);
  }
  int Finish() const {
    std::fprintf(stderr, "%d rows as they should be, %d not\n", good_, bad_);
    return bad_ == 0 && (good_ > 0 || !there_.empty()) ? 0 : 1;
  }

 private:
  void ReadWhatIsThere(const std::string& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      std::istringstream cells(line);
      std::string name, form, twin, run;
      std::getline(cells, name, ',') && std::getline(cells, form, ',') &&
          std::getline(cells, twin, ',') && std::getline(cells, run, ',');
      if (!run.empty() && !name.starts_with('#') && run != "run") there_.insert({name, run});
    }
  }
  void Put(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    if (file_ == nullptr) return;
    std::fputs(text.c_str(), file_);
    std::fflush(file_);
  }
  FILE* file_ = nullptr;
  std::set<std::pair<std::string, std::string>> there_;  // attack and run
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
    const int run = attack.needs_gpu ? 0 : 1;
    if (writer.Has(attack, run)) continue;
    writer.Write(run == 0 ? suite.CompileOnly(attack) : suite.Judge(attack, run));
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
      if (!writer.Has(attack, run)) writer.Write(suite.Judge(attack, run));
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
      if (!writer.Has(attack, run)) writer.Write(suite.Judge(attack, run));
    }
  }
  return writer.Finish();
}

Result<int> Run(const Options& options) {
  std::vector<Attack> attacks = TRY(LoadAttacks(options.folder));
  int number = 0;
  std::erase_if(attacks, [&](const Attack& attack) {
    return attack.name.find(options.only) == std::string::npos ||
           number++ % options.slices != options.slice - 1;
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
