#include "store/run_memos.h"

#include "base/compression.h"

namespace warpsmith::store {
namespace {

// Fast: a run waits for it.
constexpr int kLevel = 3;
std::string Place(const std::string& run, const std::string& key) {
  return "memo '" + key + "' of run \"" + run + "\"";
}

Result<std::optional<std::string>> Stored(Connection& connection, const std::string& run,
                                          const std::string& key) {
  Statement find = connection.Prepare(
      "SELECT text, row_digest = expected FROM checked_memo WHERE run = ? AND key = ?");
  if (!TRY(find.Bind(run).Bind(key).Next())) return std::optional<std::string>();
  if (find.Int(1) != 1) return Damaged(connection, Place(run, key), kChanged);
  return std::optional(TRY(Decompress(Place(run, key), find.TextView(0))));
}

}  // namespace

std::string OverruledKey(const std::string& candidate_id) { return "overruled:" + candidate_id; }

std::string StepKey(int64_t step_index) { return "step/" + std::to_string(step_index); }

Result<std::optional<std::string>> RunMemos::Find(const std::string& key) {
  auto stored = TRY(Stored(store_.connection(), run_, key));
  if (stored.has_value()) return stored;
  const auto recorded = recorded_.find(key);
  if (recorded == recorded_.end()) return std::optional<std::string>();
  TRY(Keep(key, recorded->second));
  return std::optional(recorded->second);
}

Status RunMemos::Keep(const std::string& key, std::string_view text) {
  return KeepAll({{key, std::string(text)}});
}

Status RunMemos::KeepAll(const Memos& memos) {
  if (memos.empty()) return {};
  Transaction transaction = TRY(Transaction::Begin(store_.connection()));
  for (const auto& [key, text] : memos) {
    const auto stored = TRY(Stored(store_.connection(), run_, key));
    if (stored.has_value() && *stored == text) continue;
    if (stored.has_value()) {
      return Error{ErrorCode::kBusy, Place(run_, key) + " is another one already",
                   "another process works on this run; let it end, or resume after it"};
    }
    Statement insert =
        store_.connection().Prepare("INSERT INTO memo (run, key, text) VALUES (?, ?, ?)");
    TRY(insert.Bind(run_).Bind(key).BindBlob(Compress(text, kLevel)).Run());
  }
  return transaction.Commit();
}

Result<Memos> RunMemos::All() {
  TRY(CheckTable(store_.connection(), "memo"));
  Statement list = store_.connection().Prepare(
      "SELECT key, text, row_digest = expected FROM checked_memo WHERE run = ?");
  list.Bind(run_);
  Memos memos;
  while (TRY(list.Next())) {
    const std::string key = list.Text(0);
    if (list.Int(2) != 1) return Damaged(store_.connection(), Place(run_, key), kChanged);
    memos.emplace(key, TRY(Decompress(Place(run_, key), list.TextView(1))));
  }
  return memos;
}

}  // namespace warpsmith::store
