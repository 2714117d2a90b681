// What a run was told from outside (replies, profiles, what was known at its start), so that it is
// told the same when it goes on or is replayed.
#ifndef WARPSMITH_STORE_RUN_MEMOS_H_
#define WARPSMITH_STORE_RUN_MEMOS_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "store/database_store.h"

namespace warpsmith::store {

using Memos = std::map<std::string, std::string>;  // key -> text

// The memos of one run, which the store has to know before the first is kept. Belongs to the
// store's thread.
class RunMemos {
 public:
  // `recorded`: of a run that this one replays. What is found there only is kept here, too.
  RunMemos(DatabaseStore& store, std::string run, Memos recorded = {})
      : store_(store), run_(std::move(run)), recorded_(std::move(recorded)) {}

  // Nullopt: neither this run nor the recording has one.
  Result<std::optional<std::string>> Find(const std::string& key);
  // On the disk before it returns. The first text of a key stays: keeping another is refused
  // (kBusy), because then two processes work on this run.
  Status Keep(const std::string& key, std::string_view text);
  // All of them or none, in one transaction.
  Status KeepAll(const Memos& memos);
  Result<Memos> All();
  // Nobody is to be asked: what the recording lacks was never recorded.
  bool is_replay() const { return !recorded_.empty(); }

 private:
  DatabaseStore& store_;
  const std::string run_;
  const Memos recorded_;
};

// The memo about a candidate that passed in the loop and must not win after all; its text says why.
std::string OverruledKey(const std::string& candidate_id);
// The memo about what a step was for, and what came of it (docs/agent.md).
std::string StepKey(int64_t step_index);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_RUN_MEMOS_H_
