// What the HGEMM commands are told, as plain values.
#ifndef WARPSMITH_HGEMM_BENCH_OPTIONS_H_
#define WARPSMITH_HGEMM_BENCH_OPTIONS_H_

#include <string>
#include <vector>

#include "core/task.h"
#include "search/call_time.h"
#include "search/machine/machine.h"

namespace warpsmith::hgemm {

// Which matrix products, whatever their sizes.
struct ProductOptions {
  std::string layout = "TN";  // of B: NN row-major, TN column-major
  std::string dtype = "f16";  // of A, B and C: f16 or bf16
};
Task TaskOf(const ProductOptions& product);
// "--layout TN", "--layout NN --dtype bf16"
std::string ArgumentsOf(const ProductOptions& product);

struct BenchOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  search::PaceOptions pace;
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
};

struct VerifyOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  search::PaceOptions pace;
  std::string shapes = "demo", csv;
  ProductOptions product{"both", "f16"};  // either may be "both"
  std::string catalogue;                  // its kernels, instead of the families' best on `shapes`
};

struct AuditOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  search::PaceOptions pace;
  std::string catalogue, csv;
};

struct RecordOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  search::PaceOptions pace;
  std::string shapes = "demo", output;
  std::string task;                     // instead of shapes: a task, and candidates whose tunables
  std::vector<std::string> candidates;  // span the spaces
  ProductOptions product;
  int limit = 0;         // at most so many points a shape, neighbour-closed; 0: the whole space
  int other_modes = 10;  // of the best so many, all modes are measured too
  bool dry_run = false;
};

struct BuildOptions {
  search::CommonOptions common;
  std::string catalogue, output;  // empty: the shipped one
  std::string shapes;             // a list; empty: all of the catalogue's
  std::string architecture = "sm_90a";
  std::string device;   // rows measured on it only; empty: of each shape the surest
  bool strict = false;  // leave out kernels whose sources are no longer those that were measured
};

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_OPTIONS_H_
