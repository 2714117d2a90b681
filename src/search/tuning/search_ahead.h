// The next search, made ready while the one before is measured: between two searches the GPU waits
// for neither a space nor a compiler.
#ifndef WARPSMITH_SEARCH_TUNING_SEARCH_AHEAD_H_
#define WARPSMITH_SEARCH_TUNING_SEARCH_AHEAD_H_

#include <future>
#include <thread>

#include "core/task.h"
#include "hgemm/catalogue.h"
#include "search/machine/machine.h"
#include "search/tuning/search.h"

namespace warpsmith::search {

// HgemmSearch, without overlapping kernels where `options` wants none, and, but in a replay, with
// the catalogue's own kernels of the shape, ranked by the model that `options` names. It begins with
// these, and with what won nearby in the catalogue, which may be empty.
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

#endif  // WARPSMITH_SEARCH_TUNING_SEARCH_AHEAD_H_
