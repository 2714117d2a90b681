// What the command line says, as plain values: one struct a subcommand, filled by command_line.cc.
#ifndef WARPSMITH_TOOLS_OPTIONS_H_
#define WARPSMITH_TOOLS_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/runs/options.h"
#include "search/call_time.h"
#include "search/machine/machine.h"
#include "search/tuning/search.h"

namespace warpsmith::cli {

using agent::AgentOptions;
using search::CommonOptions;
using search::DeviceOptions;
using search::PaceOptions;
using search::SearchOptions;

// Which matrix products, whatever their sizes.
struct ProductOptions {
  std::string layout = "TN";  // of B: NN row-major, TN column-major
  std::string dtype = "f16";  // of A, B and C: f16 or bf16
};

struct ReportFiles {
  std::string html, csv, json;
};

struct DoctorOptions {
  CommonOptions common;
};

struct TuneOptions {
  CommonOptions common;
  DeviceOptions device;
  PaceOptions pace;
  SearchOptions search;
  ReportFiles files;
  std::string shapes = "demo";
  // A catalogue whose winners nearby come first. "none"; empty: the shipped one, but in a replay.
  std::string near;
  ProductOptions product;
  bool compile_winners = false;  // when replaying: build the winners for real
  bool compare_proposers = false;
};

struct DemoOptions : TuneOptions {
  bool agent = false;  // replay the recorded runs of the agent instead
};

struct BenchOptions {
  CommonOptions common;
  DeviceOptions device;
  PaceOptions pace;
  std::string shapes = "demo", csv;
  ProductOptions product;         // the layout: with `against` alone, else both are measured
  std::string against;            // a library to compare with cuBLASLt
  int beside = 8;                 // with it: one shape in so many is a check of the bar
  bool choose = false;            // the bar, instead of measuring
  double exhaustive_seconds = 0;  // with it: for listing all that cuBLASLt can do
  std::string catalogue;          // our kernels beside the libraries; empty: the cost model's first
  bool paper_protocol = false;    // CUDA-L2's 10 s and 30 s, without `against`
  std::vector<std::string> from;  // comparisons to summarise instead of measuring
  bool markdown = false;          // their summary as Markdown
  bool torch = true;
  std::string reference;                       // CSV of known times to compare with
  std::string reference_column = "device_us";  // its column for the device mode
};

struct FeaturesOptions {
  CommonOptions common;
  DeviceOptions device;
};

struct VerifyOptions {
  CommonOptions common;
  DeviceOptions device;
  PaceOptions pace;
  std::string shapes = "demo", csv;
  ProductOptions product{"both", "f16"};  // either may be "both"
  std::string catalogue;                  // its kernels, instead of the families' best on `shapes`
};

struct ShowOptions {
  CommonOptions common;
  DeviceOptions device;
  std::string shape;
  ProductOptions product;
  std::string catalogue;  // where the shape's kernel is looked up; empty: the shipped one
  int top = 10;
};

struct OptimizeOptions : agent::RunOptions {
  CommonOptions common;
  DeviceOptions device;
  ReportFiles files;
  std::string task, workload;
};

struct EvaluateOptions {
  CommonOptions common;
  DeviceOptions device;
  PaceOptions pace;
  std::string task, workload;
  std::string many;       // a folder of tasks with their candidates, instead of one task
  std::string csv;        // --many: one row a verdict
  std::string reproduce;  // a folder for what times the candidate without warpsmith
  std::vector<std::string> candidates;
  bool certified = false, paper_protocol = false;
  std::string fail_on = "incorrect";
};

struct ProfileOptions {
  CommonOptions common;
  DeviceOptions device;
  std::string task, candidate, workload;
  std::string from;    // a saved report of ncu --csv, instead of a run
  std::string ncu;     // the program; empty: where the CUDA toolkit is, or in PATH
  bool model = false;  // print the block that a prompt takes in
};

struct CompareOptions {
  CommonOptions common;
  DeviceOptions device;
  std::string task, workload, first, second;
  std::string fail_on;  // "regression": the second is slower
};

struct RecordOptions {
  CommonOptions common;
  DeviceOptions device;
  PaceOptions pace;
  std::string shapes = "demo", output;
  ProductOptions product;
  int limit = 0;         // at most so many points a shape, neighbour-closed; 0: the whole space
  int other_modes = 10;  // of the best so many, all modes are measured too
  bool dry_run = false;
};

struct BundleOptions {
  CommonOptions common;
  DeviceOptions device;
  PaceOptions pace;
  std::string folder;
  std::string shapes = "demo", architecture = "sm_90a";  // make
  ProductOptions product;
  int limit = 64;
};

struct ReportOptions {
  CommonOptions common;
  DeviceOptions device;
  ReportFiles files;
  std::vector<std::string> runs;
  bool compare = false;  // side by side
};

struct ExportOptions {
  CommonOptions common;
  DeviceOptions device;
  std::string run, output;
};

struct TaskImportOptions {
  CommonOptions common;
  std::string checkout, output = "tasks";
  std::string python;  // a KernelBench checkout whose modules become torch baselines of drivers
  std::string set;     // name of the size set
  std::string dtype;   // of KernelBench's floating tensors; empty: as its files have them
  std::vector<std::string> only;
  int jobs = 1;
  int limit_seconds = 360;  // of one driver
};

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_OPTIONS_H_
