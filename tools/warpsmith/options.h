// What the command line says, as plain values: one struct a subcommand, filled where it is added.
#ifndef WARPSMITH_TOOLS_OPTIONS_H_
#define WARPSMITH_TOOLS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/runs/models_by_role.h"
#include "agent/runs/task_split.h"
#include "hgemm/bench/options.h"
#include "hgemm/bench/tune.h"

namespace warpsmith::cli {

struct ReportFiles {
  std::string html, csv, json;
};

struct TuneOptions : hgemm::TuneOptions {
  ReportFiles files;
  bool compile_winners = false;  // when replaying: build the winners for real
  bool compare_proposers = false;
};

struct DoctorOptions {
  search::CommonOptions common;
};

struct DemoOptions : TuneOptions {
  bool agent = false;  // replay the recorded runs of the agent instead
};

struct FeaturesOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  bool candidates = false;  // the kernels themselves instead
};

struct ShowOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  std::vector<std::string> shapes;
  hgemm::ProductOptions product;
  std::string catalogue;  // where the shape's kernel is looked up; empty: the shipped one
  int top = 10;
};

struct OptimizeOptions : agent::RunOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  ReportFiles files;
  std::string task, workload;
};

struct EvaluateOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  search::PaceOptions pace;
  std::string task, workload;
  std::string many;       // a folder of tasks with their candidates, instead of one task
  std::string csv;        // --many: one row a verdict
  std::string reproduce;  // a folder for what times the candidate without warpsmith
  std::vector<std::string> candidates;
  bool certified = false, paper_protocol = false;
  bool stream = false;  // candidates are named on stdin
  std::string fail_on = "incorrect";
};

struct ProfileOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  std::string task, candidate, workload;
  std::string from;    // a saved report of ncu --csv, instead of a run
  std::string ncu;     // the program; empty: where the CUDA toolkit is, or in PATH
  bool model = false;  // print the block that a prompt takes in
};

struct CompareOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  std::string task, workload, first, second;
  std::string fail_on;  // "regression": the second is slower
};

struct BundleOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  search::PaceOptions pace;
  std::string folder;
  std::string shapes = "demo", architecture = "sm_90a";  // make
  hgemm::ProductOptions product;
  int limit = 64;
};

struct ReportOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  ReportFiles files;
  std::vector<std::string> runs;
  bool compare = false;  // side by side
};

struct ExportOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  std::string run, output;
  bool force = false;  // over what is in the folder
};

struct TaskImportOptions {
  search::CommonOptions common;
  std::string checkout, output = "tasks";
  std::string python;  // a KernelBench checkout whose modules become torch baselines of drivers
  std::string set;     // name of the size set
  std::string dtype;   // of KernelBench's floating tensors; empty: as its files have them
  std::vector<std::string> only;
  int jobs = 1;
  int limit_seconds = 360;  // of one driver
};

struct CatalogueOptions {
  search::CommonOptions common;
  std::string store;               // make: the database; empty: the user's
  std::string run;                 // make: only runs of this tuning; empty: all
  std::vector<std::string> files;  // merge, check
  std::string catalogue;           // guard, page
  // guard: comparisons of its kernels; empty: what its rows hold. page: comparisons, whose ratios
  // stand for the catalogue's.
  std::vector<std::string> bench;
  std::string output;   // make, merge, guard: a catalogue; "-": stdout
  std::string html;     // page
  bool strict = false;  // guard: what was not compared is cuBLASLt's
};

struct KnowledgeOptions {
  search::CommonOptions common;
  std::string knowledge;           // the base; empty: $XDG_DATA_HOME/warpsmith/knowledge.db
  std::vector<std::string> files;  // merge, import, diff, export
  // show:
  std::string state;                            // one state whole
  std::string html;                             // write a page here
  int top = 3;                                  // techniques a state; 0: all
  int64_t budget_tokens = 0, budget_bytes = 0;  // render as a prompt holds it
  std::string task;                             // content id: names what failed on it
  std::optional<std::string> architecture, dtype, toolchain, previous;
};

struct TaskInitOptions {
  search::CommonOptions common;
  std::string source;
  std::string output;    // the folder to write; empty: named after the source
  std::string function;  // what candidates are called as; empty: the best guess
};

struct TaskCheckOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  std::string task;
  bool text_only = false;   // nothing is run, even where there is a GPU
  int limit_seconds = 600;  // of a split: for comparing its parts with the whole
};

struct StoreOptions {
  search::CommonOptions common;
  std::string store;   // the database; empty: the user's
  std::string output;  // repair: the new store
};

struct McpOptions {
  search::DeviceOptions device;
  std::string task, workload;
  std::string candidate;  // what the agent starts from; empty: it writes the first one
  std::string budget = "evals=200";
  std::string run, resume;  // as optimize's
  std::string knowledge;    // the base
  std::string ncu;
  uint64_t seed = 1;  // of draws from the base
  bool quiet = false;
};

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_OPTIONS_H_
