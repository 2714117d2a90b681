// `hgemm tune`: a search of every shape, one after the other.
#ifndef WARPSMITH_HGEMM_BENCH_TUNE_H_
#define WARPSMITH_HGEMM_BENCH_TUNE_H_

#include <cstddef>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "hgemm/bench/options.h"
#include "hgemm/catalogue.h"
#include "search/machine/machine.h"
#include "search/tuning/search.h"
#include "task/hgemm_task.h"

namespace warpsmith::search {

// --- The next search, made ready while the one before is measured: between two searches the GPU
// waits for neither a space nor a compiler.

// HgemmSearch, without overlapping kernels where `options` wants none, and, but in a replay, with
// the catalogue's own kernels of the shape, ranked by the model that `options` names. It begins
// with these, and with what won nearby in the catalogue, which may be empty.
Result<SearchJob> TuneSearch(Machine& machine, const SearchOptions& options,
                             const hgemm::Catalogue& nearby, const Task& task,
                             const Workload& workload);

// Belongs to one thread. `machine`, `options` and `nearby` must outlive it.
class SearchAhead {
 public:
  SearchAhead(Machine& machine, const SearchOptions& options, const hgemm::Catalogue& nearby)
      : machine_(machine), options_(options), nearby_(nearby) {}
  ~SearchAhead();
  SearchAhead(const SearchAhead&) = delete;
  SearchAhead& operator=(const SearchAhead&) = delete;

  // Begins to make the search of an HGEMM workload, and with `compile` to compile what it will
  // propose before anything is measured; the artifacts wait in the compiler's cache. To be followed
  // by Take.
  void Begin(const Task& task, const Workload& workload, bool compile);
  // Waits for the search, not for its artifacts.
  Result<SearchJob> Take();

 private:
  void Join();

  Machine& machine_;
  const SearchOptions& options_;
  const hgemm::Catalogue& nearby_;
  std::future<Result<SearchJob>> job_;
  std::thread maker_;
};

}  // namespace warpsmith::search

namespace warpsmith::hgemm {

struct TuneOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  search::PaceOptions pace;
  search::SearchOptions search;
  std::string shapes = "demo";
  // A catalogue whose winners nearby come first. "none"; empty: the shipped one, but in a replay.
  std::string near;
  ProductOptions product;
};
std::string TuneCommandOf(const TuneOptions& options);  // as runs and reports name it

inline constexpr size_t kFewShapes = 24;

// What says that it was not given: an empty proposer or budget, finalists or a batch below zero.
search::SearchOptions UnsetTuneOptions();

// `search` with what was not given filled in, for a tuning of so many shapes.
search::SearchOptions TuneDefaults(search::SearchOptions search, size_t shapes);

// What a search would be: how many configurations it has, and how long it would take.
struct PlannedSearch {
  std::string label;
  size_t configurations = 0;
  int64_t evaluations = 0;
  double seconds = 0;
};
Result<std::vector<PlannedSearch>> PlanTuning(search::Machine& machine, const TuneOptions& options,
                                              const std::vector<task::HgemmShape>& shapes,
                                              const Catalogue& nearby);

struct Tuned {
  std::vector<search::SearchEnd> ends;
  bool stopped = false;  // before all shapes were done
};
// The runs are named by the prefix and their shapes.
Result<Tuned> TuneAll(search::Machine& machine, const TuneOptions& options,
                      const std::vector<task::HgemmShape>& shapes, const Catalogue& nearby,
                      const std::string& prefix);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_TUNE_H_
