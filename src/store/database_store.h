// The Store in one SQLite file, or on a PostgreSQL server (docs/files.md). One object belongs to one
// thread; any number of processes may have the same store open.
#ifndef WARPSMITH_STORE_DATABASE_STORE_H_
#define WARPSMITH_STORE_DATABASE_STORE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/step.h"
#include "core/store.h"
#include "store/connection.h"
#include "store/database.h"
#include "store/facts.h"

namespace warpsmith::store {

// The store's schema: schema/NNN_name.sql brings a store from version NNN-1 to NNN.

// "WSMT", SQLite's application_id of our files.
inline constexpr int64_t kStoreApplicationId = 0x57534d54;

Schema StoreSchema();

class DatabaseStore : public Store {
 public:
  // `where`: a file's path or a server's address (database.h). Brings an older schema up to date.
  // Refused: a newer one (kVersion), a file that is no store (kBadInput), a missing one if so asked
  // (kNoInput).
  static Result<std::unique_ptr<DatabaseStore>> Open(
      const std::string& where, Durability durability,
      WhenMissing when_missing = WhenMissing::kCreate);

  Status BeginRun(const RunRecord& run) override;
  Result<std::optional<RunRecord>> FindRun(const std::string& run_id) override;
  Result<std::vector<RunRecord>> Runs() override;
  Result<JobLease> LeaseJob(const std::string& run_id, int64_t index, const std::string& key,
                            const std::string& worker) override;
  Status FinishStep(const std::string& run_id, const JobLease& lease, const std::string& key,
                    const Step& step) override;
  Result<std::vector<Step>> Steps(const std::string& run_id) override;
  Result<std::optional<Completed>> FindVerdict(const std::string& key,
                                               const std::string& device_uuid) override;
  // The device is taken from the evidence.
  Result<bool> ImportVerdict(const Job& job, const Completed& completed) override;

  // For the canonical dump and tests.
  Connection& connection() { return *connection_; }

 private:
  explicit DatabaseStore(std::unique_ptr<Connection> connection)
      : connection_(std::move(connection)) {}
  Result<VerdictSubject> SubjectOf(const std::string& run_id);

  std::unique_ptr<Connection> connection_;
  std::map<std::string, VerdictSubject> subjects_;  // by run
};

// Of runs that are in the store: the passed step with the best ratio to the bar that its run did not
// overrule. Certified steps come before screened ones.
Result<std::optional<Step>> BestStep(store::DatabaseStore& store,
                                     const std::vector<RunRecord>& runs);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_DATABASE_STORE_H_
