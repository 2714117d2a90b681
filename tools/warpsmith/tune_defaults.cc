#include "tune_defaults.h"

namespace warpsmith::cli {

SearchOptions UnsetTuneOptions() {
  SearchOptions search;
  search.proposer.clear();
  search.budget.clear();
  search.finalists = search.batch = -1;
  return search;
}

// Of many shapes each is screened only, in generations so small that the last one knows what the
// first one gave: certifying costs more than all the rest, and `hgemm bench` and `verify` look at
// every winner again.
SearchOptions TuneDefaults(SearchOptions search, size_t shapes) {
  const bool few = shapes <= kFewShapes;
  if (search.proposer.empty()) search.proposer = few ? "guided" : "brief";
  if (search.budget.empty()) search.budget = few ? "evals=160" : "evals=24";
  if (search.finalists < 0) search.finalists = few ? 3 : 0;
  if (search.batch < 0) search.batch = few ? 8 : 4;
  return search;
}

}  // namespace warpsmith::cli
