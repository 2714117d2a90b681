#include "recorded_end.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"

namespace warpsmith::cli {
namespace {

using nlohmann::json;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

}  // namespace

std::string TextOf(const RecordedEnd& end) {
  json text{{"evaluations", end.evaluations}, {"limit", end.limit}};
  if (end.wallet.has_value()) {
    text["wallet"] = {{"limit", end.wallet->limit}, {"fitted", end.wallet->fitted}};
  }
  return text.dump();
}

Result<RecordedEnd> RecordedEndFrom(const std::string& source, const std::string& text) {
  const std::string name = source + ": memo " + kEndKey;
  const json parsed = TRY(ParseJson(name, text));
  const JsonReader root(name, parsed);
  TRY(root.OnlyFields({"evaluations", "limit", "wallet"}));
  RecordedEnd end;
  end.evaluations = TRY(root.At("evaluations").IntIn(0, kMost));
  end.limit = TRY(root.At("limit").String());
  if (root.Has("wallet")) {
    const JsonReader wallet = root.At("wallet");
    TRY(wallet.OnlyFields({"limit", "fitted"}));
    end.wallet = agent::WalletEnd{TRY(wallet.At("limit").String()),
                                  TRY(wallet.At("fitted").IntIn(0, kMost))};
  }
  return end;
}

}  // namespace warpsmith::cli
